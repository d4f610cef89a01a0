package derivation

import (
	"cmp"
	"slices"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
)

// output mirrors #Derive.out.
type output struct {
	Problems          []Finding             `json:"problems"`
	Warnings          []Finding             `json:"warnings"`
	ImageRef          string                `json:"imageRef"`
	Image             string                `json:"image"`
	Version           string                `json:"version"`
	PullSecrets       []string              `json:"pullSecrets"`
	CPU               string                `json:"cpu"`
	Memory            string                `json:"memory"`
	Tolerations       []v1alpha1.Toleration `json:"tolerations"`
	PriorityClassName string                `json:"priorityClassName"`
	Settings          map[string]string     `json:"settings"`
	Conf              string                `json:"conf"`
	ACL               struct {
		Open     bool   `json:"open"`
		File     string `json:"file"`
		Revision string `json:"revision"`
	} `json:"acl"`
	Placement struct {
		Zones        []string          `json:"zones"`
		ZoneSpread   string            `json:"zoneSpread"`
		NodeSelector map[string]string `json:"nodeSelector"`
	} `json:"placement"`
}

// result turns what CUE derived into what the engine compares.
func (o output) result(in Input) result {
	d := known(in)
	if len(o.Problems) > 0 {
		d.Reason, d.Problem = o.Problems[0].Reason, o.Problems[0].Message
	}
	d.Warnings = warnings(o.Warnings)
	d.Node = engine.NodeSpec{
		Image: o.Image, CPU: o.CPU, Memory: o.Memory, Settings: o.Settings,
		Placement: engine.Placement{Zones: o.Placement.Zones, ZoneSpread: o.Placement.ZoneSpread, NodeSelector: o.Placement.NodeSelector},
	}
	if in.Cluster.TLS != nil {
		d.Node.TLSSecret = in.Cluster.TLS.SecretRef
	}
	d.Version, d.Conf = o.Version, o.Conf
	d.ACLFile, d.ACLRevision, d.OpenDefault = o.ACL.File, o.ACL.Revision, o.ACL.Open
	return result{d, Extras{PullSecrets: o.PullSecrets, Tolerations: o.Tolerations, PriorityClassName: o.PriorityClassName}}
}

// refused is the result when the specs do not get as far as a derivation.
func refused(in Input, reason, problem string) result {
	d := known(in)
	d.Reason, d.Problem = reason, problem
	return result{desired: d}
}

// known is what needs no derivation.
func known(in Input) engine.Desired {
	return engine.Desired{
		Topology:           engine.Topology{Shards: int(in.Cluster.Shards), ReplicasPerShard: int(in.Cluster.ReplicasPerShard)},
		PodAnnotations:     in.Cluster.PodAnnotations,
		FormingNodeTimeout: formingNodeTimeout,
	}
}

func warnings(found []Finding) []engine.Warning {
	ws := make([]engine.Warning, 0, len(found))
	for _, f := range found {
		ws = append(ws, engine.Warning{Reason: f.Reason, Message: f.Message})
	}
	slices.SortFunc(ws, func(a, b engine.Warning) int {
		return cmp.Or(cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(ws)
}
