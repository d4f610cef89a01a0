package derivation

import (
	"strconv"
	"strings"
)

// liveTable mirrors #Directives of cue/derive.
type liveTable struct {
	// Live names, by directive, the first version whose servers take it by
	// CONFIG SET, as major*100+minor.
	Live map[string]int `json:"live"`
	// Gone names the first version that does not know the directive any more.
	Gone map[string]int `json:"gone"`
}

// Live says whether a server of the version (major.minor.patch) takes a new
// value of the directive by CONFIG SET. A directive that nobody has tried on a
// real server is not live: replacing a node first finds out whether the server
// takes it at all.
func (d *Deriver) Live(version, directive string) bool {
	name, v := strings.ToLower(directive), number(version)
	since, known := d.program.live.Live[name]
	until, goes := d.program.live.Gone[name]
	return known && v >= since && (!goes || v < until)
}

// number turns major.minor.patch into a number that compares, 0 if it is none.
func number(version string) int {
	parts := strings.Split(version, ".")
	if len(parts) < 2 {
		return 0
	}
	major, err := strconv.Atoi(parts[0])
	if err != nil {
		return 0
	}
	minor, err := strconv.Atoi(parts[1])
	if err != nil {
		return 0
	}
	return major*100 + minor
}
