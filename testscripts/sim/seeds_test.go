package sim

import (
	"flag"
	"fmt"
	"testing"
)

var (
	seeds  = flag.Int("seeds", 250, "how many seeds are run")
	first  = flag.Int("first", 1, "the first seed")
	shards = flag.Int("shards", 3, "how many shards a seed's cluster begins with")
	wide   = flag.Int("wide", 100, "how many seeds are run that draw from nearly all words")
)

// TestSeeds runs what seeds make up. One that fails prints its script, which replays it as a file of scripts.
func TestSeeds(t *testing.T) { runSeeds(t, *first, *seeds) }

// TestWideSeeds does so with the first that draw from nearly all words; -first says others to TestSeeds.
func TestWideSeeds(t *testing.T) { runSeeds(t, wideFrom, *wide) }

func runSeeds(t *testing.T, first, count int) {
	t.Helper()
	program := load(t)
	for seed := first; seed < first+count; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			mustHold(t, program, scriptOf(uint64(seed), *shards))
		})
	}
}
