package objects

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
)

// ValkeyNode is a new node of the cluster, which has yet to join. It records
// all that its Pod is made of, so that the Pod can be made again from it.
func ValkeyNode(
	cluster *v1alpha1.ValkeyCluster, name string, desired engine.Desired, node engine.NewNode, pods PodDefaults,
) *v1alpha1.ValkeyNode {
	spec := nodeSpec(desired.Node)
	spec.Version = desired.Version
	spec.PullSecrets = slices.Clone(pods.PullSecrets)
	spec.Tolerations = slices.Clone(pods.Tolerations)
	spec.PriorityClassName = pods.PriorityClassName
	return newNode(cluster, name, spec, node)
}

// ValkeyNodeLike is a new node with all that another one records.
func ValkeyNodeLike(
	cluster *v1alpha1.ValkeyCluster, name string, model *v1alpha1.ValkeyNode, node engine.NewNode,
) *v1alpha1.ValkeyNode {
	return newNode(cluster, name, *model.Spec.DeepCopy(), node)
}

// newNode is a node that has yet to join its shard.
func newNode(
	cluster *v1alpha1.ValkeyCluster, name string, spec v1alpha1.ValkeyNodeSpec, node engine.NewNode,
) *v1alpha1.ValkeyNode {
	meta := ofCluster(cluster, name)
	meta.Labels[LabelShard] = strconv.Itoa(node.ShardIndex)
	if node.Join != "" {
		meta.Labels[LabelJoinType] = string(node.Join)
	}
	meta.Finalizers = []string{NodeFinalizer}
	spec.ClusterName = cluster.Name
	spec.ShardIndex = int32(node.ShardIndex)
	spec.Lifecycle = v1alpha1.LifecycleJoining
	return &v1alpha1.ValkeyNode{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: KindNode},
		ObjectMeta: meta,
		Spec:       spec,
	}
}

// nodeSpec is the API's form of a node's spec.
func nodeSpec(n engine.NodeSpec) v1alpha1.ValkeyNodeSpec {
	return v1alpha1.ValkeyNodeSpec{
		Image:          n.Image,
		CPU:            n.CPU,
		Memory:         n.Memory,
		ValkeySettings: maps.Clone(n.Settings),
		TLSSecret:      n.TLSSecret,
		Placement: &v1alpha1.Placement{
			Zones:        slices.Clone(n.Placement.Zones),
			ZoneSpread:   v1alpha1.ZoneSpread(n.Placement.ZoneSpread),
			NodeSelector: maps.Clone(n.Placement.NodeSelector),
		},
	}
}

// NodeSpec is the engine's form of a node's spec. Zones are sorted; what is
// empty is nil. Its maps are those of s, and must not be changed.
func NodeSpec(s v1alpha1.ValkeyNodeSpec) engine.NodeSpec {
	spec := engine.NodeSpec{
		Image:     s.Image,
		CPU:       s.CPU,
		Memory:    s.Memory,
		Settings:  settings(s.ValkeySettings),
		TLSSecret: s.TLSSecret,
	}
	if p := s.Placement; p != nil {
		spec.Placement = engine.Placement{
			Zones:        slices.Sorted(slices.Values(p.Zones)),
			ZoneSpread:   string(p.ZoneSpread),
			NodeSelector: settings(p.NodeSelector),
		}
	}
	return spec
}

// settings is the map, nil when it is empty.
func settings(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return m
}

// NodeConfig holds a node's valkey.conf.
func NodeConfig(node *v1alpha1.ValkeyNode, conf string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: ofNode(node, ConfigName(node.Name)),
		Data:       map[string]string{ConfKey: conf},
	}
}

// ofNode is the metadata of an object that the node owns.
func ofNode(node *v1alpha1.ValkeyNode, name string) metav1.ObjectMeta {
	labels := Labels(node.Spec.ClusterName)
	labels[LabelShard] = strconv.Itoa(int(node.Spec.ShardIndex))
	return metav1.ObjectMeta{
		Namespace:       node.Namespace,
		Name:            name,
		Labels:          labels,
		OwnerReferences: []metav1.OwnerReference{nodeOwner(node)},
	}
}
