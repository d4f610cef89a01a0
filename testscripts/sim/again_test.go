package sim

import (
	"slices"
	"testing"
)

// A seed does the same every time: what failed can be looked at.
func TestASeedIsTheSameAgain(t *testing.T) {
	program := load(t)
	for seed := range uint64(6) {
		script := scriptOf(seed, 3)
		first, again := play(t, program, script), play(t, program, script)
		if slices.Equal(first.trace, again.trace) {
			continue
		}
		for i := range min(len(first.trace), len(again.trace)) {
			if first.trace[i] != again.trace[i] {
				t.Errorf("seed %d, line %d of %d:\n%s\n%s", seed, i, len(first.trace), first.trace[i], again.trace[i])
				break
			}
		}
	}
}
