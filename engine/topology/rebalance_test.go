package topology_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"valkey.gomomento.com/operator/engine/topology"
)

// owners draws who holds which slots, scattered as years of scaling leave them.
func owners(t *rapid.T) [][]topology.Range {
	sets := make([]topology.Set, rapid.IntRange(1, 9).Draw(t, "owners"))
	for from := 0; from < topology.SlotCount; {
		to := min(from+rapid.IntRange(0, 3000).Draw(t, "run"), topology.SlotCount-1)
		sets[rapid.IntRange(0, len(sets)-1).Draw(t, "owner")].Add(topology.Range{From: from, To: to})
		from = to + 1
	}
	out := make([][]topology.Range, len(sets))
	for i := range sets {
		out[i] = sets[i].Ranges()
	}
	return out
}

func TestRebalanceMovesTheFewestSlotsAndLosesNone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		held := owners(t)
		keep := rapid.IntRange(1, len(held)).Draw(t, "keep")
		plan := topology.Rebalance(held, keep)
		if got, want := moved(plan), fewest(held, keep); got != want {
			t.Fatalf("moves %d slots, %d are enough", got, want)
		}
		for _, tr := range plan {
			held = carried(held, tr)
		}
		balanced(t, held, keep)
	})
}

// TestRebalanceGoesOnAfterAnyPart carries out a random part of a plan: what is
// planned then is what was left of it.
func TestRebalanceGoesOnAfterAnyPart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		held := owners(t)
		keep := rapid.IntRange(1, len(held)).Draw(t, "keep")
		left := fewest(held, keep)
		for left > 0 {
			plan := topology.Rebalance(held, keep)
			tr := plan[rapid.IntRange(0, len(plan)-1).Draw(t, "transfer")]
			n := rapid.IntRange(1, topology.Count(tr.Slots)).Draw(t, "slots")
			tr.Slots = topology.Head(tr.Slots, n)
			held, left = carried(held, tr), left-n
			if got := moved(topology.Rebalance(held, keep)); got != left {
				t.Fatalf("%d slots still to move, %d are enough", got, left)
			}
		}
		balanced(t, held, keep)
	})
}

func moved(plan []topology.Transfer) int {
	n := 0
	for _, tr := range plan {
		n += topology.Count(tr.Slots)
	}
	return n
}

// fewest is how many slots any plan has to move: all of those that leave, and
// of those that stay what is over the larger share, as many times as it may be given.
func fewest(held [][]topology.Range, keep int) int {
	var sizes []int
	n := 0
	for i, ranges := range held {
		if size := topology.Count(ranges); i < keep {
			sizes = append(sizes, size)
		} else {
			n += size
		}
	}
	slices.SortFunc(sizes, func(a, b int) int { return b - a })
	for rank, size := range sizes {
		share := topology.SlotCount / keep
		if rank < topology.SlotCount%keep {
			share++
		}
		n += max(0, size-share)
	}
	return n
}

func carried(held [][]topology.Range, tr topology.Transfer) [][]topology.Range {
	out := slices.Clone(held)
	var from, to topology.Set
	from.Add(held[tr.From]...)
	from.Remove(tr.Slots...)
	to.Add(held[tr.To]...)
	to.Add(tr.Slots...)
	out[tr.From], out[tr.To] = from.Ranges(), to.Ranges()
	return out
}

func balanced(t *rapid.T, held [][]topology.Range, keep int) {
	var all topology.Set
	for i, ranges := range held {
		size := topology.Count(ranges)
		if all.Overlaps(ranges...) {
			t.Fatalf("owner %d holds what another holds", i)
		}
		all.Add(ranges...)
		low := topology.SlotCount / keep
		if i < keep && (size < low || size > low+1) || i >= keep && size > 0 {
			t.Fatalf("owner %d of %d holds %d slots", i, keep, size)
		}
	}
	if all.Count() != topology.SlotCount {
		t.Fatalf("%d slots are left", all.Count())
	}
}

func TestRebalanceEdges(t *testing.T) {
	if got := topology.Rebalance(nil, 0); got != nil {
		t.Errorf("a plan of nothing: %v", got)
	}
	if got := topology.Rebalance([][]topology.Range{{{From: 0, To: 16383}}}, 2); got != nil {
		t.Errorf("a plan for owners that are not there: %v", got)
	}
}
