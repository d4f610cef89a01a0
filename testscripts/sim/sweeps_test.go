package sim

import (
	"flag"
	"testing"
)

var (
	sweeps     = flag.Int("sweeps", 60, "how many sweeps are run")
	firstSweep = flag.Int("first-sweep", 0, "the first of them")
)

// TestSweeps disturbs what the operator does at every step of it.
func TestSweeps(t *testing.T) {
	program := load(t)
	for number := *firstSweep; number < *firstSweep+*sweeps; number++ {
		name, script := sweepOf(number)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mustHold(t, program, script)
		})
	}
}
