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

// Owned are the objects the cluster owns directly, its ValkeyNodes and its
// Secret aside: those are made once and not kept equal to anything.
//
// What the specs do not resolve to is left out, so that it stays as it is: an
// empty users.acl would open every server, a budget of nothing would let all
// Pods be evicted.
func Owned(cluster *v1alpha1.ValkeyCluster, desired engine.Desired) []client.Object {
	owned := []client.Object{service(cluster)}
	if desired.ACLFile != "" {
		owned = append(owned, acl(cluster, desired.ACLFile))
	}
	if desired.Topology.Nodes() > 0 {
		owned = append(owned, budget(cluster, desired.Topology))
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

// budget lets one Pod be evicted at a time, and only while all are up.
//
// It counts Pods in whole numbers, since the API server can work out neither a
// percentage nor maxUnavailable for Pods whose controller has no scale. A Pod
// that is not healthy may always be evicted: one that never starts must not
// hold up a drain for ever.
//
// Without replicas every Pod is the only copy of its shard, and no number
// protects it: a budget that allowed no eviction would only hang every drain.
func budget(cluster *v1alpha1.ValkeyCluster, topology engine.Topology) *policyv1.PodDisruptionBudget {
	minAvailable := intstr.FromInt32(int32(topology.Nodes() - 1))
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
