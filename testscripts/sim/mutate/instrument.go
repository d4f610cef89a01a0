package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// A precondition is one part of a condition in an action.
type precondition struct {
	file, function, text string
	from, to             int
	// stops says that it keeps the action from going on when it holds, and not when it does not.
	stops bool
}

// String names it: the same precondition has the same name as long as nobody rewrites it.
func (p precondition) String() string {
	name := strings.TrimSuffix(p.file[strings.LastIndex(p.file, "/")+1:], ".go")
	return fmt.Sprintf("%s: %s without `%s`", name, p.function, strings.Join(strings.Fields(p.text), " "))
}

// instrument makes each precondition of a file one that can be left out; their numbers begin after first. A panic in what runs
// beside would end the whole hunt.
func instrument(file, text string, first int) (string, []precondition, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	if err != nil {
		return "", nil, fmt.Errorf("read %s: %w", file, err)
	}
	s := search{file: file, text: text, base: set.File(parsed.Pos()).Base()}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil && !speaks(f.Name.Name) {
			s.function = f.Name.Name
			ast.Inspect(f.Body, s.visit)
		}
	}
	slices.SortFunc(s.found, func(a, b precondition) int { return cmp.Compare(a.from, b.from) })
	var out strings.Builder
	at := 0
	for i, p := range s.found {
		out.WriteString(text[at:p.from])
		number := first + i + 1
		if p.stops {
			fmt.Fprintf(&out, "stopsAt(%d, %s)", number, p.text)
		} else {
			fmt.Fprintf(&out, "needs(%d, %s)", number, p.text)
		}
		at = p.to
	}
	out.WriteString(text[at:])
	return strings.ReplaceAll(out.String(), ".Go(func() {\n", ".Go(func() {\n\t\t\tdefer caught()\n"), s.found, nil
}

// speaks says that a function only reads or writes text.
func speaks(function string) bool {
	return slices.Contains([]string{"String", "describe", "shortID", "count", "list", "infoField"}, function) || strings.HasPrefix(function, "parse")
}

// A search goes through the functions of a file.
type search struct {
	file, text, function string
	base                 int
	found                []precondition
}

func (s *search) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		if stops(n.Body.List) {
			s.parts(n.Cond, token.LOR, true)
		}
	case *ast.CaseClause:
		if stops(n.Body) {
			for _, e := range n.List {
				s.parts(e, token.LOR, true)
			}
		}
	case *ast.ReturnStmt:
		if len(n.Results) > 0 && len(n.Results) <= 2 {
			s.returned(n.Results[0])
		}
	}
	return true
}

// stops says that the statements are one return, of nothing that is done on the way.
func stops(body []ast.Stmt) bool {
	if len(body) != 1 {
		return false
	}
	r, ok := body[0].(*ast.ReturnStmt)
	if !ok {
		return false
	}
	for _, e := range r.Results {
		if _, calls := e.(*ast.CallExpr); calls {
			return false
		}
	}
	return true
}

// returned takes a condition apart that is a function's result.
func (s *search) returned(e ast.Expr) {
	b, ok := e.(*ast.BinaryExpr)
	switch {
	case ok && b.Op == token.LAND:
		s.parts(e, token.LAND, false)
	case ok && b.Op == token.LOR:
		s.parts(e, token.LOR, true)
	}
}

// parts notes the operands of a condition that the operator joins, but for errors. One that is made of several others by the
// opposite operator is one part.
func (s *search) parts(e ast.Expr, op token.Token, stops bool) {
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op == op {
		s.parts(b.X, op, stops)
		s.parts(b.Y, op, stops)
		return
	}
	from, to := int(e.Pos())-s.base, int(e.End())-s.base
	p := precondition{file: s.file, function: s.function, text: s.text[from:to], from: from, to: to, stops: stops}
	if condition(e) && !guardsAgainstNothing(p.text) && !strings.Contains(p.text, "func(") {
		s.found = append(s.found, p)
	}
}

// guardsAgainstNothing says that a condition is about errors or about values that are not there: without it the program does
// not do something wrong but ends, which every test sees.
func guardsAgainstNothing(text string) bool {
	return strings.Contains(text, "err") || strings.Contains(text, "nil") || strings.Contains(text, "i < 0") || strings.Contains(text, "!ok")
}

// condition says that an expression can only be true or false.
func condition(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return e.Op == token.LAND || e.Op == token.LOR || e.Op.Precedence() == token.EQL.Precedence()
	case *ast.UnaryExpr:
		return e.Op == token.NOT
	case *ast.CallExpr, *ast.Ident, *ast.SelectorExpr:
		return true
	case *ast.ParenExpr:
		return condition(e.X)
	}
	return false
}
