package derivation

import (
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
)

// hollow is expr with holes, which any schema takes, at the joined paths in holes.
func hollow(expr ast.Expr, path []string, holes map[string]bool) ast.Expr {
	if len(path) > 0 && holes[joined(path)] {
		return ast.NewIdent("_")
	}
	switch x := expr.(type) {
	case *ast.StructLit:
		out := &ast.StructLit{}
		for _, decl := range x.Elts {
			out.Elts = append(out.Elts, hollowField(decl, path, holes))
		}
		return out
	case *ast.ListLit:
		out := &ast.ListLit{}
		for i, item := range x.Elts {
			out.Elts = append(out.Elts, hollow(item, inside(path, strconv.Itoa(i)), holes))
		}
		return out
	default:
		return expr
	}
}

func hollowField(decl ast.Decl, path []string, holes map[string]bool) ast.Decl {
	field, ok := decl.(*ast.Field)
	if !ok {
		return decl
	}
	name, _, err := ast.LabelName(field.Label)
	if err != nil {
		return decl
	}
	return &ast.Field{Label: field.Label, Value: hollow(field.Value, inside(path, name), holes)}
}

// joined is a path as one word. No label holds a newline.
func joined(path []string) string { return strings.Join(path, "\n") }
