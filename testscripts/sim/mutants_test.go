package sim

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"valkey.gomomento.com/operator/cue"
)

var mutantSeeds = flag.Int("mutant-seeds", 0, "how many seeds each mutant of the rules runs, in TestEveryMutant; 0 for none")

// A few rules with a condition left out, each with a script that tells the mutant from the operator.
func TestMutantsAreCaught(t *testing.T) {
	program := load(t)
	all, err := mutants(cue.FS)
	if err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{
		`retire-replaced without "len(rolling.retirements) > 0"`:          "cluster 1 1\nsettle",
		`fail-over-to-replacement without "len(rolling.successions) > 0"`: "cluster 1 1\nsettle",
		`retire-drained without "len(scaling.drained) > 0"`:               "cluster 1 1\nsettle",
		`load-users without "len(members.usersStale) > 0"`:                "cluster 1 1\nsettle",
		`set-settings without "len(members.untold) > 0"`:                  "cluster 1 1\nsettle",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(all, func(m mutant) bool { return m.String() == name })
			if i < 0 {
				t.Fatal("there is no such mutant")
			}
			if len(mutated(t, program, all[i], script)) == 0 {
				t.Error("nothing was found")
			}
		})
	}
}

// mutated is what the judge finds of a mutant in a script.
func mutated(t *testing.T, program *Program, m mutant, script string) []string {
	t.Helper()
	files, err := m.files(cue.FS)
	if err != nil {
		t.Fatal(err)
	}
	p, err := program.With(files)
	if err != nil {
		t.Fatal(err)
	}
	return play(t, p, script).faults
}

// TestEveryMutant says which mutants no seed tells from the operator. Some never will: an action looks again for itself.
func TestEveryMutant(t *testing.T) {
	if *mutantSeeds == 0 {
		t.Skip("-mutant-seeds says how many seeds each mutant runs")
	}
	program := load(t)
	scripts := map[string]string{}
	files, err := filepath.Glob("scripts/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		scripts[filepath.Base(file)] = string(text)
	}
	for seed := range *mutantSeeds {
		scripts[fmt.Sprintf("seed %d", seed+1)] = scriptOf(uint64(seed+1), 3)
	}
	all, err := mutants(cue.FS)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		t.Run(m.String(), func(t *testing.T) {
			t.Parallel()
			for _, name := range slices.Sorted(maps.Keys(scripts)) {
				if faults := mutated(t, program, m, scripts[name]); len(faults) > 0 {
					t.Logf("caught by %s: %s", name, short(faults[0]))
					return
				}
			}
			t.Log("survives")
		})
	}
}
