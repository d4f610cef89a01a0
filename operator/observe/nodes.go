package observe

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
)

// engineNodes are the cluster's ValkeyNodes with their Pods, sorted by name.
func (h *holdings) engineNodes() []engine.Node {
	pods, configured := h.podsByNode(), h.configured()
	var found []engine.Node
	for i := range h.nodes.Items {
		n := &h.nodes.Items[i]
		if !h.ours(n) {
			continue
		}
		seen := nodeOf(n)
		seen.HasConfig = configured[n.UID]
		if p := pods[n.UID]; p != nil {
			seen.Pod = podOf(p, h.hosts[p.Spec.NodeName])
			seen.Certificate.Touched, seen.Certificate.TouchedAt = objects.Touched(p.Annotations[objects.TouchAnnotation])
		}
		found = append(found, seen)
	}
	slices.SortFunc(found, func(a, b engine.Node) int { return cmp.Compare(a.Name, b.Name) })
	return found
}

// podsByNode are the Pods by the UID of the ValkeyNode that controls them and whose name they have.
func (h *holdings) podsByNode() map[types.UID]*corev1.Pod {
	pods := map[types.UID]*corev1.Pod{}
	for i := range h.pods.Items {
		if p := &h.pods.Items[i]; objects.NodeOf(p) == p.Name {
			pods[objects.ControllerUID(p)] = p
		}
	}
	return pods
}

// configured are the UIDs of the ValkeyNodes that have their ConfigMap.
func (h *holdings) configured() map[types.UID]bool {
	found := map[types.UID]bool{}
	for i := range h.configs.Items {
		c := &h.configs.Items[i]
		if node := objects.NodeOf(c); node != "" && c.Name == objects.ConfigName(node) {
			found[objects.ControllerUID(c)] = true
		}
	}
	return found
}

func nodeOf(n *v1alpha1.ValkeyNode) engine.Node {
	return engine.Node{
		Name: n.Name, UID: string(n.UID),
		Created:    n.CreationTimestamp.Time,
		Deleting:   n.DeletionTimestamp != nil,
		Spec:       objects.NodeSpec(n.Spec),
		Lifecycle:  engine.Lifecycle(cmp.Or(n.Spec.Lifecycle, v1alpha1.LifecycleActive)),
		ShardIndex: int(n.Spec.ShardIndex),
		LastID:     n.Status.NodeID,
		Spellings:  spellings(n.Status.Spellings),

		Certificate: engine.NodeCertificate{Proved: n.Status.Certificate},
	}
}

func spellings(recorded map[string]v1alpha1.Spelling) map[string]engine.Spelling {
	if len(recorded) == 0 {
		return nil
	}
	out := make(map[string]engine.Spelling, len(recorded))
	for name, s := range recorded {
		out[name] = engine.Spelling{Written: s.Written, Read: s.Read}
	}
	return out
}
