package objects

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// Kinds of the owners.
const (
	KindCluster = "ValkeyCluster"
	KindNode    = "ValkeyNode"
)

// Labels are on every object of the named cluster.
func Labels(cluster string) map[string]string {
	return map[string]string{
		LabelName:      Application,
		LabelInstance:  cluster,
		LabelManagedBy: Manager,
	}
}

// podSelector matches every Pod of the cluster.
func podSelector(cluster string) map[string]string {
	return map[string]string{LabelName: Application, LabelInstance: cluster}
}

// clusterOwner is the owner reference to the cluster. It blocks a foreground
// deletion of the cluster until the object is gone.
func clusterOwner(cluster *v1alpha1.ValkeyCluster) metav1.OwnerReference {
	return *metav1.NewControllerRef(cluster, v1alpha1.GroupVersion.WithKind(KindCluster))
}

// nodeOwner is the owner reference to the node.
func nodeOwner(node *v1alpha1.ValkeyNode) metav1.OwnerReference {
	return *metav1.NewControllerRef(node, v1alpha1.GroupVersion.WithKind(KindNode))
}

// ofCluster is the metadata of an object that the cluster owns.
func ofCluster(cluster *v1alpha1.ValkeyCluster, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:       cluster.Namespace,
		Name:            name,
		Labels:          Labels(cluster.Name),
		OwnerReferences: []metav1.OwnerReference{clusterOwner(cluster)},
	}
}

// ControllerUID is the UID of the object's controller, "" when it has none.
func ControllerUID(obj client.Object) types.UID {
	if c := metav1.GetControllerOfNoCopy(obj); c != nil {
		return c.UID
	}
	return ""
}

// NodeOf names the ValkeyNode that controls the object, "" when none does.
func NodeOf(obj client.Object) string {
	c := metav1.GetControllerOfNoCopy(obj)
	if c == nil || c.Kind != KindNode || c.APIVersion != v1alpha1.GroupVersion.String() {
		return ""
	}
	return c.Name
}

// Kind is the object's kind. Objects read through a typed client do not carry
// it; "" for a type that no cluster owns.
func Kind(obj client.Object) string {
	switch obj.(type) {
	case *corev1.Service:
		return "Service"
	case *corev1.ConfigMap:
		return "ConfigMap"
	case *corev1.Secret:
		return "Secret"
	case *corev1.Pod:
		return "Pod"
	case *policyv1.PodDisruptionBudget:
		return "PodDisruptionBudget"
	case *v1alpha1.ValkeyNode:
		return KindNode
	default:
		return ""
	}
}

// Ref names the object as people write it: "Kind/name".
func Ref(obj client.Object) string { return Kind(obj) + "/" + obj.GetName() }
