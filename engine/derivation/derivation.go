// Package derivation computes what a cluster's servers run by evaluating the
// CUE in cue/derive.
//
// It and engine/ruleset are the only importers of CUE. It holds no rule of its
// own: which setting wins, which words an error has and what an ACL line looks
// like is CUE's to say. It must not read Kubernetes or Valkey: whatever counts
// is in Input, so that equal inputs give equal results.
package derivation

import (
	"fmt"
	"sync"
	"sync/atomic"

	"cuelang.org/go/cue"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
)

// Input is everything a derivation depends on.
type Input struct {
	Name, Namespace string
	Cluster         v1alpha1.ValkeyClusterSpec
	// Chain is Walk's result for the cluster's configRef.
	Chain  Chain
	Images map[string]v1alpha1.ValkeyImageSpec
	Roles  map[string]v1alpha1.ValkeyRoleSpec
	// Operator is the operator's own configuration.
	Operator Defaults
	// OperatorHashes and ReplHashes are the SHA-256 of the passwords that the
	// system users may have, 64 lowercase hex characters each. Without them the
	// system users are off.
	OperatorHashes, ReplHashes []string
	// TLSProblem is what a check of the TLS Secret found, "" when nothing. It
	// becomes the Problem when nothing else is wrong.
	TLSProblem string
}

// Defaults are the operator's settings that hold for every cluster.
type Defaults struct {
	// NodeTimeout is cluster-node-timeout in milliseconds, 0 for Valkey's usual 5000.
	NodeTimeout int
	// DefaultZoneSpread is bestEffort or required, "" for bestEffort.
	DefaultZoneSpread string
	// ClusterDomain is the DNS domain of the Kubernetes cluster. Addresses are
	// given per pod, so nothing derived depends on it; policies may read it.
	ClusterDomain string
	// RequireACL refuses clusters whose default user would be open.
	RequireACL bool
}

// Extras are what a cluster's Pods get that engine.NodeSpec does not compare.
type Extras struct {
	PullSecrets       []string
	Tolerations       []v1alpha1.Toleration
	PriorityClassName string
}

// formingNodeTimeout makes servers learn of each other in a quarter of a second
// and leaves the wait after the first slots at half a second, Valkey's least
// (clamp of cluster-node-timeout in clusterUpdateState), instead of five.
const formingNodeTimeout = "500"

// A Deriver derives clusters. It is safe for concurrent use.
type Deriver struct {
	program program
	memo    memo
	// evaluating guards CUE evaluation, one at a time: two at once gain nothing
	// on few cores and double the peak of garbage.
	evaluating sync.Mutex
	wanted     atomic.Pointer[[]string]
}

// Derive computes what the cluster in ought to run. What is wrong with the
// specs is Desired.Problem; an error says that the CUE program itself is broken.
// Results are shared between callers and must not be changed.
func (d *Deriver) Derive(in Input) (engine.Desired, Extras, error) {
	key, err := in.key()
	if err != nil {
		return engine.Desired{}, Extras{}, fmt.Errorf("derive %s/%s: %w", in.Namespace, in.Name, err)
	}
	if r, ok := d.memo.find(key); ok {
		return r.desired, r.extras, nil
	}
	d.evaluating.Lock()
	defer d.evaluating.Unlock()
	if r, ok := d.memo.find(key); ok {
		return r.desired, r.extras, nil
	}
	r, err := d.evaluate(in, fill(in))
	if err != nil {
		return engine.Desired{}, Extras{}, fmt.Errorf("derive %s/%s: %w", in.Namespace, in.Name, err)
	}
	d.want(r.desired.Node.Settings)
	d.memo.keep(key, r)
	return r.desired, r.extras, nil
}

// evaluate asks CUE: first whether the input is well formed, so that one bad
// field is one problem, then for the derivation, then the policies.
func (d *Deriver) evaluate(in Input, filled filled) (result, error) {
	if reason, problem := d.program.unfit(in, filled); problem != "" {
		return refused(in, reason, problem), nil
	}
	out, err := d.program.run(filled)
	if err != nil {
		return result{}, err
	}
	r := out.result(in)
	r.desired.Live = d.program.directives.Kept
	if r.desired.Problem == "" {
		r.desired.Reason, r.desired.Problem = d.program.violation(in, out)
	}
	if r.desired.Problem == "" && in.TLSProblem != "" {
		r.desired.Reason, r.desired.Problem = "TLSInvalid", in.TLSProblem
	}
	return r, nil
}

// unfit says why an input is no subject of a derivation, "" when it is one.
func (p program) unfit(in Input, filled filled) (reason, problem string) {
	if in.Chain.Problem != "" {
		return in.Chain.Reason, in.Chain.Problem
	}
	if err := p.input.FillPath(cue.Path{}, filled).Validate(cue.Concrete(true), cue.Final()); err != nil {
		return "InvalidSpec", inputProblem(err, filled)
	}
	return "", ""
}

func (p program) run(filled filled) (output, error) {
	derived := p.derive.FillPath(inPath, filled)
	if err := derived.Validate(cue.Concrete(true), cue.Final()); err != nil {
		return output{}, programError(err)
	}
	var out output
	if err := derived.LookupPath(outPath).Decode(&out); err != nil {
		return output{}, programError(err)
	}
	return out, nil
}
