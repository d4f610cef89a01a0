package engine

import "slices"

// budget says how many Pods an eviction must leave.
//
// While every shard has all its copies in sync and nothing else runs, one Pod
// may go, if its shard has another copy. In any other state none may: a Pod
// without a readiness probe counts as healthy as soon as it runs, long before
// its server has its shard's data, and would let another be evicted.
//
// Invariant: two evictions never take both copies of a shard. The API server
// grants them one after the other, each by a write of the budget's status that
// counts the Pod as gone (disruptionsAllowed, disruptedPods), so the second of
// two waits until the healthy Pods are more again or the budget asks for fewer.
// More they can only be by a Pod that the operator makes, which it counts here
// BEFORE it makes it; and a changed budget grants nothing until the disruption
// controller has seen the change (observedGeneration). Fewer are asked for only
// when all copies are in sync again.
func (c *comparison) budget(f *Facts) BudgetFacts {
	if c.target.Nodes() == 0 {
		return BudgetFacts{}
	}
	b, rests, have := BudgetFacts{Keep: c.pods(f)}, c.whole(f), c.seen.Budget
	if rests {
		b.Keep -= c.target.Spare()
	}
	b.Loose = have == nil || *have < b.Keep
	b.Tight = have != nil && *have > b.Keep && rests
	return b
}

// pods counts the Pods that are or may become healthy, those about to be made included.
func (c *comparison) pods(f *Facts) int {
	count := len(f.Nodes.Missing) + len(f.Draining.Surge) + len(f.Rolling.Surge)
	for i := range c.seen.Nodes {
		n := &c.seen.Nodes[i]
		if n.Pod == nil && !c.dead(n) || n.Pod != nil && !n.Pod.Ended() && !n.Pod.Deleting {
			count++
		}
	}
	return count
}

// whole says that each Pod is one of a copy in sync that stays, as many in every
// shard as the target asks for. A shard that leaves needs them as long as it
// holds slots.
func (c *comparison) whole(f *Facts) bool {
	if c.creating || len(f.Nodes.Missing) > 0 {
		return false
	}
	copies := 0
	for _, s := range c.everyShard() {
		staying := len(slices.DeleteFunc(slices.Clone(s.copies), podGoes))
		departs := s.index >= c.target.Shards
		if !departs && staying != c.target.perShard() || departs && s.primary != nil && staying < c.target.perShard() {
			return false
		}
		copies += staying
	}
	return copies == c.pods(f)
}

// Spare is how many Pods of a whole cluster may be evicted at a time: one, if it is not its shard's only copy.
func (t Topology) Spare() int { return min(1, t.ReplicasPerShard) }
