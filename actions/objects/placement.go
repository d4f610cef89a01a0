package objects

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

func nodeSelector(p *v1alpha1.Placement) map[string]string {
	if p == nil {
		return nil
	}
	return maps.Clone(p.NodeSelector)
}

// affinity keeps the Pod in the zones named, if any are.
func affinity(p *v1alpha1.Placement) *corev1.Affinity {
	if p == nil || len(p.Zones) == 0 {
		return nil
	}
	zones := corev1.NodeSelectorRequirement{
		Key:      corev1.LabelTopologyZone,
		Operator: corev1.NodeSelectorOpIn,
		Values:   slices.Sorted(slices.Values(p.Zones)),
	}
	terms := []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{zones}}}
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
	}}
}

// spread keeps the servers of one shard apart: on different machines when that
// can be had, and in different zones, when that can be had or always.
//
// Where zones are required, a second constraint over the whole cluster keeps
// primaries and replicas together from filling one zone, as far as it can.
func spread(spec v1alpha1.ValkeyNodeSpec) []corev1.TopologySpreadConstraint {
	cluster := podSelector(spec.ClusterName)
	shard := maps.Clone(cluster)
	shard[LabelShard] = strconv.Itoa(int(spec.ShardIndex))

	host := constraint(corev1.LabelHostname, corev1.ScheduleAnyway, shard)
	if spec.Placement == nil || spec.Placement.ZoneSpread != v1alpha1.Required {
		return []corev1.TopologySpreadConstraint{
			host, constraint(corev1.LabelTopologyZone, corev1.ScheduleAnyway, shard),
		}
	}
	return []corev1.TopologySpreadConstraint{
		host,
		constraint(corev1.LabelTopologyZone, corev1.DoNotSchedule, shard),
		constraint(corev1.LabelTopologyZone, corev1.ScheduleAnyway, cluster),
	}
}

func constraint(
	key string, unsatisfiable corev1.UnsatisfiableConstraintAction, selector map[string]string,
) corev1.TopologySpreadConstraint {
	return corev1.TopologySpreadConstraint{
		MaxSkew:           1,
		TopologyKey:       key,
		WhenUnsatisfiable: unsatisfiable,
		LabelSelector:     &metav1.LabelSelector{MatchLabels: selector},
	}
}
