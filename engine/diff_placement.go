package engine

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// spreadAfter is how long after the last server was made primaries are moved for
// the sake of zones and machines alone: a failover is short, but no reason to have
// two in one change.
const spreadAfter = time.Minute

// spreading is a failover that spreads primaries more evenly: over zones, when one
// has more than its share of them, else over machines, so that none that is lost
// takes the quorum along if that can be helped. Where servers run counts, not
// where they were meant to.
func (c *comparison) spreading(f *Facts) []Succession {
	if len(f.Rolling.Outdated)+len(f.Draining.Members) > 0 || f.Scaling.Remaining > 0 || !c.sound(f) || !c.quiet() {
		return nil
	}
	zones := c.leads(zone, everyone)
	if s := c.relieve(zone, zones, func(*Node, *Node) bool { return true }); s != nil {
		return s
	}
	// Not at the cost of the zones: the two would undo each other's work for ever.
	return c.relieve(machine, c.leads(machine, everyone), func(from, heir *Node) bool {
		return zone(from) == zone(heir) || zones[zone(heir)] < c.share(zones)
	})
}

// relieve is a failover out of the place that leads most, when that is more than
// its share, to an heir somewhere with fewer that may lead there.
func (c *comparison) relieve(place func(*Node) string, leads map[string]int, mayLead func(from, heir *Node) bool) []Succession {
	places := slices.SortedFunc(maps.Keys(leads), func(a, b string) int {
		return cmp.Or(cmp.Compare(leads[b], leads[a]), cmp.Compare(a, b))
	})
	if len(places) < 2 || leads[places[0]] <= c.share(leads) {
		return nil
	}
	for _, s := range c.shards {
		if s.primary == nil || place(s.primary) != places[0] {
			continue
		}
		heir := c.successor(s, s.copies)
		if heir != nil && leads[place(heir)]+1 < leads[places[0]] && mayLead(s.primary, heir) {
			return []Succession{c.succeeding(heir, s.primary.Server.ID)}
		}
	}
	return nil
}

// share is how many primaries a place may have where they are spread evenly.
func (c *comparison) share(leads map[string]int) int {
	return (len(c.shards) + len(leads) - 1) / len(leads)
}

func everyone(*Node) bool { return true }

// quiet says that no server was made a short while ago, and no shard leaves.
func (c *comparison) quiet() bool {
	return !c.creating && len(c.leaving) == 0 && !slices.ContainsFunc(c.seen.Nodes, func(n Node) bool { return c.seen.At.Sub(n.Created) < spreadAfter })
}

// leads counts the primaries that count in every zone, or on every machine, where
// a server of the cluster runs.
func (c *comparison) leads(place func(*Node) string, counts func(*Node) bool) map[string]int {
	leads := map[string]int{}
	for _, s := range c.shards {
		for _, n := range s.nodes {
			if p := place(n); p != "" {
				leads[p] += 0
			}
		}
		if s.primary != nil && place(s.primary) != "" && counts(s.primary) {
			leads[place(s.primary)]++
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

// heirBySpread is the one of them in the zone with the fewest primaries, and there
// on the machine with the fewest, where those count first that are not to be
// replaced themselves.
func (c *comparison) heirBySpread(s shard, could []*Node) *Node {
	could = slices.DeleteFunc(could, func(n *Node) bool { return n == s.primary })
	if len(could) == 0 {
		return nil
	}
	others := func(n *Node) bool { return n != s.primary }
	staying := func(n *Node) bool { return others(n) && !c.unwanted(n) }
	return slices.MinFunc(could, func(a, b *Node) int {
		var order int
		for _, place := range []func(*Node) string{zone, machine} {
			first, then := c.leads(place, staying), c.leads(place, others)
			order = cmp.Or(order, cmp.Compare(first[place(a)], first[place(b)]), cmp.Compare(then[place(a)], then[place(b)]))
		}
		return cmp.Or(order, cmp.Compare(a.Name, b.Name))
	})
}
