package derivation

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	cueerrors "cuelang.org/go/cue/errors"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// policy is one file of the platform's, compiled together with cue/policy.
type policy struct {
	file  string
	value cue.Value
}

// loadPolicies compiles each policy by itself, so that a violation is known by its file.
func loadPolicies(ctx *cue.Context, fsys, policies fs.FS) ([]policy, error) {
	if policies == nil {
		return nil, nil
	}
	names, err := fs.Glob(policies, "*.cue")
	if err != nil {
		return nil, fmt.Errorf("read policies: %w", err)
	}
	var ps []policy
	for _, name := range names {
		content, err := fs.ReadFile(policies, name)
		if err != nil {
			return nil, fmt.Errorf("read policy: %w", err)
		}
		v, err := compile(ctx, fsys, "policy", &source{name, content})
		if err != nil {
			return nil, fmt.Errorf("policy %s: %w", name, err)
		}
		ps = append(ps, policy{name, v})
	}
	return ps, nil
}

// subject mirrors what cue/policy declares: the cluster as its manifest, and what it derives to.
type subject struct {
	APIVersion string                     `json:"apiVersion"`
	Kind       string                     `json:"kind"`
	Metadata   metadata                   `json:"metadata"`
	Spec       v1alpha1.ValkeyClusterSpec `json:"spec"`
	Derived    *derived                   `json:"derived,omitempty"`
}

type metadata struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

type derived struct {
	Configs       []string          `json:"configs"`
	ImageRef      string            `json:"imageRef"`
	Image         string            `json:"image"`
	Version       string            `json:"version"`
	CPU           string            `json:"cpu,omitempty"`
	Memory        string            `json:"memory,omitempty"`
	MemoryBytes   int64             `json:"memoryBytes,omitempty"`
	Settings      map[string]string `json:"settings"`
	OpenDefault   bool              `json:"openDefault"`
	ClusterDomain string            `json:"clusterDomain"`
}

// violation words what any policy forbids about the cluster, "" when none does.
func (p program) violation(in Input, out output) (reason, problem string) {
	s := subjectOf(in)
	s.Derived = derivedOf(in, out)
	var clauses []string
	for _, v := range p.violations(s) {
		clauses = append(clauses, v.Message)
	}
	if len(clauses) == 0 {
		return "", ""
	}
	return policyViolation, shorten(strings.Join(clauses, "; "))
}

const policyViolation = "PolicyViolation"

// violations unifies the cluster with every policy: one finding for each thing that is forbidden.
func (p program) violations(s subject) []Finding {
	var found []Finding
	for _, pol := range p.policies {
		if err := pol.value.FillPath(cue.Path{}, s).Validate(cue.Concrete(true), cue.Final()); err != nil {
			found = append(found, pol.findings(err)...)
		}
	}
	return found
}

// findings name field and policy for each thing that is forbidden. Where CUE
// also lists what else a field could have been, only the policy's own word counts.
func (p policy) findings(err error) []Finding {
	var own, all []Finding
	for _, e := range cueerrors.Errors(err) {
		format, args := e.Msg()
		field := strings.Join(e.Path(), ".")
		f := Finding{
			Reason: policyViolation, Field: field,
			Message: fmt.Sprintf("%s: %s (policy %s)", field, fmt.Sprintf(format, args...), p.file),
		}
		all = append(all, f)
		if e.Position().Filename() == p.file {
			own = append(own, f)
		}
	}
	if len(own) == 0 {
		own = all
	}
	slices.SortFunc(own, func(a, b Finding) int { return cmp.Compare(a.Message, b.Message) })
	return slices.Compact(own)
}

// subjectOf is the manifest alone.
func subjectOf(in Input) subject {
	return subject{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "ValkeyCluster",
		Metadata: metadata{in.Name, in.Namespace},
		Spec:     cluster(in.Cluster),
	}
}

func derivedOf(in Input, out output) *derived {
	configs := make([]string, 0, len(in.Chain.Configs))
	for _, c := range in.Chain.Configs {
		configs = append(configs, c.Name)
	}
	return &derived{
		Configs: configs, ImageRef: out.ImageRef, Image: out.Image, Version: out.Version, CPU: out.CPU, Memory: out.Memory,
		MemoryBytes: memory(in.Chain.Configs), Settings: out.Settings, OpenDefault: out.ACL.Open, ClusterDomain: in.Operator.ClusterDomain,
	}
}
