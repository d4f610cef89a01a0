package sim

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing/fstest"
)

// A mutant is the rule table with one condition left out of one rule.
type mutant struct {
	rule, without string
	file          string
	at            int // of the whole condition in the file
	was, is       string
}

// String says what is left out.
func (m mutant) String() string { return fmt.Sprintf("%s without %q", m.rule, m.without) }

// mutants are all there are, in the order of the files.
func mutants(files fs.FS) ([]mutant, error) {
	tables, err := fs.Glob(files, "rules/*.cue")
	if err != nil {
		return nil, fmt.Errorf("find rule tables: %w", err)
	}
	slices.Sort(tables)
	var all []mutant
	for _, file := range tables {
		text, err := fs.ReadFile(files, file)
		if err != nil {
			return nil, fmt.Errorf("read rules: %w", err)
		}
		all = append(all, mutantsOf(file, string(text))...)
	}
	return all, nil
}

// mutantsOf finds conditions by the two lines that every rule has: rules: "NAME": { and when: "CONDITION".
func mutantsOf(file, text string) []mutant {
	var all []mutant
	rule, at := "", 0
	for line := range strings.Lines(text) {
		if name, found := strings.CutPrefix(line, `rules: "`); found {
			rule, _, _ = strings.Cut(name, `"`)
		}
		if when, found := strings.CutPrefix(strings.TrimSpace(line), `when:`); found && rule != "" {
			when = strings.Trim(strings.TrimSpace(when), `"`)
			for i, part := range conjuncts(when) {
				rest := slices.Delete(conjuncts(when), i, i+1)
				if len(rest) > 0 {
					all = append(all, mutant{
						rule: rule, without: part, file: file, at: at + strings.Index(line, when), was: when, is: strings.Join(rest, " && "),
					})
				}
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

// files are the operator's with the mutant's table in the place of its own.
func (m mutant) files(own fs.FS) (fs.FS, error) {
	out := fstest.MapFS{}
	err := fs.WalkDir(own, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".cue" {
			return err
		}
		text, err := fs.ReadFile(own, name)
		if name == m.file {
			changed := string(text[:m.at]) + m.is + string(text[m.at+len(m.was):])
			text = []byte(changed)
		}
		out[name] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("copy the rules: %w", err)
	}
	return out, nil
}
