package engine

import (
	"cmp"
	"slices"

	"valkey.gomomento.com/operator/engine/topology"
)

// A shard is the nodes of one shard index.
type shard struct {
	index int
	nodes []*Node // alive ones, sorted by name
	// primary is the heard node that holds the shard's slots, the most of them if there are several; nil when there is none.
	primary *Node
	// rivals are other heard nodes of the shard that hold slots. Whoever was cut off while a move to it was under way
	// may have been replaced before it takes these slots over; or they lead another shard.
	rivals []*Node
	// foreign is the primary that the shard's servers follow where it is another shard's node, nil where it is not. It was
	// attached here by hand, and was elected or told to take over. Its own shard has another primary, or is to get one: a
	// shard whose servers somebody has attached to another one's only primary is led by nobody.
	foreign *Node
	// head is the server that the others follow: the one that holds the shard's
	// slots or, in a shard that has none yet, the one that is to get them. While
	// any slot is without a heard owner, a shard without slots may be one whose
	// primary has died, and has no head.
	head *Node
	// copies are the nodes that hold the shard's data whole: its head and the
	// replicas in sync with it.
	copies []*Node
}

func (c *comparison) sortIntoShards() {
	all := make([]shard, c.target.Shards)
	for i := range c.seen.Nodes {
		n := &c.seen.Nodes[i]
		if c.dead(n) {
			continue
		}
		for len(all) <= n.ShardIndex {
			all = append(all, shard{})
		}
		s := &all[n.ShardIndex]
		s.nodes = append(s.nodes, n)
		if c.hears(n) && n.Server.Role == Primary && len(c.claims[n.Server.ID]) > 0 {
			s.rivals = append(s.rivals, n)
		}
	}
	foreign := c.findForeign(all)
	for i := range all {
		s := &all[i]
		s.index = i
		c.rank(s, foreign)
		s.head = c.findHead(s)
		s.copies = c.findCopies(s)
	}
	c.shards, c.leaving = all[:c.target.Shards], all[c.target.Shards:]
}

// rank makes one of those who hold slots the shard's primary, unless it leads another shard.
func (c *comparison) rank(s *shard, foreign []*Node) {
	slices.SortFunc(s.rivals, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(c.held(b), c.held(a)), cmp.Compare(a.Name, b.Name))
	})
	own := slices.IndexFunc(s.rivals, func(n *Node) bool { return !slices.Contains(foreign, n) })
	if own >= 0 {
		s.primary = s.rivals[own]
		s.rivals = slices.Delete(s.rivals, own, own+1)
	}
}

// held is how many slots the heard node holds.
func (c *comparison) held(n *Node) int { return topology.Count(c.claims[n.Server.ID]) }

func (c *comparison) shardFacts() []ShardFacts {
	out := make([]ShardFacts, len(c.shards))
	for i, s := range c.shards {
		out[i] = ShardFacts{Index: i, Nodes: len(s.nodes)}
		if s.head == nil {
			continue
		}
		out[i].Primary = s.head.Name
		out[i].Slots = topology.Count(c.claims[s.head.Server.ID])
		out[i].InSync = len(s.copies)
	}
	return out
}

func (c *comparison) findHead(s *shard) *Node {
	if s.primary != nil || s.foreign != nil || !c.covered {
		return s.primary
	}
	var empty []*Node
	for _, n := range s.nodes {
		if c.hears(n) && n.Server.Role == Primary && c.ready(n) && n.Lifecycle != Leaving {
			empty = append(empty, n)
		}
	}
	if len(empty) == 0 {
		return nil
	}
	return slices.MinFunc(empty, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(c.followers(s, b), c.followers(s, a)), cmp.Compare(a.Name, b.Name))
	})
}

// followers counts the replicas that the shard's node has.
func (c *comparison) followers(s *shard, primary *Node) int {
	count := 0
	for _, n := range s.nodes {
		if c.hears(n) && n.Server.PrimaryID == primary.Server.ID {
			count++
		}
	}
	return count
}

// coverage says that heard primaries hold every slot, each once.
func (c *comparison) coverage() bool {
	var held topology.Set
	count := 0
	for _, n := range c.heard {
		held.Add(c.claims[n.Server.ID]...)
		count += topology.Count(c.claims[n.Server.ID])
	}
	return count == topology.SlotCount && held.Count() == topology.SlotCount
}

// findForeign names to each shard of which no node holds slots, be it heard or not, the foreign primary, and returns them all.
func (c *comparison) findForeign(all []shard) []*Node {
	holders, empty := c.holders(len(all)), c.emptyPrimaries(len(all))
	var found []*Node
	for i := range all {
		if holders[i] > 0 {
			continue
		}
		most := 0
		for j := range all {
			others := holders[j] - 1
			if empty[i] == 0 {
				others += empty[j]
			}
			for _, n := range all[j].rivals {
				if count := c.followers(&all[i], n); count > most && others > 0 {
					all[i].foreign, most = n, count
				}
			}
		}
		if most > 0 {
			found = append(found, all[i].foreign)
		}
	}
	return found
}

