package derivation

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"
)

// A Schema checks single manifests, as `cue vet` does with the package cue/vet. It is not safe for concurrent use.
type Schema struct {
	context *cue.Context
	object  cue.Value
}

// LoadSchema compiles the schema of the CUE module in fsys, whose root is cue/.
func LoadSchema(fsys fs.FS) (*Schema, error) {
	ctx := cuecontext.New()
	v, err := compile(ctx, fsys, "vet", nil)
	if err != nil {
		return nil, fmt.Errorf("load the schema: %w", err)
	}
	return &Schema{ctx, v.LookupPath(cue.ParsePath("#Object"))}, nil
}

// Check says all that is wrong with a manifest by itself, in no order: CUE shows the first mistake in a list or a map, so it
// is asked again, with holes in place of what it has shown, until it finds nothing new.
func (s *Schema) Check(m Manifest) []Fault {
	faults := slices.Clone(m.slips.twice)
	holes := map[string]bool{}
	for found := s.errors(m.value); len(found) > 0; found = s.hidden(m, holes) {
		for _, e := range found {
			faults = append(faults, m.fault(e))
			holes[joined(unquoted(manifestPath(e)))] = true
		}
	}
	return faults
}

func (s *Schema) errors(manifest cue.Value) []cueerrors.Error {
	return cueerrors.Errors(s.object.Unify(manifest).Validate(cue.Concrete(true)))
}

// hidden are the errors that those at the holes have hidden: about what is written in a list or a map of the spec, and so
// three labels deep. What is missing, or cannot be compared, may be so because of a hole.
func (s *Schema) hidden(m Manifest, holes map[string]bool) []cueerrors.Error {
	return slices.DeleteFunc(slices.Clone(s.errors(s.without(m, holes))), func(e cueerrors.Error) bool {
		path := unquoted(manifestPath(e))
		return len(path) < 3 || holes[joined(path)] || !m.find(path...).Exists()
	})
}

// without is the manifest with holes in place of some fields.
func (s *Schema) without(m Manifest, holes map[string]bool) cue.Value {
	expr, ok := m.value.Source().(ast.Expr)
	if !ok {
		return m.value
	}
	return s.context.BuildExpr(hollow(expr, nil, holes))
}

// manifestPath is where an error is, without the definitions of the schema.
func manifestPath(e cueerrors.Error) []string {
	return slices.DeleteFunc(slices.Clone(e.Path()), func(label string) bool { return strings.HasPrefix(label, "#") })
}

// fault is an error of CUE at its place in the manifest: CUE also names places of the schema, which help nobody here.
func (m Manifest) fault(e cueerrors.Error) Fault {
	path := manifestPath(e)
	format, args := e.Msg()
	f := Fault{At: m.At(unquoted(path)...), Field: strings.Join(path, "."), Said: fmt.Sprintf(format, args...)}
	for _, pos := range append([]token.Pos{e.Position()}, e.InputPositions()...) {
		if pos.Filename() == m.start.File && pos.Line() > 0 {
			f.At = placeOf(pos)
			break
		}
	}
	if word := m.bare(f.At, unquoted(path)); word != "" && strings.HasPrefix(f.Said, "must ") {
		f.Said = fmt.Sprintf("%s is no string without quotes; %s", word, f.Said)
	}
	return f
}

// bare is a number or a boolean as it is written, "" for anything else. All that the API asks for in a sentence are strings,
// and the sentence alone would mislead whoever has left out the quotes.
func (m Manifest) bare(at Place, path []string) string {
	if word, read := m.slips.words[at]; read {
		return word
	}
	found := m.find(path...)
	if found.IncompleteKind()&(cue.BoolKind|cue.NumberKind) == 0 {
		return ""
	}
	return fmt.Sprint(found)
}

// unquoted are labels without the quotes that CUE puts around some.
func unquoted(labels []string) []string {
	plain := make([]string, len(labels))
	for i, label := range labels {
		plain[i] = label
		if text, err := strconv.Unquote(label); err == nil {
			plain[i] = text
		}
	}
	return plain
}

// fields is the path that labels make: those of digits lead into lists.
func fields(labels []string) cue.Path {
	selectors := make([]cue.Selector, len(labels))
	for i, label := range labels {
		if n, err := strconv.Atoi(label); err == nil && n >= 0 {
			selectors[i] = cue.Index(n)
		} else {
			selectors[i] = cue.Str(label)
		}
	}
	return cue.MakePath(selectors...)
}
