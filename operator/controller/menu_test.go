package controller

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

func TestAMenuIsWhatTheSpecsLeadTo(t *testing.T) {
	cluster := valkeyCluster("shop", "cache", "small")
	cluster.Spec.ACL = []v1alpha1.AclBinding{binding("reader", "absent")}
	cluster.Spec.TLS = &v1alpha1.TLS{SecretRef: "certificate"}
	parent := valkeyConfig("base", "", "v9")
	parent.Spec.ACL = []v1alpha1.AclBinding{binding("admin", "reader")}
	grandparent := valkeyConfig("unused", "", "v8")
	reader := &v1alpha1.ValkeyRole{}
	reader.Name = "reader"
	kube, _ := kubernetes(t, valkeyConfig("small", "base", ""), parent, grandparent, valkeyImage("v9"), valkeyImage("v8"), reader)

	var noted []reference
	read, err := readMenu(t.Context(), kube, cluster, func(ref reference) { noted = append(noted, ref) })
	if err != nil {
		t.Fatal(err)
	}
	want := []reference{
		{kind: configKind, name: "small"}, {kind: configKind, name: "base"}, {kind: imageKind, name: "v9"},
		{kind: roleKind, name: "reader"}, {kind: roleKind, name: "absent"}, {kind: roleKind, name: "admin"},
		{kind: secretKind, namespace: "shop", name: "certificate"},
	}
	if diff := cmp.Diff(want, noted, compare); diff != "" {
		t.Error("noted:", diff)
	}
	if diff := cmp.Diff(want, read.references, compare); diff != "" {
		t.Error("read:", diff)
	}
	if len(read.chain.Configs) != 2 || len(read.images) != 1 || len(read.roles) != 1 {
		t.Errorf("%d configs, %d images, %d roles", len(read.chain.Configs), len(read.images), len(read.roles))
	}
}

func TestAMissingObjectIsReferredToAllTheSame(t *testing.T) {
	kube, _ := kubernetes(t)
	read, err := readMenu(t.Context(), kube, valkeyCluster("shop", "cache", "nowhere"), func(reference) {})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]reference{{kind: configKind, name: "nowhere"}}, read.references, compare); diff != "" {
		t.Error(diff)
	}
	if want := `ValkeyConfig "nowhere" not found`; read.chain.Problem != want {
		t.Errorf("problem %q, want %q", read.chain.Problem, want)
	}
}

// An object that could not be read is not an object that is missing: the specs of a running cluster would be refused.
func TestAReadingErrorIsNotAnAbsence(t *testing.T) {
	kube, _ := kubernetes(t)
	broken := errors.New("connection refused")
	failing := interceptor.NewClient(kube, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return broken
		},
	})
	if _, err := readMenu(t.Context(), failing, valkeyCluster("shop", "cache", "small"), func(reference) {}); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}
