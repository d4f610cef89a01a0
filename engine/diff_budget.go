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
		b.Keep = c.target.AtRest()
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

// whole says that there are the Pods of the target and no other, each with a copy in sync that stays.
func (c *comparison) whole(f *Facts) bool {
	if c.creating || len(f.Nodes.Missing) > 0 || c.pods(f) != c.target.Nodes() {
		return false
	}
	return !slices.ContainsFunc(c.shards, func(s shard) bool {
		staying := slices.DeleteFunc(slices.Clone(s.copies), podGoes)
		return len(staying) != c.target.perShard()
	})
}

// AtRest is how many Pods of a cluster at rest must stay: all but one, or all if each is its shard's only copy.
func (t Topology) AtRest() int {
	if t.ReplicasPerShard == 0 {
		return t.Nodes()
	}
	return t.Nodes() - 1
}
