package derivation

// A Finding is a problem or a warning with what it is about; it mirrors #Problem of cue/derive.
type Finding struct {
	// Reason is one word, as in conditions, and Message a sentence.
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Config, Image and Role name an object of the menu, "" when it is about none.
	Config string `json:"config"`
	Image  string `json:"image"`
	Role   string `json:"role"`
	// Directive is one that a config sets, as it spells it.
	Directive string `json:"directive"`
	// User is a username of the merged ACL bindings.
	User string `json:"user"`
	// Field is the path of a field from the root of that object or, if there is none, of the cluster.
	Field string `json:"field"`
}

// Review says all that is wrong with a cluster's specs and what they warn of, where Derive stops at the first problem: what
// a person wants who can still mend the manifests. Where nothing can be derived, policies see the manifest alone, as they do
// with `cue vet`. An error says that the CUE program itself is broken.
func (d *Deriver) Review(in Input) (problems, warnings []Finding, err error) {
	d.evaluating.Lock()
	defer d.evaluating.Unlock()
	filled := fill(in)
	if reason, problem := d.program.unfit(in, filled); problem != "" {
		unfit := Finding{Reason: reason, Message: problem, Field: "spec.configRef"}
		if n := len(in.Chain.Configs); n > 0 && in.Chain.Problem != "" {
			unfit.Config, unfit.Field = in.Chain.Configs[n-1].Name, "spec.baseRef"
		}
		return append([]Finding{unfit}, d.program.violations(subjectOf(in))...), nil, nil
	}
	out, err := d.program.run(filled)
	if err != nil {
		return nil, nil, err
	}
	subject := subjectOf(in)
	if len(out.Problems) == 0 {
		subject.Derived = derivedOf(in, out)
	}
	if out.ACL.Open && !in.Operator.RequireACL {
		out.Warnings = append(out.Warnings, openDefault)
	}
	return append(out.Problems, d.program.violations(subject)...), out.Warnings, nil
}

// openDefault is a condition of its own in a running cluster, and no warning of the derivation.
var openDefault = Finding{
	Reason:  "DefaultUserOpen",
	Message: "no ACL binding: the default user is open, and anyone who reaches the servers may do anything",
	Field:   "spec.acl",
}
