package engine

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// spreadAfter is how long after the last server was made primaries are moved for
// the sake of zones alone: a failover is short, but no reason to have two in one
// change.
const spreadAfter = time.Minute

// spreading is a failover that spreads primaries more evenly over zones, when a
// zone has more than its share of them and a replica elsewhere could lead
// instead. Where servers run counts, not where they were meant to.
func (c *comparison) spreading(f *Facts) []Succession {
	if len(f.Rolling.Outdated)+len(f.Draining.Members) > 0 || f.Scaling.Remaining > 0 || !c.sound(f) || !c.quiet() {
		return nil
	}
	leads := c.leads(func(*Node) bool { return true })
	zones := slices.SortedFunc(maps.Keys(leads), func(a, b string) int {
		return cmp.Or(cmp.Compare(leads[b], leads[a]), cmp.Compare(a, b))
	})
	if len(zones) < 2 || leads[zones[0]] <= (len(c.shards)+len(zones)-1)/len(zones) {
		return nil
	}
	for _, s := range c.shards {
		if s.primary == nil || zone(s.primary) != zones[0] {
			continue
		}
		heir := c.successor(s, s.copies)
		if heir != nil && leads[zone(heir)]+1 < leads[zones[0]] {
			return []Succession{c.succeeding(heir, s.primary.Server.ID)}
		}
	}
	return nil
}

// quiet says that no server was made a short while ago, and no shard leaves.
func (c *comparison) quiet() bool {
	return !c.creating && len(c.leaving) == 0 && !slices.ContainsFunc(c.seen.Nodes, func(n Node) bool { return c.seen.At.Sub(n.Created) < spreadAfter })
}

// leads counts the primaries that count in every zone where a server of the
// cluster runs.
func (c *comparison) leads(counts func(*Node) bool) map[string]int {
	leads := map[string]int{}
	for _, s := range c.shards {
		for _, n := range s.nodes {
			if z := zone(n); z != "" {
				leads[z] += 0
			}
		}
		if s.primary != nil && zone(s.primary) != "" && counts(s.primary) {
			leads[zone(s.primary)]++
		}
	}
	return leads
}

// successor is who should lead the shard next of those who could, all of them in
// sync: one that is to stay, else one that need not move at least, else any.
func (c *comparison) successor(s shard, could []*Node) *Node {
	for _, avoid := range []func(*Node) bool{c.unwanted, uprooted, podGoes} {
		if heir := c.heirBySpread(s, slices.DeleteFunc(slices.Clone(could), avoid)); heir != nil {
			return heir
		}
	}
	return nil
}

// heirBySpread is the one of them in the zone with the fewest primaries, where
// those count first that are not to be replaced themselves.
func (c *comparison) heirBySpread(s shard, could []*Node) *Node {
	could = slices.DeleteFunc(could, func(n *Node) bool { return n == s.primary })
	if len(could) == 0 {
		return nil
	}
	staying := c.leads(func(n *Node) bool { return n != s.primary && !c.unwanted(n) })
	all := c.leads(func(n *Node) bool { return n != s.primary })
	return slices.MinFunc(could, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(staying[zone(a)], staying[zone(b)]), cmp.Compare(all[zone(a)], all[zone(b)]),
			cmp.Compare(a.Name, b.Name))
	})
}
