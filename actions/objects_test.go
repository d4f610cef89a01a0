package actions_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/actions/objects"
)

func applying() *actions.ApplyObjects {
	return &actions.ApplyObjects{Objects: []string{"Service/cart", "ConfigMap/cart-acl"}}
}

func TestApplyObjectsCreates(t *testing.T) {
	w := newWorld(t, cluster())
	w.run(t, applying())
	same(t, "services", w.names(t, &corev1.ServiceList{}), []string{"cart"})
	same(t, "config maps", w.names(t, &corev1.ConfigMapList{}), []string{"cart-acl"})
	before := w.writes.count
	w.run(t, applying())
	if tried := w.writes.count - before; tried != 2 { // one refused creation each, and no patch
		t.Errorf("a second time it wrote %d times", tried)
	}
}

func TestApplyObjectsMakesOnlyWhatItIsTold(t *testing.T) {
	w := newWorld(t, cluster())
	w.run(t, &actions.ApplyObjects{Objects: []string{"ConfigMap/cart-acl", "Service/other"}})
	same(t, "services", w.names(t, &corev1.ServiceList{}), nil)
	same(t, "config maps", w.names(t, &corev1.ConfigMapList{}), []string{"cart-acl"})
}

func TestApplyObjectsMendsWhatWasEdited(t *testing.T) {
	w := newWorld(t, cluster())
	w.run(t, applying())
	w.edit(t, &corev1.Service{}, "cart", func(o client.Object) {
		s := o.(*corev1.Service)
		s.Spec.Selector = map[string]string{"app": "other"}
		s.Spec.Ports = s.Spec.Ports[:1]
		s.Labels = map[string]string{"team": "cart"}
	})
	w.edit(t, &corev1.ConfigMap{}, "cart-acl", func(o client.Object) {
		o.(*corev1.ConfigMap).Data = map[string]string{"users.acl": "user evil on nopass +@all", "more": "x"}
	})
	w.run(t, applying())
	for _, want := range objects.Owned(w.Cluster, w.Desired) {
		live := want.DeepCopyObject().(client.Object)
		w.get(t, want.GetName(), live)
		if got, want := objects.Canonical(live), objects.Canonical(want); got != want {
			t.Errorf("got %s\nwant %s", got.Content, want.Content)
		}
	}
	service := &corev1.Service{}
	if w.get(t, "cart", service); service.Labels["team"] != "cart" {
		t.Error("someone else's label is gone")
	}
}

func (w *world) edit(t *testing.T, into client.Object, name string, change func(client.Object)) {
	t.Helper()
	w.get(t, name, into)
	change(into)
	if err := w.Kube.Update(t.Context(), into); err != nil {
		t.Fatal(err)
	}
}

func TestApplyObjectsLeavesOthersAlone(t *testing.T) {
	users := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart"}}
	anothers := objects.Owned(cluster(), desired())[1]
	anothers.GetOwnerReferences()[0].UID = "another"
	cases := map[string]struct {
		obj  client.Object
		says string
	}{
		"a user's Service":            {users, `Service "cart" exists in namespace "shop" and does not belong to this cluster: delete it`},
		"another cluster's ConfigMap": {anothers, `ConfigMap "cart-acl" exists in namespace "shop"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, cluster(), c.obj)
			w.fails(t, applying(), c.says)
			live := c.obj.DeepCopyObject().(client.Object)
			w.get(t, c.obj.GetName(), live)
			if objects.ControllerUID(live) == w.Cluster.UID {
				t.Error("it was taken over")
			}
			rest := append(w.names(t, &corev1.ServiceList{}), w.names(t, &corev1.ConfigMapList{})...)
			same(t, "both of them are there", rest, []string{"cart", "cart-acl"})
		})
	}
}

func TestSetBudget(t *testing.T) {
	w := newWorld(t, cluster())
	budget := &policyv1.PodDisruptionBudget{}
	for _, keep := range []int{6, 5} {
		w.run(t, &actions.SetBudget{Keep: keep})
		if w.get(t, "cart", budget); budget.Spec.MinAvailable.IntValue() != keep {
			t.Errorf("it keeps %v, want %d", budget.Spec.MinAvailable, keep)
		}
	}
	w.edit(t, budget, "cart", func(client.Object) { budget.Spec.Selector, budget.Spec.UnhealthyPodEvictionPolicy = nil, nil })
	w.run(t, &actions.SetBudget{Keep: 5})
	if w.get(t, "cart", budget); objects.Kept(w.Cluster, budget) == nil {
		t.Errorf("it is not mended: %+v", budget.Spec)
	}
}

func TestApplyObjectsAdoptsWhatLostItsOwner(t *testing.T) {
	restored := objects.Owned(cluster(), desired())[0]
	restored.SetOwnerReferences(nil)
	w := newWorld(t, cluster(), restored)
	w.run(t, applying())
	service := &corev1.Service{}
	if w.get(t, "cart", service); objects.ControllerUID(service) != w.Cluster.UID {
		t.Error("it has no owner")
	}
}
