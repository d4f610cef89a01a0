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

// booleans are the words that YAML 1.1, which Kubernetes reads, has for true and false and CUE takes for strings. Values of
// many directives are among them.
var booleans = map[string]bool{"y": true, "yes": true, "on": true, "n": false, "no": false, "off": false}

// slips are what Kubernetes reads in another way than CUE.
type slips struct {
	// twice are fields that are there more than once, which CUE would unify.
	twice []Fault
	// words are those that Kubernetes takes for booleans, by where they stand.
	words map[Place]string
}

// under are the slips in an item of a list, as its own.
func (s slips) under(path string) slips {
	item := slips{words: s.words}
	for _, f := range s.twice {
		if field, found := strings.CutPrefix(f.Field, path+"."); found {
			f.Field = field
			item.twice = append(item.twice, f)
		}
	}
	return item
}

// A slipReader walks a document as CUE has read it, beside its text.
type slipReader struct {
	lines [][]byte
	found slips
}

// mend makes expr what Kubernetes would read: words become booleans, and of a field that is there twice the first stays.
func mend(expr ast.Expr, content []byte) slips {
	r := &slipReader{lines: bytes.Split(content, []byte("\n")), found: slips{words: map[Place]string{}}}
	r.read(expr, nil)
	return r.found
}

// read mends what is in expr and returns it, or what stands for it.
func (r *slipReader) read(expr ast.Expr, path []string) ast.Expr {
	switch x := expr.(type) {
	case *ast.StructLit:
		r.readFields(x, path)
	case *ast.ListLit:
		for i, item := range x.Elts {
			x.Elts[i] = r.read(item, inside(path, strconv.Itoa(i)))
		}
	case *ast.BasicLit:
		return r.readWord(x)
	}
	return expr
}

func inside(path []string, label string) []string { return append(slices.Clip(path), label) }

func (r *slipReader) readFields(x *ast.StructLit, path []string) {
	first := map[string]Place{}
	x.Elts = slices.DeleteFunc(x.Elts, func(decl ast.Decl) bool {
		field, ok := decl.(*ast.Field)
		if !ok {
			return false
		}
		name, _, err := ast.LabelName(field.Label)
		if err != nil {
			return false
		}
		at := placeOf(field.Pos())
		if before, twice := first[name]; twice {
			r.found.twice = append(r.found.twice, Fault{
				At: at, Field: strings.Join(inside(path, name), "."), Said: fmt.Sprintf("is set in line %d already", before.Line),
			})
			return true
		}
		first[name] = at
		field.Value = r.read(field.Value, inside(path, name))
		return false
	})
}

func (r *slipReader) readWord(x *ast.BasicLit) ast.Expr {
	word, err := literal.Unquote(x.Value)
	if err != nil {
		return x // no string
	}
	at := placeOf(x.Pos())
	value, known := booleans[strings.ToLower(word)]
	if !known || !bytes.HasPrefix(r.from(at), []byte(word)) {
		return x
	}
	r.found.words[at] = word
	read := ast.NewBool(value)
	ast.SetPos(read, x.Pos())
	return read
}

// from is the text of a line from a place on. It begins with the quotes, if there are any.
func (r *slipReader) from(p Place) []byte {
	if p.Line < 1 || p.Line > len(r.lines) || p.Column < 1 || p.Column > len(r.lines[p.Line-1]) {
		return nil
	}
	return r.lines[p.Line-1][p.Column-1:]
}
