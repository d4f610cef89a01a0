package topology_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"valkey.gomomento.com/operator/engine/topology"
)

func TestEvenCoversEverySlotOnceInSizesThatDifferByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shards := rapid.IntRange(1, 1000).Draw(t, "shards")
		ranges := topology.Even(shards)
		next, small, large := 0, topology.SlotCount, 0
		for _, r := range ranges {
			if r.From != next {
				t.Fatalf("range %v does not begin at %d", r, next)
			}
			next, small, large = r.To+1, min(small, r.Len()), max(large, r.Len())
		}
		if len(ranges) != shards || next != topology.SlotCount || large-small > 1 {
			t.Fatalf("%d ranges to %d, sizes %d to %d", len(ranges), next, small, large)
		}
	})
}

func TestEvenOfNoShards(t *testing.T) {
	if got := topology.Even(0); got != nil {
		t.Errorf("Even(0) = %v, want nil", got)
	}
}

// TestSetAgreesWithAMap compares the bit set with the plainest model of one.
func TestSetAgreesWithAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var set topology.Set
		model := map[int]bool{}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			from := rapid.IntRange(-3, topology.SlotCount+3).Draw(t, "from")
			to := from + rapid.IntRange(0, 300).Draw(t, "len")
			add := rapid.Bool().Draw(t, "add")
			if add {
				set.Add(topology.Range{From: from, To: to})
			} else {
				set.Remove(topology.Range{From: from, To: to})
			}
			for slot := max(from, 0); slot <= min(to, topology.SlotCount-1); slot++ {
				if add {
					model[slot] = true
				} else {
					delete(model, slot)
				}
			}
		}
		if set.Count() != len(model) || topology.Count(set.Ranges()) != len(model) {
			t.Fatalf("set holds %d, ranges %v, model %d", set.Count(), set.Ranges(), len(model))
		}
		for _, r := range set.Ranges() {
			for slot := r.From; slot <= r.To; slot++ {
				if !model[slot] {
					t.Fatalf("slot %d is in the set and not in the model", slot)
				}
			}
		}
	})
}

func TestSetEdges(t *testing.T) {
	all := topology.All()
	if got := all.Ranges(); !slices.Equal(got, []topology.Range{{From: 0, To: 16383}}) {
		t.Errorf("all slots are %v", got)
	}
	all.Remove(topology.Range{From: 100, To: 199})
	if all.Overlaps(topology.Range{From: 100, To: 199}) || !all.Overlaps(topology.Range{From: 199, To: 200}) {
		t.Error("overlap is wrong at the edge of a hole")
	}
	if got := all.Within(topology.Range{From: 50, To: 250}); !slices.Equal(got, []topology.Range{{From: 50, To: 99}, {From: 200, To: 250}}) {
		t.Errorf("within = %v", got)
	}
}
