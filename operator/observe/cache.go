package observe

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// ClusterIndex is the index of owned objects by the name of the cluster in their label.
const ClusterIndex = "cluster"

// Index adds the indexes that an Observer reads by. It must be called BEFORE the cache starts.
func Index(ctx context.Context, to client.FieldIndexer) error {
	kinds := append(labelled(), &v1alpha1.ValkeyNode{})
	for _, kind := range kinds {
		if err := to.IndexField(ctx, kind, ClusterIndex, InstanceOf); err != nil {
			return fmt.Errorf("index %T by cluster: %w", kind, err)
		}
	}
	return nil
}

// InstanceOf is the index key of an owned object: the name of its cluster.
func InstanceOf(obj client.Object) []string {
	if name := obj.GetLabels()[objects.LabelInstance]; name != "" {
		return []string{name}
	}
	return nil
}

// labelled are the kinds of which the cache holds only what bears the operator's label.
func labelled() []client.Object {
	return []client.Object{
		&corev1.Pod{}, &corev1.ConfigMap{}, &corev1.Secret{}, &corev1.Service{}, &policyv1.PodDisruptionBudget{},
	}
}

// ByObject says what the cache holds: of the kinds that others use too only what bears the operator's label, so that
// memory does not grow with their Pods and Secrets; of Kubernetes nodes what a Snapshot needs of them.
func ByObject() map[client.Object]cache.ByObject {
	managed := labels.SelectorFromSet(labels.Set{objects.LabelManagedBy: objects.Manager})
	by := map[client.Object]cache.ByObject{&corev1.Node{}: {Transform: BareNode}}
	for _, kind := range labelled() {
		by[kind] = cache.ByObject{Label: managed}
	}
	return by
}

// BareNode strips a Kubernetes node to its name, labels, whether it is cordoned and whether it is ready: the rest, its list
// of images above all, is large and changes every few seconds.
func BareNode(obj any) (any, error) {
	n, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil
	}
	bare := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, UID: n.UID, ResourceVersion: n.ResourceVersion, Labels: n.Labels},
		Spec:       corev1.NodeSpec{Unschedulable: n.Spec.Unschedulable},
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			bare.Status.Conditions = []corev1.NodeCondition{{Type: c.Type, Status: c.Status}}
		}
	}
	return bare, nil
}
