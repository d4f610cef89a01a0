package derivation

import (
	"fmt"
	"slices"
	"strings"

	cueerrors "cuelang.org/go/cue/errors"
)

// maxProblem keeps a condition's message readable.
const maxProblem = 1024

// inputProblem words what is wrong with an input, one clause for each field.
func inputProblem(err error, in filled) string {
	var clauses []string
	for _, e := range cueerrors.Errors(err) {
		clauses = append(clauses, in.clause(e.Path(), e))
	}
	slices.Sort(clauses)
	return shorten(strings.Join(slices.Compact(clauses), "; "))
}

// clause names the object and field that path leads to.
func (in filled) clause(path []string, e cueerrors.Error) string {
	format, args := e.Msg()
	said := fmt.Sprintf(format, args...)
	path = slices.DeleteFunc(slices.Clone(path), func(label string) bool { return strings.HasPrefix(label, "#") })
	if where := in.locate(path); where != "" {
		return where + ": " + said
	}
	return said
}

// locate turns a path of #Input into words for the user.
func (in filled) locate(path []string) string {
	for i := range path {
		path[i] = strings.Trim(path[i], `"`) // CUE quotes labels such as "maxmemory-policy"
	}
	field := func(n int) string { return strings.Join(path[n:], ".") }
	switch {
	case len(path) == 0:
		return ""
	case path[0] == "cluster":
		return "spec." + field(1)
	case path[0] == "chain" && len(path) > 2:
		return fmt.Sprintf("ValkeyConfig %q %s", in.configName(path[1]), field(2))
	case path[0] == "images" && len(path) > 2:
		return fmt.Sprintf("ValkeyImage %q spec.%s", path[1], field(2))
	case path[0] == "roles" && len(path) > 2:
		return fmt.Sprintf("ValkeyRole %q spec.%s", path[1], field(2))
	default:
		return field(0)
	}
}

// configName is the name of the config at an index of the chain.
func (in filled) configName(index string) string {
	for i, l := range in.Chain {
		if fmt.Sprint(i) == index {
			return l.Name
		}
	}
	return index
}

func shorten(s string) string {
	if len(s) <= maxProblem {
		return s
	}
	return strings.ToValidUTF8(s[:maxProblem], "") + "…"
}