// holders counts each shard's nodes that hold slots, those that are dead or not heard too.
func (c *comparison) holders(shards int) []int {
	count := make([]int, shards)
	for _, id := range c.primaries() {
		if n := c.bearer(id); n != nil && n.ShardIndex < shards {
			count[n.ShardIndex]++
		}
	}
	return count
}

// emptyPrimaries counts each shard's heard primaries without slots.
func (c *comparison) emptyPrimaries(shards int) []int {
	count := make([]int, shards)
	for _, n := range c.heard {
		if n.ShardIndex < shards && n.Server.Role == Primary && c.held(n) == 0 && !c.dead(n) {
			count[n.ShardIndex]++
		}
	}
	return count
}

func (c *comparison) findCopies(s *shard) []*Node {
	if s.head == nil {
		return nil
	}
	var out []*Node
	for _, n := range s.nodes {
		if n == s.head || c.follows(n, s.head) {
			out = append(out, n)
		}
	}
	return out
}

// follows says that n is a replica in sync with the primary.
func (c *comparison) follows(n, primary *Node) bool {
	return c.hears(n) && n.Server.Role == Replica && n.Server.PrimaryID == primary.Server.ID && n.Server.LinkUp
}

// leaves says that the node goes whatever the specs say: somebody deleted it or
// its Pod, or it was on its way out already.
func leaves(n *Node) bool { return n.Deleting || n.Lifecycle == Leaving || podGoes(n) }

// cordoned says that the node's Pod is about to be evicted: its Kubernetes node is cordoned.
func cordoned(n *Node) bool { return n.Pod != nil && n.Pod.Cordoned }

// superseded says that a node of today's specs should take the node's place.
func (c *comparison) superseded(n *Node) bool { return leaves(n) || c.outdated(n) }

// uprooted says that a node elsewhere should take the node's place.
func uprooted(n *Node) bool { return leaves(n) || cordoned(n) }

// unwanted says that another node should take the node's place, for any reason.
func (c *comparison) unwanted(n *Node) bool { return c.superseded(n) || cordoned(n) }

// keepers are the nodes that stay in the shard when all is as it should be.
func (c *comparison) keepers(s shard) []*Node { return c.stayers(s, c.unwanted) }

// stayers are as many of the shard's nodes as the target asks for, those aside
// that are to go. The head comes first, so that nothing moves needlessly, then
// who has the data, then who is older.
func (c *comparison) stayers(s shard, goes func(*Node) bool) []*Node {
	fit := slices.DeleteFunc(slices.Clone(s.nodes), goes)
	rank := func(n *Node) int {
		switch {
		case n == s.head:
			return 0
		case slices.Contains(s.copies, n):
			return 1
		default:
			return 2
		}
	}
	slices.SortStableFunc(fit, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	})
	return fit[:min(len(fit), c.target.perShard())]
}

// perShard is how many servers a shard has.
func (t Topology) perShard() int { return 1 + t.ReplicasPerShard }

// retirement is the step that takes a member out; every other server that
// answers must forget it.
func (c *comparison) retirement(n *Node) Retirement {
	r := Retirement{Node: n.Name, ID: n.LastID}
	if n.Server != nil {
		r.ID = n.Server.ID
	}
	for _, other := range c.heard {
		if other != n {
			r.By = append(r.By, other.Name)
		}
	}
	slices.Sort(r.By)
	return r
}

// retirable are the shard's nodes that may leave now, those to stay given: as
// long as the copies that stay are as many as there should be, the others are
// not needed. The head and its rivals are never among them, for their slots.
func (c *comparison) retirable(s shard, stay []*Node) []Retirement {
	if s.head == nil {
		return nil
	}
	leave, left := []Retirement(nil), len(s.copies)
	for _, n := range lastToFirst(s) {
		if n == s.head || slices.Contains(stay, n) || slices.Contains(s.rivals, n) || !c.joined(n) || !c.hears(n) {
			continue
		}
		if slices.Contains(s.copies, n) {
			if left <= c.target.perShard() {
				continue
			}
			left--
		} else if left < c.target.perShard() {
			continue
		}
		leave = append(leave, c.retirement(n))
	}
	return leave
}

// lastToFirst are the shard's nodes in the order in which they go: who lacks
// the data, then the latest made.
func lastToFirst(s shard) []*Node {
	order := slices.Clone(s.nodes)
	whole := func(n *Node) int {
		if slices.Contains(s.copies, n) {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(order, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(whole(a), whole(b)), b.Created.Compare(a.Created), cmp.Compare(a.Name, b.Name))
	})
	return order
}
