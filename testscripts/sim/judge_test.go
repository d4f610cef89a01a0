package sim

import (
	"slices"
	"strings"
	"testing"
)

// A judge that never finds anything proves nothing. These are the faults of an operator gone wrong, each of which it must see.
func TestTheJudgeSees(t *testing.T) {
	program := load(t)
	for name, c := range map[string]struct{ script, want string }{
		"nothing when all is well":             {"settle", ""},
		"a takeover while a quorum is held":    {"order replica 0 CLUSTER FAILOVER TAKEOVER", "takes over although 3 of 3 voters are together"},
		"the forgetting of one who lives":      {"order primary 1 CLUSTER FORGET @replica/0", "is to be forgotten, and lives"},
		"the end of a copy that is needed":     {"order replica 0 SHUTDOWN NOSAVE NOW", "leaves 1 of 2 copies"},
		"the end of a primary":                 {"order primary 0 SHUTDOWN NOSAVE NOW FORCE", "leaves"},
		"acknowledged writes that are gone":    {"lag replica 0 4s\ntick 3s\norder replica 0 CLUSTER FAILOVER TAKEOVER\ntick 3s\nsettle", "lost: "},
		"more losses than a script allows":     {"cut primary 0\ntick 12s\nheal\nsettle\nwrites 0", "acknowledged writes are lost"},
		"a rule that decided and should not":   {"never create-missing-nodes", "has decided something"},
		"a rule that should and did not":       {"fired take-over-without-quorum", "has not decided anything"},
		"a world that does not come to rest":   {"kill primary 0\nsettle 1s", "not at rest after 1s"},
		"a second operator's refused takeover": {"order primary 0 CLUSTER FAILOVER TAKEOVER", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := play(t, program, "cluster 3 1\nrest\n"+c.script)
			found := slices.ContainsFunc(told.faults, func(f string) bool { return strings.Contains(f, c.want) })
			if c.want == "" && len(told.faults) > 0 || c.want != "" && !found {
				t.Errorf("found %q, want %q; what happened:\n%s", told.faults, c.want, strings.Join(told.trace, "\n"))
			}
		})
	}
}
