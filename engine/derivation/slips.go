package derivation

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
)

// booleans are the words that YAML 1.1, which Kubernetes reads, has for true and false and CUE takes for strings: the
// values of many directives among them.
var booleans = map[string]bool{"y": true, "yes": true, "on": true, "n": false, "no": false, "off": false}

// A slipReader walks a document as CUE has read it beside its text.
type slipReader struct {
	lines [][]byte
	found []Fault
}

// slipsOf finds words that Kubernetes takes for booleans, and fields that are there twice. Of those it keeps the first
// in expr: CUE would unify them.
func slipsOf(expr ast.Expr, content []byte) []Fault {
	r := &slipReader{lines: bytes.Split(content, []byte("\n"))}
	r.read(expr, nil)
	return r.found
}

func (r *slipReader) read(expr ast.Expr, path []string) {
	switch x := expr.(type) {
	case *ast.StructLit:
		r.readFields(x, path)
	case *ast.ListLit:
		for i, item := range x.Elts {
			r.read(item, append(slices.Clip(path), strconv.Itoa(i)))
		}
	case *ast.BasicLit:
		r.readWord(x, path)
	}
}

func (r *slipReader) readFields(x *ast.StructLit, path []string) {
	seen := map[string]bool{}
	x.Elts = slices.DeleteFunc(x.Elts, func(decl ast.Decl) bool {
		field, ok := decl.(*ast.Field)
		if !ok {
			return false
		}
		name, _, err := ast.LabelName(field.Label)
		if err != nil {
			return false
		}
		inside := append(slices.Clip(path), name)
		if seen[name] {
			r.say(field.Label, inside, "is written twice; write it once")
			return true
		}
		seen[name] = true
		r.read(field.Value, inside)
		return false
	})
}

func (r *slipReader) readWord(x *ast.BasicLit, path []string) {
	word, err := literal.Unquote(x.Value)
	if err != nil {
		return // no string
	}
	value, known := booleans[strings.ToLower(word)]
	if known && bytes.HasPrefix(r.from(placeOf(x.Pos())), []byte(word)) {
		r.say(x, path, fmt.Sprintf("write %q in quotes: without, Kubernetes takes it for %t", word, value))
	}
}

// from is the text of a line from a place on: quotes stand there, if there are any.
func (r *slipReader) from(p Place) []byte {
	if p.Line < 1 || p.Line > len(r.lines) || p.Column < 1 || p.Column > len(r.lines[p.Line-1]) {
		return nil
	}
	return r.lines[p.Line-1][p.Column-1:]
}

func (r *slipReader) say(node ast.Node, path []string, said string) {
	r.found = append(r.found, Fault{At: placeOf(node.Pos()), Field: strings.Join(path, "."), Said: said})
}
