//go:build cluster

package chart

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// checkObjects looks up on the cluster everything the chart renders with the same values.
func (k *cluster) checkObjects(t *testing.T, args ...string) {
	t.Helper()
	for _, m := range render(t, args...) {
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(schema.FromAPIVersionAndKind(m.APIVersion, m.Kind))
		if !k.exists(t, live, m.Namespace, m.Name) {
			t.Errorf("%s %s/%s is not on the cluster", m.Kind, m.Namespace, m.Name)
		}
	}
}

func (k *cluster) checkSettings(t *testing.T, zoneSpread, watched string) {
	t.Helper()
	var settings corev1.ConfigMap
	if !k.exists(t, &settings, namespace, "valkey-operator-config") {
		t.Fatal("no settings")
	}
	got := []string{settings.Data["defaultZoneSpread"], settings.Data["watchNamespaces"]}
	if diff := cmp.Diff([]string{zoneSpread, watched}, got); diff != "" {
		t.Error(diff)
	}
}

// checkRights asks the API server itself what the operator may do: with Secrets in each namespace ("" is
// all of them), and with what it must never touch.
func (k *cluster) checkRights(t *testing.T, secrets map[string]bool) {
	t.Helper()
	for _, in := range slices.Sorted(maps.Keys(secrets)) {
		for _, verb := range []string{"list", "watch", "get", "create"} {
			k.checkRight(t, secrets[in], authorizationv1.ResourceAttributes{Namespace: in, Verb: verb, Resource: "secrets"})
		}
	}
	group := strings.TrimSuffix(ours, "/")
	for _, always := range []authorizationv1.ResourceAttributes{
		{Verb: "watch", Group: group, Resource: "valkeyconfigs"},
		{Verb: "patch", Group: group, Resource: "valkeyconfigs", Subresource: "status", Name: "any"},
		{Verb: "list", Resource: "nodes"},
		{Namespace: team, Verb: "update", Group: group, Resource: "valkeyclusters", Subresource: "finalizers"},
		{Namespace: "default", Verb: "create", Group: "events.k8s.io", Resource: "events"},
		{Namespace: namespace, Verb: "update", Group: "coordination.k8s.io", Resource: "leases", Name: "valkey-operator"},
	} {
		k.checkRight(t, true, always)
	}
	for _, never := range []authorizationv1.ResourceAttributes{
		{Namespace: team, Verb: "create", Resource: "pods", Subresource: "exec"},
		{Namespace: team, Verb: "delete", Group: group, Resource: "valkeyclusters"},
		{Verb: "delete", Group: group, Resource: "valkeyimages"},
		{Namespace: namespace, Verb: "update", Group: "coordination.k8s.io", Resource: "leases", Name: "another"},
		{Verb: "patch", Resource: "nodes"},
		{Verb: "create", Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"},
	} {
		k.checkRight(t, false, never)
	}
}

func (k *cluster) checkRight(t *testing.T, want bool, what authorizationv1.ResourceAttributes) {
	t.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               "system:serviceaccount:" + namespace + ":valkey-operator",
		Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
		ResourceAttributes: &what,
	}}
	if err := k.client.Create(t.Context(), review); err != nil {
		t.Fatal(err)
	}
	if review.Status.Allowed != want {
		t.Errorf("may %s %s/%s in %q: %v, want %v (%s)",
			what.Verb, what.Resource, what.Subresource, what.Namespace, review.Status.Allowed, want, review.Status.Reason)
	}
}

// valkeyCluster names a config that is not there: it is kept like any other, and starts no pod.
func valkeyCluster() *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"configRef": "chart-test-absent", "shards": int64(1), "replicasPerShard": int64(0)},
	}}
	object.SetAPIVersion(ours + "v1alpha1")
	object.SetKind("ValkeyCluster")
	object.SetNamespace(team)
	object.SetName("kept")
	return object
}

func (k *cluster) createCluster(t *testing.T) {
	t.Helper()
	// A CRD is served a moment after it was created.
	eventually(t, "the API server takes a ValkeyCluster", func() error {
		return k.client.Create(t.Context(), valkeyCluster(), client.FieldValidation("Strict"))
	})
}

// checkKept says that the five CRDs and the cluster, with its spec, are still there.
func (k *cluster) checkKept(t *testing.T) {
	t.Helper()
	if crds := k.crds(t); len(crds) != 5 {
		t.Errorf("the CRDs are %v", crds)
	}
	live, want := valkeyCluster(), valkeyCluster()
	if !k.exists(t, live, team, live.GetName()) {
		t.Fatal("the ValkeyCluster is gone")
	}
	configRef, _, err := unstructured.NestedString(live.Object, "spec", "configRef")
	if err != nil || live.GetDeletionTimestamp() != nil || configRef != want.Object["spec"].(map[string]any)["configRef"] {
		t.Errorf("the ValkeyCluster was changed: %v (%v)", live.Object, err)
	}
}

// checkPods waits until the namespace, which enforces the restricted standard, has let in the pods; a refused
// pod is one that never exists. Whether they get ready is Helm's to wait for.
func (k *cluster) checkPods(t *testing.T) {
	t.Helper()
	eventually(t, "two pods of the operator exist", func() error {
		var pods corev1.PodList
		err := k.client.List(t.Context(), &pods, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/name": "valkey-operator"})
		if err == nil && len(pods.Items) < 2 {
			return fmt.Errorf("there are %d", len(pods.Items))
		}
		return err
	})
}

func (k *cluster) podTemplate(t *testing.T) corev1.PodTemplateSpec {
	t.Helper()
	var d appsv1.Deployment
	if !k.exists(t, &d, namespace, "valkey-operator") {
		t.Fatal("no Deployment")
	}
	return d.Spec.Template
}

func (k *cluster) checkRestarted(t *testing.T, before corev1.PodTemplateSpec) {
	t.Helper()
	after := k.podTemplate(t)
	for _, sum := range []string{"checksum/config", "checksum/policies"} {
		if before.Annotations[sum] == after.Annotations[sum] {
			t.Errorf("%s is what it was, so no pod restarts", sum)
		}
	}
	if k.image == nil {
		return
	}
	var d appsv1.Deployment
	k.exists(t, &d, namespace, "valkey-operator")
	if d.Status.ReadyReplicas != 2 || d.Status.UpdatedReplicas != 2 {
		t.Errorf("%d of 2 pods ready, %d updated", d.Status.ReadyReplicas, d.Status.UpdatedReplicas)
	}
}

// checkRefused upgrades with a value that the schema refuses and looks that the release stayed as it was.
func (k *cluster) checkRefused(t *testing.T) {
	t.Helper()
	before := k.podTemplate(t)
	_, err := helm(t, "upgrade", release, chartDir, "--namespace", namespace, "--set", "config.defaultZoneSpread=always")
	if err == nil || !strings.Contains(err.Error(), "/config/defaultZoneSpread") {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(before, k.podTemplate(t)); diff != "" {
		t.Error(diff)
	}
}
