package engine

import (
	"fmt"
	"slices"
	"strings"
)

// A Rule pairs a condition with the action to take when it holds.
type Rule struct {
	Name     string
	Phase    string
	Priority int // lowest first; unique in a rule set
	When     Condition
	// Then names an action of the registry, or Hold.
	Then string
	// With computes the action's arguments; nil for Hold.
	With Arguments
	// Because is the sentence people read in the Event, the status and the plan.
	Because string
	// Wait is the sentence that says what a holding rule waits for; nil when it says nothing more.
	Wait Sentence
	// Yields says that when the action fails, the rules after this one are asked in the same pass.
	Yields bool
}

// A Failure is a decision whose action failed in this pass.
type Failure struct {
	Rule string
	Err  error
}

// A Condition is asked of the Facts. It must not keep or change them.
type Condition interface {
	Holds(f *Facts) (bool, error)
}

// Arguments computes an action's arguments from the Facts. The value's type is
// the one the action registry names for the action.
type Arguments interface {
	Evaluate(f *Facts) (any, error)
}

// A Sentence is text computed from the Facts.
type Sentence interface {
	Say(f *Facts) (string, error)
}

// Hold is the action that does nothing.
const Hold = "hold"

// A Decision is the single next step, and why.
type Decision struct {
	Action string
	// Args are the action's arguments: a pointer to its struct, nil for Hold.
	Args any
	// Rule is the rule that decided, "" if none held.
	Rule  string
	Phase string
	// Because says why, Waiting for what: both are for people.
	Because, Waiting string
	// Yields says that other rules may be asked if the action fails.
	Yields bool
	// Err is the error of a rule that could not be evaluated. It holds the cluster.
	Err error
	// Asked is every rule asked, in order, the deciding one last.
	Asked []Answer
}

// An Answer records what one rule said.
type Answer struct {
	Rule string
	Held bool
	Err  error
}

// Decide asks the rules in order and takes the first that holds.
//
// A rule that cannot be evaluated stops the search with Hold: a rule that
// cannot be read may be the one that forbids what a later rule would do. A rule
// that yields, and whose action has failed in this pass, is passed over.
func Decide(f *Facts, rules []Rule, failures ...Failure) Decision {
	d := Decision{Action: Hold, Because: "Nothing to do.", Asked: make([]Answer, 0, len(rules))}
	for i := range rules {
		if failed := slices.IndexFunc(failures, func(x Failure) bool { return x.Rule == rules[i].Name }); failed >= 0 {
			d.Asked = append(d.Asked, Answer{Rule: rules[i].Name, Held: true, Err: failures[failed].Err})
			continue
		}
		held, err := rules[i].When.Holds(f)
		d.Asked = append(d.Asked, Answer{Rule: rules[i].Name, Held: held, Err: err})
		if err != nil {
			return d.broken(&rules[i], err)
		}
		if held {
			return d.taken(&rules[i], f)
		}
	}
	return d
}

// broken is the decision when rule r could not be evaluated.
func (d Decision) broken(r *Rule, err error) Decision {
	d.Action, d.Args, d.Rule, d.Phase = Hold, nil, r.Name, r.Phase
	d.Because = "A rule could not be evaluated."
	d.Err = fmt.Errorf("rule %s: %w", r.Name, err)
	return d
}

// taken is the decision when rule r holds.
func (d Decision) taken(r *Rule, f *Facts) Decision {
	d.Action, d.Rule, d.Phase, d.Because, d.Yields = r.Then, r.Name, r.Phase, r.Because, r.Yields
	if r.With != nil {
		args, err := r.With.Evaluate(f)
		if err != nil {
			return d.broken(r, err)
		}
		d.Args = args
	}
	if r.Wait != nil {
		waiting, err := r.Wait.Say(f)
		if err != nil {
			return d.broken(r, err)
		}
		d.Waiting = waiting
	}
	return d
}

// Idle says that no rule held: there is nothing to do and nothing to wait for.
func (d Decision) Idle() bool { return d.Rule == "" }

// Acts says that the decision is to do something.
func (d Decision) Acts() bool { return d.Action != Hold }

// String renders the decision as plans and scenarios show it.
func (d Decision) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, d.headline())
	fmt.Fprintf(&b, "because   %s\n", d.Because)
	if d.Waiting != "" {
		fmt.Fprintf(&b, "waiting   %s\n", d.Waiting)
	}
	if d.Err != nil {
		fmt.Fprintf(&b, "error     %v\n", d.Err)
	}
	if len(d.Asked) > 0 {
		fmt.Fprintf(&b, "asked     %s\n", d.asked())
	}
	return b.String()
}

func (d Decision) headline() string {
	line := d.Action
	if s, ok := d.Args.(fmt.Stringer); ok {
		line += " " + s.String()
	}
	if d.Rule != "" {
		line += " (rule " + d.Rule + ")"
	}
	return line
}

// asked names the rules that said no before the one that decided.
func (d Decision) asked() string {
	said := make([]string, 0, len(d.Asked))
	for _, a := range d.Asked {
		said = append(said, a.Rule+"="+a.verdict())
	}
	return strings.Join(slices.Compact(said), " ")
}

func (a Answer) verdict() string {
	switch {
	case a.Err != nil:
		return "error"
	case a.Held:
		return "yes"
	default:
		return "no"
	}
}
