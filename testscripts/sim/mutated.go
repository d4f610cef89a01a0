package sim

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing/fstest"

	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/ruleset"
)

// compiled are the conditions of mutants, by the mutant's name. They are compiled as the rules of one table, since to load a
// table for each would take longer than to try them.
func compiled(own fs.FS, all []mutant) (map[string]engine.Condition, error) {
	schema, err := fs.ReadFile(own, "rules/rule.cue")
	if err != nil {
		return nil, fmt.Errorf("read the rules' schema: %w", err)
	}
	module, err := fs.ReadFile(own, "cue.mod/module.cue")
	if err != nil {
		return nil, fmt.Errorf("read the module: %w", err)
	}
	var table strings.Builder
	table.WriteString("package rules\n")
	names := map[string]string{}
	for _, m := range all {
		if m.when != "" {
			name := fmt.Sprintf("mutant-%d", len(names))
			fmt.Fprintf(&table, "rules: %q: {phase: %q, priority: %d, when: %q, then: \"hold\", because: \"A mutant.\"}\n",
				name, phaseOf(len(names)), len(names), m.when)
			names[name] = m.name
		}
	}
	rules, err := ruleset.Load(fstest.MapFS{
		"cue.mod/module.cue": {Data: module}, "rules/rule.cue": {Data: schema}, "rules/mutants.cue": {Data: []byte(table.String())},
	}, func(string) any { return nil })
	conditions := map[string]engine.Condition{}
	for _, r := range rules {
		conditions[names[r.Name]] = r.When
	}
	return conditions, err
}

// phaseOf is the phase whose band of priorities has the number.
func phaseOf(priority int) string {
	switch {
	case priority < 100:
		return "lifecycle"
	case priority < 200:
		return "objects"
	case priority < 400:
		return "stability"
	case priority < 600:
		return "topology"
	case priority < 800:
		return "updates"
	}
	return "cleanup"
}

// rules are the operator's, with what is wrong in the mutant.
func (m mutant) rules(own []engine.Rule, conditions map[string]engine.Condition) []engine.Rule {
	rules := slices.Clone(own)
	at := slices.IndexFunc(rules, func(r engine.Rule) bool { return r.Name == m.rule })
	switch {
	case at < 0:
	case m.when != "":
		rules[at].When = conditions[m.name]
	case at > 0:
		rules[at-1], rules[at] = rules[at], rules[at-1]
	}
	return rules
}

// eagerly are rules with one asked before all others. It must not matter to anybody's safety, since a rule that acts states
// all of its own conditions; what one of these is good for shows only so where another rule would mostly have decided before.
func eagerly(rules []engine.Rule, name string) []engine.Rule {
	rules = slices.Clone(rules)
	slices.SortStableFunc(rules, func(a, b engine.Rule) int {
		switch {
		case a.Name == name && b.Name != name:
			return -1
		case b.Name == name && a.Name != name:
			return 1
		}
		return 0
	})
	return rules
}

// marks are the mutants that would decide something else than the operator in the script under way. Until then both do the
// same, so that one that is not among them need not be tried in the script.
type marks struct {
	mu   sync.Mutex
	set  map[string]bool
	wary map[string][]wary // by the rule that is asked
	// eager are those that would if their rule were asked first.
	eager map[string]bool
	own   map[string]engine.Condition
	begin string // the rule that is asked first
}

// A wary condition would make a mutant decide otherwise when the rule that is asked says what it says.
type wary struct {
	mutant string
	held   bool
	when   engine.Condition
}

func newMarks(all []mutant, own []engine.Rule, conditions map[string]engine.Condition) *marks {
	m := &marks{set: map[string]bool{}, eager: map[string]bool{}, wary: map[string][]wary{}, own: map[string]engine.Condition{}, begin: own[0].Name}
	for _, r := range own {
		m.own[r.Name] = r.When
	}
	for _, one := range all {
		if one.when != "" {
			m.wary[one.rule] = append(m.wary[one.rule], wary{one.name, false, conditions[one.name]})
		} else if one.other != "" {
			at := slices.IndexFunc(own, func(r engine.Rule) bool { return r.Name == one.rule })
			m.wary[one.other] = append(m.wary[one.other], wary{one.name, true, own[at].When})
		}
	}
	return m
}

// asked notes which mutants would go on otherwise now.
func (m *marks) asked(rule string, held bool, f *engine.Facts) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if rule == m.begin {
		m.askFirst(f)
	}
	for _, w := range m.wary[rule] {
		if w.held != held || m.set[w.mutant] {
			continue
		}
		if holds, err := w.when.Holds(f); holds || err != nil {
			m.set[w.mutant] = true
		}
	}
}

// askFirst notes which mutants would decide where their rule does not.
func (m *marks) askFirst(f *engine.Facts) {
	for rule, all := range m.wary {
		for _, w := range all {
			if w.held || m.eager[w.mutant] {
				continue
			}
			if holds, err := w.when.Holds(f); !holds || err != nil {
				continue
			}
			own, err := m.own[rule].Holds(f)
			m.eager[w.mutant] = err == nil && !own
		}
	}
}
