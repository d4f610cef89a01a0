package controller

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// A ledger counts what is written to the API server.
type ledger struct{ writes []string }

func (l *ledger) add(verb string, obj client.Object) {
	l.writes = append(l.writes, fmt.Sprintf("%s %s", verb, obj.GetName()))
}

// kubernetes is an API server in memory that holds objs.
func kubernetes(t *testing.T, objs ...client.Object) (client.WithWatch, *ledger) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	written := &ledger{}
	host := func(obj client.Object) []string { return []string{obj.(*corev1.Pod).Spec.NodeName} }
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objs...).
		WithIndex(&corev1.Pod{}, hostField, host).
		WithStatusSubresource(&v1alpha1.ValkeyCluster{}, &v1alpha1.ValkeyNode{}, &v1alpha1.ValkeyConfig{}, &v1alpha1.ValkeyImage{}, &v1alpha1.ValkeyRole{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
				written.add("patch", obj)
				return c.Patch(ctx, obj, patch, opts...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
				written.add("patch "+sub, obj)
				return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
			},
		}).Build()
	return kube, written
}

func valkeyCluster(namespace, name, config string) *v1alpha1.ValkeyCluster {
	return &v1alpha1.ValkeyCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "1"},
		Spec:       v1alpha1.ValkeyClusterSpec{ConfigRef: config, Shards: 1},
	}
}

func valkeyConfig(name, base, image string) *v1alpha1.ValkeyConfig {
	return &v1alpha1.ValkeyConfig{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.ValkeyConfigSpec{BaseRef: base, ImageRef: image},
	}
}

func valkeyImage(name string) *v1alpha1.ValkeyImage {
	return &v1alpha1.ValkeyImage{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.ValkeyImageSpec{Repository: "valkey", Tag: "9.1", Version: "9.1.0"},
	}
}

func pod(namespace, cluster, name, host string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: objects.Labels(cluster)},
		Spec:       corev1.PodSpec{NodeName: host},
	}
}

func binding(roles ...string) v1alpha1.AclBinding {
	b := v1alpha1.AclBinding{Username: "app"}
	for _, role := range roles {
		b.Permissions = append(b.Permissions, v1alpha1.Permission{RoleRef: role})
	}
	return b
}
