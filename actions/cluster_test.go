package actions_test

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

func TestGuardCluster(t *testing.T) {
	w := newWorld(t, cluster())
	w.run(t, &actions.GuardCluster{})
	if !controllerutil.ContainsFinalizer(w.read(t), objects.ClusterFinalizer) {
		t.Error("no finalizer")
	}
}

func TestGuardClusterLeavesADeletedClusterAlone(t *testing.T) {
	c := deletingCluster()
	c.Finalizers = []string{"somebody/else"}
	newWorld(t, c).changesNothing(t, &actions.GuardCluster{})
}

func TestAClusterOfThatNameWithAnotherUIDIsLeftAlone(t *testing.T) {
	for _, a := range []actions.Action{
		&actions.GuardCluster{}, &actions.RecordTarget{}, &actions.DeclareActive{}, &actions.RemoveCluster{}, creating(2),
	} {
		c := deletingCluster()
		c.DeletionTimestamp = nil
		w := newWorld(t, c)
		w.Cluster.UID = "uid-of-an-earlier-one"
		w.changesNothing(t, a)
	}
}

func TestRecordTarget(t *testing.T) {
	w := newWorld(t, cluster())
	w.run(t, &actions.RecordTarget{})
	got := w.read(t).Status
	if got.TargetSpec == nil || got.TargetSpec.Shards != 3 || got.State != v1alpha1.Creating {
		t.Errorf("status = %+v", got)
	}
	w.changesNothing(t, &actions.RecordTarget{})
}

func TestRecordTargetKeepsTheOneThatIsBeingBuilt(t *testing.T) {
	c := cluster()
	c.Status.TargetSpec = &v1alpha1.ValkeyClusterSpec{Shards: 5}
	w := newWorld(t, c)
	w.Cluster.Status.TargetSpec = nil // as a cache that is behind has it
	w.changesNothing(t, &actions.RecordTarget{})
}

func TestRecordTargetWaitsForTheSpecItWasDecidedOn(t *testing.T) {
	w := newWorld(t, cluster())
	w.Cluster.Generation = 2
	w.changesNothing(t, &actions.RecordTarget{})
}

func TestDeclareActive(t *testing.T) {
	c := cluster()
	c.Status = v1alpha1.ValkeyClusterStatus{State: v1alpha1.Creating, TargetSpec: c.Spec.DeepCopy(), Message: "forming"}
	w := newWorld(t, c)
	w.run(t, &actions.DeclareActive{})
	got := w.read(t).Status
	if got.State != v1alpha1.Active || got.TargetSpec != nil || got.Message != "forming" {
		t.Errorf("status = %+v", got)
	}
}

func TestDeclareActiveIsAboutTheTargetThatWasComplete(t *testing.T) {
	c := cluster()
	c.Status = v1alpha1.ValkeyClusterStatus{State: v1alpha1.Creating, TargetSpec: c.Spec.DeepCopy()}
	w := newWorld(t, c)
	w.Cluster.Status.TargetSpec.Shards = 2
	w.changesNothing(t, &actions.DeclareActive{})
}

func TestActivateNodes(t *testing.T) {
	c := cluster()
	leaving := node(c, "cart-00002", func(n *v1alpha1.ValkeyNode) { n.Spec.Lifecycle = v1alpha1.LifecycleLeaving })
	foreign := node(c, "cart-00003", func(n *v1alpha1.ValkeyNode) { n.OwnerReferences[0].UID = "another" })
	w := newWorld(t, c, node(c, "cart-00001"), leaving, foreign)
	all := &actions.ActivateNodes{Nodes: []string{"cart-00001", "cart-00002", "cart-00003", "cart-00004"}}
	w.run(t, all)
	want := map[string]v1alpha1.Lifecycle{
		"cart-00001": v1alpha1.LifecycleActive, "cart-00002": v1alpha1.LifecycleLeaving, "cart-00003": v1alpha1.LifecycleJoining,
	}
	for name, lifecycle := range want {
		n := &v1alpha1.ValkeyNode{}
		if !w.get(t, name, n) || n.Spec.Lifecycle != lifecycle {
			t.Errorf("%s is %s, want %s", name, n.Spec.Lifecycle, lifecycle)
		}
	}
	w.changesNothing(t, all)
}
