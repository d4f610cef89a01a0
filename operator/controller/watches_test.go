package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

func TestAnOwnedObjectWakesItsCluster(t *testing.T) {
	if diff := cmp.Diff([]ctrl.Request{request(shop)}, owner(t.Context(), pod("shop", "cache", "cache-1", ""))); diff != "" {
		t.Error(diff)
	}
	stranger := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	if got := owner(t.Context(), stranger); len(got) > 0 {
		t.Errorf("a stranger's Pod wakes %v", got)
	}
}

func TestAMenuEditWakesItsUsers(t *testing.T) {
	l := &Loop{references: newReferences()}
	see(l.references, shop, small, image)
	see(l.references, billing, base)
	for name, c := range map[string]struct {
		kind string
		obj  client.Object
		want []ctrl.Request
	}{
		"the config that one uses":               {configKind, valkeyConfig("small", "", ""), []ctrl.Request{request(shop)}},
		"the base that the other uses":           {configKind, valkeyConfig("base", "", ""), []ctrl.Request{request(billing)}},
		"a config of the same name as the image": {imageKind, valkeyImage("base"), []ctrl.Request{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, l.usersOf(c.kind)(t.Context(), c.obj)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAKubernetesNodeWakesTheClustersOnIt(t *testing.T) {
	kube, _ := kubernetes(t,
		pod("shop", "cache", "cache-1", "node-a"), pod("shop", "cache", "cache-2", "node-b"), pod("billing", "cache", "cache-1", "node-b"))
	l := &Loop{kube: kube}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a"}}
	if diff := cmp.Diff([]ctrl.Request{request(shop)}, l.onHost(t.Context(), node)); diff != "" {
		t.Error(diff)
	}
}

func TestWhatPassesThePredicates(t *testing.T) {
	cluster := func(change func(*v1alpha1.ValkeyCluster)) *v1alpha1.ValkeyCluster {
		c := valkeyCluster("shop", "cache", "small")
		c.Generation = 1
		change(c)
		return c
	}
	unchanged := cluster(func(*v1alpha1.ValkeyCluster) {})
	deleted := metav1.NewTime(time.Now())
	for name, c := range map[string]struct {
		to                   *v1alpha1.ValkeyCluster
		cluster, menuObjects bool
	}{
		"a status of our own":         {cluster(func(c *v1alpha1.ValkeyCluster) { c.Status.Message = "x" }), false, false},
		"a new resource version only": {cluster(func(c *v1alpha1.ValkeyCluster) { c.ResourceVersion = "7" }), false, false},
		"a spec":                      {cluster(func(c *v1alpha1.ValkeyCluster) { c.Generation = 2 }), true, true},
		"an annotation":               {cluster(func(c *v1alpha1.ValkeyCluster) { c.Annotations = map[string]string{"a": "b"} }), true, false},
		"a label":                     {cluster(func(c *v1alpha1.ValkeyCluster) { c.Labels = map[string]string{"a": "b"} }), true, false},
		"a finalizer":                 {cluster(func(c *v1alpha1.ValkeyCluster) { c.Finalizers = []string{"a/b"} }), true, false},
		"the begin of its end":        {cluster(func(c *v1alpha1.ValkeyCluster) { c.DeletionTimestamp = &deleted }), true, true},
	} {
		t.Run(name, func(t *testing.T) {
			update := event.UpdateEvent{ObjectOld: unchanged, ObjectNew: c.to}
			if got := specOrMetadata().Update(update); got != c.cluster {
				t.Errorf("of a cluster: %v, want %v", got, c.cluster)
			}
			if got := spec().Update(update); got != c.menuObjects {
				t.Errorf("of the menu: %v, want %v", got, c.menuObjects)
			}
		})
	}
}

func TestAKubernetesNodesHeartbeatWakesNobody(t *testing.T) {
	was := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a", Labels: map[string]string{corev1.LabelTopologyZone: "a"}}}
	beat, cordoned, moved, lost := was.DeepCopy(), was.DeepCopy(), was.DeepCopy(), was.DeepCopy()
	beat.ResourceVersion = "8"
	cordoned.Spec.Unschedulable = true
	moved.Labels[corev1.LabelTopologyZone] = "b"
	lost.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
	for name, c := range map[string]struct {
		to   *corev1.Node
		want bool
	}{"a heartbeat": {beat, false}, "a cordon": {cordoned, true}, "a zone": {moved, true}, "silence": {lost, true}} {
		if got := placement().Update(event.UpdateEvent{ObjectOld: was, ObjectNew: c.to}); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestAWakerNeedsAQueueAndThenWakes(t *testing.T) {
	w := &waker{}
	w.wake(shop) // before the controller starts: nothing happens, least of all a panic
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
	defer queue.ShutDown()
	if err := w.source().Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	w.wake(shop)
	w.wake(shop)
	if got := queue.Len(); got != 1 {
		t.Errorf("%d keys in the queue, want 1", got)
	}
}
