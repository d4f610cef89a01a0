// Package ruleset turns the CUE rule table into engine rules.
//
// CUE checks the shape of the rules; expr-lang type-checks each condition
// against engine.Facts and each argument against the action that takes it.
// All of it happens once, at start: a rule set that loads cannot misname a
// fact, an action or an argument.
package ruleset

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/load"

	"valkey.gomomento.com/operator/engine"
)

// Actions makes an empty action by its name: a pointer to a struct whose
// arguments are the exported fields with an expr tag. It returns nil for a name
// that is no action.
type Actions func(name string) any

// row is one rule as CUE holds it.
type row struct {
	Name     string            `json:"name"`
	Phase    string            `json:"phase"`
	Priority int               `json:"priority"`
	When     string            `json:"when"`
	Then     string            `json:"then"`
	With     map[string]string `json:"with"`
	Because  string            `json:"because"`
	Wait     string            `json:"wait"`
	Yields   bool              `json:"yields"`
}

// Load reads package ./rules of the CUE module at the root of fsys and returns
// its rules in the order they are to be asked. The error names every fault it
// found, each with file, line and column.
func Load(fsys fs.FS, actions Actions) ([]engine.Rule, error) {
	inst := load.Instances([]string{"./rules"}, &load.Config{FS: fsys})[0]
	if inst.Err != nil {
		return nil, explain(inst.Err)
	}
	root := cuecontext.New().BuildInstance(inst)
	if err := root.Validate(cue.Concrete(true)); err != nil {
		return nil, explain(err)
	}
	table := root.LookupPath(cue.ParsePath("rules"))
	var rows map[string]row
	if err := table.Decode(&rows); err != nil {
		return nil, explain(err)
	}
	return compileAll(table, rows, actions)
}

func compileAll(table cue.Value, rows map[string]row, actions Actions) ([]engine.Rule, error) {
	var rules []engine.Rule
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		rule, err := compile(rows[name], actions)
		if err != nil {
			at := table.LookupPath(cue.MakePath(cue.Str(name), cue.Str("when"))).Pos()
			faults = append(faults, fmt.Errorf("%s: rule %s: %w", at, name, err))
			continue
		}
		rules = append(rules, rule)
	}
	slices.SortFunc(rules, func(a, b engine.Rule) int { return cmp.Compare(a.Priority, b.Priority) })
	return rules, errors.Join(faults...)
}

// explain spells out every CUE error with its position, not only the first.
func explain(err error) error {
	return fmt.Errorf("load rules:\n%s", cueerrors.Details(err, nil))
}
