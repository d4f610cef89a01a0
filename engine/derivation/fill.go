package derivation

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/resource"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// filled is an Input in the shape of #Input of cue/derive, defaults included.
type filled struct {
	Name           string                              `json:"name"`
	Namespace      string                              `json:"namespace"`
	Cluster        v1alpha1.ValkeyClusterSpec          `json:"cluster"`
	Chain          []layer                             `json:"chain"`
	Images         map[string]v1alpha1.ValkeyImageSpec `json:"images"`
	Roles          map[string]v1alpha1.ValkeyRoleSpec  `json:"roles"`
	Operator       operator                            `json:"operator"`
	MemoryBytes    int64                               `json:"memoryBytes,omitempty"`
	OperatorHashes []string                            `json:"operatorHashes"`
	ReplHashes     []string                            `json:"replHashes"`
}

// operator mirrors #Operator.
type operator struct {
	NodeTimeout int    `json:"nodeTimeout"`
	ZoneSpread  string `json:"zoneSpread"`
	RequireACL  bool   `json:"requireACL"`
}

// layer mirrors #Layer. An empty acl list is set all the same: it takes the base's users away.
type layer struct {
	Name string    `json:"name"`
	Spec layerSpec `json:"spec"`
}

type layerSpec struct {
	ImageRef          string                 `json:"imageRef,omitempty"`
	BaseRef           string                 `json:"baseRef,omitempty"`
	Resources         *v1alpha1.Resources    `json:"resources,omitempty"`
	Valkey            map[string]string      `json:"valkey,omitempty"`
	ACL               *[]v1alpha1.AclBinding `json:"acl,omitempty"`
	Tolerations       []v1alpha1.Toleration  `json:"tolerations,omitempty"`
	PriorityClassName string                 `json:"priorityClassName,omitempty"`
}

func fill(in Input) filled {
	return filled{
		Name: in.Name, Namespace: in.Namespace,
		Cluster:        cluster(in.Cluster),
		Chain:          layers(in.Chain.Configs),
		Images:         orEmpty(in.Images),
		Roles:          orEmpty(in.Roles),
		Operator:       in.Operator.filled(),
		MemoryBytes:    memory(in.Chain.Configs),
		OperatorHashes: append([]string{}, in.OperatorHashes...), ReplHashes: append([]string{}, in.ReplHashes...),
	}
}

// defaultNodeTimeout is in milliseconds. Valkey's own 15000 makes a failover take 25 seconds; far less mistakes a busy
// machine for a dead one.
const defaultNodeTimeout = 5000

func (d Defaults) filled() operator {
	return operator{
		NodeTimeout: cmp.Or(d.NodeTimeout, defaultNodeTimeout),
		ZoneSpread:  cmp.Or(d.DefaultZoneSpread, string(v1alpha1.BestEffort)),
		RequireACL:  d.RequireACL,
	}
}

func orEmpty[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}

func cluster(spec v1alpha1.ValkeyClusterSpec) v1alpha1.ValkeyClusterSpec {
	spec.ACL = closed(spec.ACL)
	return spec
}

func layers(configs []NamedConfig) []layer {
	ls := make([]layer, 0, len(configs))
	for _, c := range configs {
		l := layer{c.Name, layerSpec{
			ImageRef: c.Spec.ImageRef, BaseRef: c.Spec.BaseRef, Resources: c.Spec.Resources, Valkey: c.Spec.Valkey,
			Tolerations: c.Spec.Tolerations, PriorityClassName: c.Spec.PriorityClassName,
		}}
		if c.Spec.ACL != nil {
			acl := closed(c.Spec.ACL)
			l.Spec.ACL = &acl
		}
		ls = append(ls, l)
	}
	return ls
}

// closed writes permissions without keys as an empty list, which is what they
// mean, since CUE takes Go's nil for a field that is missing.
func closed(bindings []v1alpha1.AclBinding) []v1alpha1.AclBinding {
	if bindings == nil {
		return nil
	}
	out := make([]v1alpha1.AclBinding, len(bindings))
	for i, b := range bindings {
		permissions := make([]v1alpha1.Permission, len(b.Permissions))
		for j, p := range b.Permissions {
			if p.Keys == nil {
				p.Keys = []v1alpha1.KeyPattern{}
			}
			permissions[j] = p
		}
		b.Permissions = permissions
		out[i] = b
	}
	return out
}

// memory is the nearest memory limit in bytes, 0 when there is none or it
// cannot be read: the schema says what is wrong with it then.
func memory(configs []NamedConfig) int64 {
	for _, c := range configs {
		if c.Spec.Resources == nil || c.Spec.Resources.Memory == "" {
			continue
		}
		q, err := resource.ParseQuantity(c.Spec.Resources.Memory)
		if err != nil {
			return 0
		}
		return q.Value()
	}
	return 0
}
