package actions_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// estateOf is all that a cluster of two nodes owns; the second has no Pod yet.
func estateOf(t *testing.T, c *v1alpha1.ValkeyCluster, change ...func(*corev1.Pod)) []client.Object {
	t.Helper()
	first, second := node(c, c.Name+"-00001"), node(c, c.Name+"-00002")
	objs := append(objects.Owned(c, desired()), objects.Budget(c, 1), objects.AuthSecret(c), first, second,
		objects.NodeConfig(first, "conf"), objects.NodeConfig(second, "conf"), pod(t, first, change...))
	for _, o := range objs {
		if o.GetUID() == "" {
			o.SetUID("uid-of-" + c.UID)
		}
	}
	return objs
}

// everything is what is left in all namespaces, as "namespace/Kind/name".
func (w *world) everything(t *testing.T) []string {
	t.Helper()
	var left []string
	for _, list := range []client.ObjectList{
		&v1alpha1.ValkeyClusterList{}, &v1alpha1.ValkeyNodeList{}, &corev1.PodList{}, &corev1.ConfigMapList{},
		&corev1.ServiceList{}, &corev1.SecretList{}, &policyv1.PodDisruptionBudgetList{},
	} {
		if err := w.Kube.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		for _, o := range items(t, list) {
			left = append(left, o.GetNamespace()+"/"+objects.Ref(o))
		}
	}
	return left
}

func TestRemoveCluster(t *testing.T) {
	c := deletingCluster()
	w := newWorld(t, c, append(estateOf(t, c), machine("machine-1", corev1.ConditionTrue))...)
	w.run(t, &actions.RemoveCluster{})
	same(t, "left", w.everything(t), nil)
	if grace := w.writes.grace["cart-00001"]; grace != 1 {
		t.Errorf("the Pod got %d s", grace)
	}
	w.changesNothing(t, &actions.RemoveCluster{})
}

func TestRemoveClusterTouchesNothingElse(t *testing.T) {
	c := deletingCluster()
	elsewhere, neighbour := cluster(), cluster()
	elsewhere.Namespace, elsewhere.UID = "blog", "elsewhere"
	neighbour.Name, neighbour.UID = "cart-2", "neighbour"
	users := &corev1.Secret{}
	users.Namespace, users.Name, users.Labels = "shop", "users", objects.Labels("cart")
	others := append(estateOf(t, elsewhere), estateOf(t, neighbour)...)
	others = append(others, elsewhere, neighbour, users, machine("machine-1", corev1.ConditionTrue))
	kept := newWorld(t, c, others...)
	before := kept.everything(t)

	w := newWorld(t, c, append(others, estateOf(t, c)...)...)
	w.run(t, &actions.RemoveCluster{})
	var want []string
	for _, o := range before {
		if o != "shop//cart" {
			want = append(want, o)
		}
	}
	same(t, "left", w.everything(t), want)
}

func TestRemoveClusterLeavesAClusterThatIsNotBeingDeletedAlone(t *testing.T) {
	c := cluster()
	c.Finalizers = []string{objects.ClusterFinalizer}
	newWorld(t, c, estateOf(t, c)...).changesNothing(t, &actions.RemoveCluster{})
}

func TestRemoveClusterAndPodsThatStay(t *testing.T) {
	cases := map[string]struct {
		host *corev1.Node
		pod  func(*corev1.Pod)
		// stays says that the cluster waits for the Pod.
		stays bool
	}{
		"a Pod that takes its time":       {machine("machine-1", corev1.ConditionTrue), stuck, true},
		"its machine is not ready":        {machine("machine-1", corev1.ConditionUnknown), stuck, false},
		"its machine is gone":             {machine("machine-2", corev1.ConditionTrue), stuck, false},
		"it was deleted 11 s ago":         {machine("machine-1", corev1.ConditionTrue), deleted(11 * time.Second), false},
		"it was deleted just now by hand": {machine("machine-1", corev1.ConditionTrue), deleted(time.Second), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := deletingCluster()
			w := newWorld(t, c, append(estateOf(t, c, tc.pod), tc.host)...)
			started := time.Now()
			w.run(t, &actions.RemoveCluster{})
			if took := time.Since(started); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
			want := []string(nil)
			if tc.stays {
				want = []string{"shop//cart", "shop/ValkeyNode/cart-00001", "shop/Pod/cart-00001"}
			}
			same(t, "left", w.everything(t), want)
		})
	}
}

func TestRemoveClusterFindsThePodOfANodeThatIsGone(t *testing.T) {
	c := deletingCluster()
	orphan := pod(t, node(c, "cart-00009"))
	w := newWorld(t, c, orphan, machine("machine-1", corev1.ConditionTrue))
	w.run(t, &actions.RemoveCluster{})
	same(t, "left", w.everything(t), nil)
}
