package sim

import (
	"slices"
	"testing"

	"valkey.gomomento.com/operator/cue"
	"valkey.gomomento.com/operator/engine"
)

// conditionMutants are the mutants that leave out a condition of a rule, and what their rules are left with.
func conditionMutants(t *testing.T) ([]mutant, map[string]engine.Condition) {
	t.Helper()
	all, err := conditions(cue.FS)
	if err != nil {
		t.Fatal(err)
	}
	when, err := compiled(cue.FS, all)
	if err != nil {
		t.Fatal(err)
	}
	return all, when
}

// A few rules with a condition left out, each with a script that tells the mutant from the operator.
func TestMutantsAreCaught(t *testing.T) {
	program := load(t)
	all, when := conditionMutants(t)
	for name, script := range map[string]string{
		`retire-replaced without "len(rolling.retirements) > 0"`:          "cluster 1 1\nsettle",
		`fail-over-to-replacement without "len(rolling.successions) > 0"`: "cluster 1 1\nsettle",
		`retire-drained without "len(scaling.drained) > 0"`:               "cluster 1 1\nsettle",
		`load-users without "len(members.usersStale) > 0"`:                "cluster 1 1\nsettle",
		`set-settings without "len(members.untold) > 0"`:                  "cluster 1 1\nsettle",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(all, func(m mutant) bool { return m.name == name })
			if i < 0 {
				t.Fatal("there is no such mutant")
			}
			if len(play(t, program.With(all[i].rules(program.rules, when)), script).faults) == 0 {
				t.Error("nothing was found")
			}
		})
	}
}
