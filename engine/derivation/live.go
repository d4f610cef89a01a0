package derivation

import (
	"maps"
	"slices"
	"strings"

	"valkey.gomomento.com/operator/engine"
)

// directives mirrors #Directives of cue/derive.
type directives struct {
	// Live names, by directive, the first version whose servers take it by
	// CONFIG SET, as major*100+minor.
	Live map[string]int `json:"live"`
	// Gone names the first version that does not know the directive any more.
	Gone map[string]int `json:"gone"`
	// Kept are the live directives that are compared with servers and told to them.
	Kept map[string]engine.Span `json:"kept"`
}

// Live says whether a server of the version (major.minor.patch) takes a new
// value of the directive by CONFIG SET. A directive that nobody has tried on a
// real server is not live: replacing a node first finds out whether the server
// takes it at all.
func (d *Deriver) Live(version, directive string) bool {
	name := strings.ToLower(directive)
	since, known := d.program.directives.Live[name]
	return known && engine.Span{Since: since, Until: d.program.directives.Gone[name]}.Holds(version)
}

// Kept are the names of the directives whose live values are compared with
// what they should be, sorted.
func (d *Deriver) Kept() []string {
	return slices.Sorted(maps.Keys(d.program.directives.Kept))
}

// Wanted are the directives that some derivation so far has wanted live, in no
// order. It is what servers are asked for: all that could be wanted would be
// five times as much.
func (d *Deriver) Wanted() []string {
	if names := d.wanted.Load(); names != nil {
		return *names
	}
	return nil
}

// want adds to what is wanted. It must be called with evaluating held.
func (d *Deriver) want(settings map[string]string) {
	names := d.Wanted()
	for name := range settings {
		if _, kept := d.program.directives.Kept[name]; kept && !slices.Contains(names, name) {
			// A copy, since readers hold the slice.
			names = append(slices.Clip(names), name)
		}
	}
	d.wanted.Store(&names)
}
