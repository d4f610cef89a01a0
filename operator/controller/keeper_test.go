package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// keep is one pass of the keeper of configs or images over the named object.
func keep(t *testing.T, kube client.Client, kind, name string) {
	t.Helper()
	fresh := map[string]func() client.Object{
		configKind: func() client.Object { return &v1alpha1.ValkeyConfig{} },
		imageKind:  func() client.Object { return &v1alpha1.ValkeyImage{} },
	}[kind]
	k := &keeper{kube: kube, kind: kind, fresh: fresh}
	if _, err := k.Reconcile(t.Context(), request(types.NamespacedName{Name: name})); err != nil {
		t.Fatal(err)
	}
}

func configNamed(t *testing.T, kube client.Client, name string) *v1alpha1.ValkeyConfig {
	t.Helper()
	c := &v1alpha1.ValkeyConfig{}
	if err := kube.Get(t.Context(), types.NamespacedName{Name: name}, c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAConfigSaysWhoUsesItAndWhetherItResolves(t *testing.T) {
	kube, written := kubernetes(t,
		valkeyConfig("base", "", "v9"), valkeyConfig("small", "base", ""), valkeyConfig("lost", "nowhere", ""), valkeyImage("v9"),
		valkeyCluster("shop", "cache", "small"), valkeyCluster("billing", "cache", "small"))
	for name, want := range map[string]struct {
		clusters        int32
		inUse, resolved string
	}{
		"small": {2, "Used by billing/cache, shop/cache.", "The chain of configs leads to an image."},
		"base":  {2, "Used by billing/cache, shop/cache.", "The chain of configs leads to an image."},
		"lost":  {0, "No cluster uses it.", `ValkeyConfig "nowhere" not found`},
	} {
		keep(t, kube, configKind, name)
		got := configNamed(t, kube, name)
		if got.Status.Clusters != want.clusters {
			t.Errorf("%s: %d clusters, want %d", name, got.Status.Clusters, want.clusters)
		}
		said := [2]string{
			meta.FindStatusCondition(got.Status.Conditions, InUse).Message,
			meta.FindStatusCondition(got.Status.Conditions, Resolved).Message,
		}
		if diff := cmp.Diff([2]string{want.inUse, want.resolved}, said); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if guarded := len(got.Finalizers) > 0; guarded != (want.clusters > 0) {
			t.Errorf("%s: finalizers %v", name, got.Finalizers)
		}
	}
	written.writes = nil
	keep(t, kube, configKind, "small")
	if len(written.writes) > 0 {
		t.Errorf("written although nothing changed: %v", written.writes)
	}
}

func TestWhyAConfigDoesNotResolve(t *testing.T) {
	for name, c := range map[string]struct {
		menu            []client.Object
		reason, message string
	}{
		"no image":      {[]client.Object{valkeyConfig("c", "base", ""), valkeyConfig("base", "", "")}, "NoImageRef", `no imageRef in config chain ending at "base"`},
		"missing image": {[]client.Object{valkeyConfig("c", "", "v9")}, "ImageNotFound", `ValkeyImage "v9" not found`},
		"a cycle":       {[]client.Object{valkeyConfig("c", "d", ""), valkeyConfig("d", "c", "")}, "ConfigCycle", "config inheritance depth exceeds 10 (cycle?): c -> d -> c"},
	} {
		t.Run(name, func(t *testing.T) {
			kube, _ := kubernetes(t, c.menu...)
			keep(t, kube, configKind, "c")
			got := meta.FindStatusCondition(configNamed(t, kube, "c").Status.Conditions, Resolved)
			if got.Status != metav1.ConditionFalse || got.Reason != c.reason || got.Message != c.message {
				t.Errorf("%s %s: %s", got.Status, got.Reason, got.Message)
			}
		})
	}
}

func TestADeletionWaitsUntilNobodyUsesTheObject(t *testing.T) {
	cluster := valkeyCluster("shop", "cache", "small")
	kube, _ := kubernetes(t, valkeyConfig("small", "", "v9"), valkeyImage("v9"), cluster)
	keep(t, kube, imageKind, "v9")
	image := valkeyImage("v9")
	if err := kube.Delete(t.Context(), image); err != nil {
		t.Fatal(err)
	}
	keep(t, kube, imageKind, "v9")
	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(image), image); err != nil {
		t.Fatalf("the image went under its users: %v", err)
	}
	c := meta.FindStatusCondition(image.Status.Conditions, InUse)
	want := "Used by shop/cache. Its deletion waits until none does; clusters that run are looked after meanwhile."
	if c.Reason != "DeletionWaits" || c.Message != want {
		t.Errorf("%s: %s", c.Reason, c.Message)
	}

	if err := kube.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	keep(t, kube, imageKind, "v9")
	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(image), image); !apierrors.IsNotFound(err) {
		t.Errorf("the image stays when nobody uses it: %v", err)
	}
}

// A finalizer that comes too late would be refused by the API server, for ever.
func TestAnObjectOnItsWayOutGetsNoNewFinalizer(t *testing.T) {
	image := valkeyImage("v9")
	gone := metav1.NewTime(time.Now())
	image.DeletionTimestamp, image.Finalizers = &gone, []string{"example.org/other"}
	kube, _ := kubernetes(t, valkeyConfig("small", "", "v9"), image, valkeyCluster("shop", "cache", "small"))
	keep(t, kube, imageKind, "v9")
	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(image), image); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"example.org/other"}, image.Finalizers); diff != "" {
		t.Error(diff)
	}
}

func TestOnlyTheFirstUsersAreNamed(t *testing.T) {
	var keys []types.NamespacedName
	for _, n := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		keys = append(keys, types.NamespacedName{Namespace: n, Name: "x"})
	}
	if got, want := names(keys), "a/x, b/x, c/x, d/x, e/x and 2 more"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
