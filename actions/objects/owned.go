package objects

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
)

// Owned are the objects the cluster owns directly and that follow from its
// specs. Its ValkeyNodes and its Secret do not: those are made once and not kept
// equal to anything. Nor does its Budget, which follows what is seen.
//
// What the specs do not resolve to is left out, so that it stays as it is: an
// empty users.acl would open every server.
func Owned(cluster *v1alpha1.ValkeyCluster, desired engine.Desired) []client.Object {
	owned := []client.Object{service(cluster)}
	if desired.ACLFile != "" {
		owned = append(owned, acl(cluster, desired.ACLFile))
	}
	return owned
}

// service gives every Pod a DNS name before it is ready, since servers and the
// operator dial each other by it while the cluster forms.
//
// The tcp- of the port names tells service meshes not to take Valkey's
// protocol and the bus's for HTTP. An appProtocol would override it in some
// meshes and turn on a Redis proxy, so there is none.
func service(cluster *v1alpha1.ValkeyCluster) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: ofCluster(cluster, ServiceName(cluster.Name)),
		Spec: corev1.ServiceSpec{
			Type:                     corev1.ServiceTypeClusterIP,
			ClusterIP:                corev1.ClusterIPNone,
			PublishNotReadyAddresses: true,
			Selector:                 podSelector(cluster.Name),
			Ports: []corev1.ServicePort{
				servicePort("tcp-valkey", ClientPort),
				servicePort("tcp-bus", BusPort),
			},
		},
	}
}

func servicePort(name string, port int32) corev1.ServicePort {
	return corev1.ServicePort{
		Name: name, Port: port, TargetPort: intstr.FromInt32(port), Protocol: corev1.ProtocolTCP,
	}
}

// acl holds users.acl for all Pods of the cluster.
func acl(cluster *v1alpha1.ValkeyCluster, file string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: ofCluster(cluster, ACLName(cluster.Name)),
		Data:       map[string]string{ACLKey: file},
	}
}

// Budget lets Pods be evicted as long as so many stay.
//
// It counts Pods in whole numbers, since the API server can work out neither a
// percentage nor maxUnavailable for Pods whose controller has no scale. A Pod
// that is not healthy may always be evicted: one that never starts must not
// hold up a drain for ever.
func Budget(cluster *v1alpha1.ValkeyCluster, keep int) *policyv1.PodDisruptionBudget {
	minAvailable := intstr.FromInt32(int32(keep))
	always := policyv1.AlwaysAllow
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: ofCluster(cluster, ServiceName(cluster.Name)),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable:               &minAvailable,
			Selector:                   &metav1.LabelSelector{MatchLabels: podSelector(cluster.Name)},
			UnhealthyPodEvictionPolicy: &always,
		},
	}
}

// Kept is how many Pods the budget keeps, nil when anything else of it is not as Budget makes it.
func Kept(cluster *v1alpha1.ValkeyCluster, budget *policyv1.PodDisruptionBudget) *int {
	if budget.Spec.MinAvailable == nil {
		return nil
	}
	keep := budget.Spec.MinAvailable.IntValue()
	if Canonical(budget) != Canonical(Budget(cluster, keep)) {
		return nil
	}
	return &keep
}
