package derivation

import (
	"fmt"
	"slices"
	"strings"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// MaxDepth is how many configs a chain may have.
const MaxDepth = 10

// A NamedConfig is a ValkeyConfig of a chain.
type NamedConfig struct {
	Name string
	Spec v1alpha1.ValkeyConfigSpec
}

// A Chain is what a configRef leads to.
type Chain struct {
	// Configs are nearest first; those found before the Problem, if there is one.
	Configs []NamedConfig
	// Visited names every config that was asked for, a missing one included, in
	// order: a change of any of them, and of no other, changes the chain.
	Visited []string
	// Problem is why the chain does not resolve, "" when it does, and Reason its
	// word for conditions: ConfigNotFound, ConfigCycle or ConfigTooDeep.
	Problem, Reason string
}

// Walk follows baseRef from the config called from. Configs are looked up by
// name; the lookup says whether there is one.
func Walk(from string, lookup func(name string) (*v1alpha1.ValkeyConfigSpec, bool)) Chain {
	var c Chain
	for name := from; name != ""; {
		if i := slices.Index(c.Visited, name); i >= 0 {
			return c.failed("ConfigCycle", fmt.Sprintf("%s: %s", tooDeep, strings.Join(append(c.Visited, name), " -> ")))
		}
		if len(c.Visited) == MaxDepth {
			return c.failed("ConfigTooDeep", tooDeep)
		}
		c.Visited = append(c.Visited, name)
		spec, ok := lookup(name)
		if !ok {
			return c.failed("ConfigNotFound", fmt.Sprintf("ValkeyConfig %q not found", name))
		}
		c.Configs = append(c.Configs, NamedConfig{Name: name, Spec: *spec})
		name = spec.BaseRef
	}
	return c
}

const tooDeep = "config inheritance depth exceeds 10 (cycle?)"

func (c Chain) failed(reason, problem string) Chain {
	c.Reason, c.Problem = reason, problem
	return c
}
