package objects

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// PodDefaults are what a Pod gets that no ValkeyCluster says. All but the DNS
// domain are written into the ValkeyNode when it is made.
type PodDefaults struct {
	ClusterDomain     string // "cluster.local"
	PullSecrets       []string
	PriorityClassName string
	Tolerations       []v1alpha1.Toleration
}

// user and group are what the servers run as. They are the ids of the valkey
// user in the usual images; any other works as well, since a server writes
// only to its own volumes.
const (
	user  int64 = 999
	group int64 = 999
)

const (
	// terminationGraceSeconds is preStopSeconds, what a server gives its replicas to catch
	// up when it is told to stop (shutdown-timeout: 10 s), and as much again for a busy machine.
	terminationGraceSeconds int64 = 30
	// preStopSeconds is how long a Pod that is being deleted or evicted goes on serving
	// before its server is told to stop: the operator sees the deletion within
	// milliseconds and a coordinated failover takes some tens of them; the rest is for
	// an operator that is busy. Deleting a cluster cuts it short by its grace period.
	preStopSeconds int64 = 5
)

// Pod is the node's Pod, with the given annotations. All else comes from the
// node's own spec, and the DNS domain from the defaults.
func Pod(node *v1alpha1.ValkeyNode, pods PodDefaults, annotations map[string]string) (*corev1.Pod, error) {
	resources, err := resources(node.Spec)
	if err != nil {
		return nil, fmt.Errorf("resources of %s: %w", node.Name, err)
	}
	meta := ofNode(node, node.Name)
	meta.Annotations = maps.Clone(annotations)
	no, grace := false, terminationGraceSeconds
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: meta,
		Spec: corev1.PodSpec{
			Hostname:                      node.Name,
			Subdomain:                     ServiceName(node.Spec.ClusterName),
			RestartPolicy:                 corev1.RestartPolicyNever,
			TerminationGracePeriodSeconds: &grace,
			AutomountServiceAccountToken:  &no,
			EnableServiceLinks:            &no,
			SecurityContext:               podSecurity(),
			ImagePullSecrets:              pullSecrets(node.Spec.PullSecrets),
			PriorityClassName:             node.Spec.PriorityClassName,
			Tolerations:                   tolerations(node.Spec.Tolerations),
			NodeSelector:                  nodeSelector(node.Spec.Placement),
			Affinity:                      affinity(node.Spec.Placement),
			TopologySpreadConstraints:     spread(node.Spec),
			Volumes:                       volumes(node),
			Containers:                    []corev1.Container{server(node, resources, pods.ClusterDomain)},
		},
	}, nil
}

// podSecurity is the Pod's share of the restricted Pod Security Standard. The
// group owns the volumes, so that a server of any user id can read them.
func podSecurity() *corev1.PodSecurityContext {
	yes, u, g := true, user, group
	onRootMismatch := corev1.FSGroupChangeOnRootMismatch
	return &corev1.PodSecurityContext{
		RunAsNonRoot:        &yes,
		RunAsUser:           &u,
		RunAsGroup:          &g,
		FSGroup:             &g,
		FSGroupChangePolicy: &onRootMismatch,
		SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

func pullSecrets(names []string) []corev1.LocalObjectReference {
	var refs []corev1.LocalObjectReference
	for _, name := range names {
		refs = append(refs, corev1.LocalObjectReference{Name: name})
	}
	return refs
}

// tolerations adds the one that lets servers run on arm64 machines, which some
// platforms taint.
func tolerations(configured []v1alpha1.Toleration) []corev1.Toleration {
	arm := corev1.Toleration{
		Key: corev1.LabelArchStable, Operator: corev1.TolerationOpEqual,
		Value: "arm64", Effect: corev1.TaintEffectNoSchedule,
	}
	return append([]corev1.Toleration{arm}, slices.Clone(configured)...)
}
