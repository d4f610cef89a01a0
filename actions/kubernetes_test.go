//go:build kubernetes

package actions_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
)

// limit is what a deletion may take, whatever state its Pods are in.
const limit = 30 * time.Second

// onKubernetes is a world on the API server of KUBECONFIG, in a namespace that
// enforces the restricted Pod Security Standard. The CRDs must be there.
//
// Its cluster is paused, so that an operator that runs there leaves it alone.
func onKubernetes(t *testing.T) *world {
	t.Helper()
	config, err := ctrl.GetConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Burst = 200, 400
	kube, err := client.New(config, client.Options{Scheme: scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "actions-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	create(t, kube, namespace)
	t.Cleanup(func() {
		if err := kube.Delete(context.Background(), namespace); err != nil {
			t.Error(err)
		}
	})
	c := &v1alpha1.ValkeyCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "cart"},
		Spec:       v1alpha1.ValkeyClusterSpec{ConfigRef: "none", Shards: 3, ReplicasPerShard: 1, Paused: true},
	}
	create(t, kube, c)
	w := &world{servers: servers{}, writes: &writes{}}
	w.Kube, w.Live, w.Cluster, w.Desired, w.Valkey = kube, kube, c, desired(), w.servers
	w.Pods = actions.PodDefaults{ClusterDomain: "cluster.local"}
	return w
}

func create(t *testing.T, kube client.Client, obj client.Object) {
	t.Helper()
	if err := kube.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
}

// load reads the object of that name in the cluster's namespace.
func (w *world) load(t *testing.T, name string, into client.Object) {
	t.Helper()
	if err := w.Kube.Get(t.Context(), client.ObjectKey{Namespace: w.Cluster.Namespace, Name: name}, into); err != nil {
		t.Fatal(err)
	}
}

func (w *world) nodes(t *testing.T) []v1alpha1.ValkeyNode {
	t.Helper()
	var nodes v1alpha1.ValkeyNodeList
	if err := w.Kube.List(t.Context(), &nodes, client.InNamespace(w.Cluster.Namespace)); err != nil {
		t.Fatal(err)
	}
	return nodes.Items
}

// bootstrapped runs what comes before the servers meet.
func (w *world) bootstrapped(t *testing.T) {
	t.Helper()
	for _, a := range []actions.Action{&actions.GuardCluster{}, &actions.RecordTarget{}, &actions.CreateCredentials{}, applying()} {
		w.run(t, a)
		w.run(t, a)
	}
	plan := &actions.CreateNodes{}
	for i := range 6 {
		plan.Nodes = append(plan.Nodes, engine.NewNode{ShardIndex: i / 2})
	}
	w.run(t, plan)
	w.run(t, plan)
	if n := len(w.nodes(t)); n != 6 {
		t.Fatalf("%d nodes, want 6", n)
	}
}

func TestObjectsReadBackAsTheyWereWritten(t *testing.T) {
	w := onKubernetes(t)
	w.bootstrapped(t)
	keeping := &actions.SetBudget{Keep: 5}
	w.run(t, keeping)
	for _, want := range append(objects.Owned(w.Cluster, w.Desired), objects.Budget(w.Cluster, keeping.Keep)) {
		live := want.DeepCopyObject().(client.Object)
		w.load(t, want.GetName(), live)
		if got, want := objects.Canonical(live), objects.Canonical(want); got != want {
			t.Errorf("got  %s\nwant %s", got.Content, want.Content)
		}
		version := live.GetResourceVersion()
		w.run(t, applying())
		w.run(t, keeping)
		if w.load(t, want.GetName(), live); live.GetResourceVersion() != version {
			t.Errorf("%s was written without need", objects.Ref(want))
		}
	}
	for _, n := range w.nodes(t) {
		if got, want := fmt.Sprintf("%+v", objects.NodeSpec(n.Spec)), fmt.Sprintf("%+v", w.Desired.Node); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestDriftIsMendedOnARealAPIServer(t *testing.T) {
	w := onKubernetes(t)
	w.run(t, applying())
	service := &corev1.Service{}
	w.load(t, "cart", service)
	service.Spec.Ports, service.Spec.Selector = service.Spec.Ports[:1], map[string]string{"app": "other"}
	acl := &corev1.ConfigMap{}
	w.load(t, "cart-acl", acl)
	fixed := true
	acl.Data, acl.Immutable = map[string]string{"users.acl": "user default on"}, &fixed
	for _, o := range []client.Object{service, acl} {
		if err := w.Kube.Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	w.run(t, applying())
	for _, want := range objects.Owned(w.Cluster, w.Desired) {
		live := want.DeepCopyObject().(client.Object)
		w.load(t, want.GetName(), live)
		if got, want := objects.Canonical(live), objects.Canonical(want); got != want {
			t.Errorf("got  %s\nwant %s", got.Content, want.Content)
		}
	}
}

func TestLifecycleOnARealAPIServer(t *testing.T) {
	w := onKubernetes(t)
	w.bootstrapped(t)
	var names []string
	for _, n := range w.nodes(t) {
		names = append(names, n.Name)
	}
	gone := &corev1.Pod{}
	w.load(t, names[0], gone)
	if err := w.Kube.Delete(t.Context(), gone, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	w.run(t, &actions.ProvisionNodes{Nodes: names})
	w.load(t, names[0], &corev1.Pod{})
	w.run(t, &actions.ActivateNodes{Nodes: names[1:]})
	w.run(t, &actions.AnnotatePods{Nodes: names})
	w.run(t, &actions.DeleteNodes{Nodes: names[:1]})
	eventually(t, "the joining node is gone", func() bool {
		w.run(t, &actions.DeleteNodes{Nodes: names[:1]})
		return !slices.ContainsFunc(w.nodes(t), func(n v1alpha1.ValkeyNode) bool { return n.Name == names[0] })
	})
	w.load(t, "cart", w.Cluster)
	w.run(t, &actions.DeclareActive{})
	w.load(t, "cart", w.Cluster)
	if s := w.Cluster.Status; s.State != v1alpha1.Active || s.TargetSpec != nil {
		t.Errorf("status = %+v", s)
	}
}

// TestRemoveClusterOnARealAPIServer has Pods that were never scheduled, Pods
// under way, and one on a machine that does not exist.
func TestRemoveClusterOnARealAPIServer(t *testing.T) {
	w := onKubernetes(t)
	w.bootstrapped(t)
	lost := node(w.Cluster, "cart-fffff")
	lost.UID, lost.ResourceVersion = "", ""
	create(t, w.Kube, lost)
	p := pod(t, lost)
	p.UID, p.Spec.NodeName, p.Spec.Tolerations = "", "no-such-machine", []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	create(t, w.Kube, p)
	if err := w.Kube.Delete(t.Context(), w.Cluster); err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	eventually(t, "the cluster is gone", func() bool {
		w.run(t, &actions.RemoveCluster{})
		err := w.Kube.Get(t.Context(), client.ObjectKeyFromObject(w.Cluster), &v1alpha1.ValkeyCluster{})
		return err != nil && client.IgnoreNotFound(err) == nil
	})
	t.Logf("removed in %v", time.Since(started))
	var pods corev1.PodList
	if err := w.Kube.List(t.Context(), &pods, client.InNamespace(w.Cluster.Namespace)); err != nil || len(pods.Items) > 0 {
		t.Errorf("%d Pods are left, %v", len(pods.Items), err)
	}
	if n := len(w.nodes(t)); n > 0 {
		t.Errorf("%d nodes are left", n)
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}
