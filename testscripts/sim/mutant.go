package sim

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing/fstest"
)

// A mutant is the operator with one thing wrong: a rule without one of its conditions, two neighbouring rules in the wrong
// order, or an action without one of its preconditions.
type mutant struct {
	name string
	// rule has the condition when instead of its own; or it is asked before the other.
	rule, other string
	when        string
	// edits are what is wrong with the rules, in their order; none of them overlap.
	edits []edit
	// precondition is the number of what an action does without, 0 for nothing. Only a program that testscripts/sim/mutate
	// has prepared knows them.
	precondition int
}

// An edit puts one text in the place of another in a file.
type edit struct {
	file    string
	at      int
	was, is string
}

// A rule is what mutants need to know of one.
type rule struct {
	name, phase    string
	priority, when edit // is is empty
}

// conditions are the mutants that leave out one condition of one rule, and orders those that swap two neighbours of one phase.
func conditions(files fs.FS) ([]mutant, error) {
	rules, err := rulesOf(files)
	var all []mutant
	for _, r := range rules {
		parts := conjuncts(r.when.was)
		for i, part := range parts {
			if rest := slices.Delete(slices.Clone(parts), i, i+1); len(rest) > 0 {
				e := r.when
				e.is = strings.Join(rest, " && ")
				all = append(all, mutant{name: fmt.Sprintf("%s without %q", r.name, part), rule: r.name, when: e.is, edits: []edit{e}})
			}
		}
	}
	return all, err
}

func orders(files fs.FS) ([]mutant, error) {
	rules, err := rulesOf(files)
	slices.SortFunc(rules, func(a, b rule) int { return number(a.priority.was) - number(b.priority.was) })
	var all []mutant
	for i := range len(rules) - 1 {
		first, second := rules[i], rules[i+1]
		if first.phase != second.phase {
			continue
		}
		a, b := first.priority, second.priority
		a.is, b.is = b.was, a.was
		all = append(all, mutant{name: second.name + " before " + first.name, rule: second.name, other: first.name, edits: []edit{a, b}})
	}
	return all, err
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// rulesOf are the rules in the order of the files, which bear one field a line.
func rulesOf(files fs.FS) ([]rule, error) {
	tables, err := fs.Glob(files, "rules/*.cue")
	if err != nil {
		return nil, fmt.Errorf("find rule tables: %w", err)
	}
	slices.Sort(tables)
	var all []rule
	for _, file := range tables {
		text, err := fs.ReadFile(files, file)
		if err != nil {
			return nil, fmt.Errorf("read rules: %w", err)
		}
		all = append(all, rulesIn(file, string(text))...)
	}
	return all, nil
}

func rulesIn(file, text string) []rule {
	var all []rule
	at := 0
	for line := range strings.Lines(text) {
		if name, found := strings.CutPrefix(line, `rules: "`); found {
			name, _, _ = strings.Cut(name, `"`)
			all = append(all, rule{name: name})
		}
		if field, value, found := strings.Cut(strings.TrimSpace(line), ":"); found && len(all) > 0 {
			value = strings.Trim(strings.TrimSpace(value), `"`)
			e := edit{file: file, at: at + strings.Index(line, value), was: value}
			switch last := &all[len(all)-1]; field {
			case "phase":
				last.phase = value
			case "priority":
				last.priority = e
			case "when":
				last.when = e
			}
		}
		at += len(line)
	}
	return all
}

// conjuncts are the parts of a condition that && joins outside of brackets.
func conjuncts(when string) []string {
	var parts []string
	depth, from := 0, 0
	for i := range len(when) {
		switch {
		case when[i] == '(' || when[i] == '[':
			depth++
		case when[i] == ')' || when[i] == ']':
			depth--
		case depth == 0 && strings.HasPrefix(when[i:], " && "):
			parts = append(parts, when[from:i])
			from = i + len(" && ")
		}
	}
	return append(parts, when[from:])
}

// files are the operator's CUE files, with what is wrong in the mutant.
func (m mutant) files(own fs.FS) (fstest.MapFS, error) {
	out := fstest.MapFS{}
	err := fs.WalkDir(own, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".cue" {
			return err
		}
		text, err := fs.ReadFile(own, name)
		out[name] = &fstest.MapFile{Data: []byte(m.edited(name, string(text)))}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("copy the rules: %w", err)
	}
	return out, nil
}

// edited is the file with the mutant's edits, from the last to the first, so that none moves another.
func (m mutant) edited(file, text string) string {
	edits := slices.Clone(m.edits)
	slices.SortFunc(edits, func(a, b edit) int { return b.at - a.at })
	for _, e := range edits {
		if e.file == file {
			text = text[:e.at] + e.is + text[e.at+len(e.was):]
		}
	}
	return text
}
