package engine

import (
	"fmt"
	"slices"
	"time"

	"valkey.gomomento.com/operator/engine/topology"
)

const (
	// jobKeys bounds the keys of one slot migration job. When a job ends, its
	// source holds back all writes until it has deleted what moved, which takes
	// one or two microseconds a key. Each end costs more than that, so jobs are
	// not smaller.
	jobKeys = 60_000
	// carrySlots bounds the slots that are moved one by one in a step, on
	// servers without such jobs: what a second or two is enough for.
	carrySlots = 512
	// retryMoveAfter is how long a failed job is left before its slots are tried
	// again: what ended it, such as a failover, is over by then or will last.
	retryMoveAfter = 5 * time.Second
	// fillLimit is the part of maxmemory, in percent, that a scale-in may fill a server to.
	fillLimit = 95
)

// scaling compares who holds the slots with who should.
func (c *comparison) scaling(f *Facts) ScalingFacts {
	if c.creating || c.target.Shards == 0 {
		return ScalingFacts{}
	}
	plan := c.plan()
	s := ScalingFacts{Remaining: countSlots(plan), Recalls: c.recalls(plan)}
	for _, n := range c.heard {
		for i := range n.Server.Migrations {
			if m := &n.Server.Migrations[i]; m.Export && m.Open() {
				s.Running++
			}
		}
	}
	s.Drained = c.drained()
	s.Blocked = c.tooFull(plan)
	s.Waiting = c.hindrance(f, plan)
	marked, unmark := c.marked()
	s.Unmarkings = unmark
	s.Noisy, s.Hushed = c.logging(plan)
	if s.Blocked != "" || s.Waiting != "" {
		return s
	}
	if len(marked) > 0 {
		s.Carries = marked
		return s
	}
	c.begin(plan, &s)
	return s
}

// plan are all moves that are left until every shard of the target has its
// share and the shards that leave have nothing, nor have rivals of a primary.
func (c *comparison) plan() []Move {
	if !c.covered {
		return nil
	}
	var owners [][]SlotRange
	var heads []*Node
	for _, s := range c.everyShard() {
		head := s.head
		if head == nil && s.index < c.target.Shards {
			return nil
		}
		heads = append(heads, head)
		if head == nil {
			owners = append(owners, nil)
			continue
		}
		owners = append(owners, c.claims[head.Server.ID])
	}
	for _, s := range c.everyShard() {
		for _, n := range s.rivals {
			heads, owners = append(heads, n), append(owners, c.claims[n.Server.ID])
		}
	}
	var plan []Move
	for _, t := range topology.Rebalance(owners, c.target.Shards) {
		from, to := heads[t.From], heads[t.To]
		plan = append(plan, Move{
			From: from.Name, FromID: from.Server.ID, To: to.Name, ToID: to.Server.ID, Slots: t.Slots,
		})
	}
	return plan
}

func (c *comparison) everyShard() []shard { return append(slices.Clone(c.shards), c.leaving...) }

func countSlots(moves []Move) int {
	n := 0
	for _, m := range moves {
		n += topology.Count(m.Slots)
	}
	return n
}

// hindrance says why no slot is to move now, "" when nothing is in the way.
func (c *comparison) hindrance(f *Facts, plan []Move) string {
	if len(plan) == 0 {
		return ""
	}
	for _, s := range c.shards {
		if have := len(s.copies); have+len(s.rivals) < c.target.perShard() {
			return fmt.Sprintf("shard %d has %d of %d servers in sync", s.index, have, c.target.perShard())
		}
		// A primary refuses writes in the first seconds of its life, those of a move too.
		if head := s.head; !head.Server.ClusterOK {
			return head.Name + " reports cluster_state fail"
		}
	}
	if !f.Members.Agreed {
		return "not every server knows every other"
	}
	return c.failedMove()
}

// failedMove is why the last job of a source failed, for as long as it is left alone.
func (c *comparison) failedMove() string {
	for _, n := range c.heard {
		for i := range n.Server.Migrations {
			m := &n.Server.Migrations[i]
			if since := c.seen.At.Sub(m.Updated); m.Export && m.State == "failed" && since >= 0 && since < retryMoveAfter {
				return fmt.Sprintf("another try: the last move from %s failed (%s)", n.Name, m.Message)
			}
		}
	}
	return ""
}

// tooFull says which server a scale-in would fill beyond its maxmemory.
//
// Each server's memory counts whole, what it needs without any data included:
// a little too much rather than too little.
func (c *comparison) tooFull(plan []Move) string {
	gains := map[string]int64{}
	for _, m := range plan {
		source := c.byID[m.FromID]
		if source == nil || source.ShardIndex < c.target.Shards {
			continue
		}
		held := topology.Count(c.claims[m.FromID])
		gains[m.ToID] += source.Server.UsedMemory * int64(topology.Count(m.Slots)) / int64(max(held, 1))
	}
	for _, n := range c.heard {
		limit, will := n.Server.MaxMemory, n.Server.UsedMemory+gains[n.Server.ID]
		if gains[n.Server.ID] > 0 && limit > 0 && will > limit/100*fillLimit {
			return fmt.Sprintf("%s would hold %d MiB of at most %d MiB (maxmemory) with the slots of the shards that leave",
				n.Name, will>>20, limit>>20)
		}
	}
	return ""
}

// begin picks the moves that can begin now: one from each source and one to
// each target, as large as the keys allow. A target that takes from several
// sources at once falls behind, and each of them lets writes wait until it has
// caught up: up to 0.8 s instead of 0.4 with three sources, where servers have
// half a core. Where source or target does not know slot migration jobs, slots
// are carried over one by one, from one source at a time.
func (c *comparison) begin(plan []Move, s *ScalingFacts) {
	busy := map[string]bool{}
	for _, n := range c.heard {
		for i := range n.Server.Migrations {
			if m := &n.Server.Migrations[i]; m.Open() {
				busy[m.SourceID], busy[m.TargetID] = true, true
			}
		}
	}
	for _, m := range plan {
		if busy[m.FromID] || busy[m.ToID] {
			continue
		}
		source, target := c.byID[m.FromID].Server, c.byID[m.ToID].Server
		if !Since9.Holds(source.Version) || !Since9.Holds(target.Version) {
			if len(s.Carries) == 0 {
				m.Slots = topology.Head(m.Slots, carrySlots)
				s.Carries = append(s.Carries, m)
			}
			continue
		}
		busy[m.FromID], busy[m.ToID] = true, true
		m.Slots = topology.Head(m.Slots, c.jobSize(source))
		s.Moves = append(s.Moves, m)
	}
}

// jobSize is how many slots of the source make up jobKeys keys, at least one.
func (c *comparison) jobSize(source *Server) int {
	held := topology.Count(c.claims[source.ID])
	if source.Keys <= jobKeys {
		return topology.SlotCount
	}
	return max(1, int(int64(held)*jobKeys/source.Keys))
}

// recalls are the sources with a running job that the plan has no use for: its
// target is to have no more slots, or its source to give none to it.
func (c *comparison) recalls(plan []Move) []Recall {
	if !c.covered {
		return nil
	}
	wanted := map[string]int{}
	for _, m := range plan {
		wanted[m.FromID+m.ToID] += topology.Count(m.Slots)
	}
	var out []Recall
	for _, n := range c.heard {
		for i := range n.Server.Migrations {
			m := &n.Server.Migrations[i]
			if m.Export && m.Open() && topology.Count(m.Slots) > wanted[m.SourceID+m.TargetID] {
				out = append(out, Recall{Node: n.Name, ID: n.Server.ID})
				break
			}
		}
	}
	return out
}

// marked are the slots that were being carried when a step ended: they are
// carried to the end, whatever the plan is now, since keys are at both ends.
// A mark that leads nowhere is taken off.
func (c *comparison) marked() (carries []Move, unmark []Unmarking) {
	for _, n := range c.heard {
		var off []int
		ends := map[string][]SlotRange{}
		for _, m := range n.Server.Marks {
			switch to := c.otherEnd(n, m); {
			case to != nil:
				ends[to.Server.ID] = append(ends[to.Server.ID], SlotRange{From: m.Slot, To: m.Slot})
			case c.idle(n, m):
				off = append(off, m.Slot)
			}
		}
		for _, other := range c.heard {
			if slots := ends[other.Server.ID]; len(slots) > 0 {
				carries = append(carries, Move{
					From: n.Name, FromID: n.Server.ID, To: other.Name, ToID: other.Server.ID, Slots: slots,
				})
			}
		}
		if len(off) > 0 {
			unmark = append(unmark, Unmarking{Node: n.Name, ID: n.Server.ID, Slots: off})
		}
	}
	return carries, unmark
}

// otherEnd is the primary that a MIGRATING mark of n leads to: the one it
// names, or the one that took its place and goes on importing the slot. Nil
// when n only imports, does not hold the slot, or nobody is there.
func (c *comparison) otherEnd(n *Node, m SlotMark) *Node {
	if m.Importing || !holds(c.claims[n.Server.ID], m.Slot) {
		return nil
	}
	if to := c.byID[m.PeerID]; to != nil && to.Server.Role == Primary {
		return to
	}
	for _, other := range c.heard {
		if other != n && other.Server.Role == Primary && slices.ContainsFunc(other.Server.Marks, func(o SlotMark) bool {
			return o.Importing && o.Slot == m.Slot
		}) {
			return other
		}
	}
	return nil
}

// idle says that the mark may be taken off: the slot is not n's any more, or
// nobody at the other end can have any of its keys.
func (c *comparison) idle(n *Node, m SlotMark) bool {
	if n.Server.Role != Primary || c.unheard() {
		return false
	}
	if !m.Importing {
		return true
	}
	return !slices.ContainsFunc(c.heard, func(other *Node) bool {
		return slices.ContainsFunc(other.Server.Marks, func(o SlotMark) bool { return !o.Importing && o.Slot == m.Slot })
	})
}

func holds(ranges []SlotRange, slot int) bool {
	return slices.ContainsFunc(ranges, func(r SlotRange) bool { return r.From <= slot && slot <= r.To })
}

// drained are the members of shards that leave and hold no slot any more:
// replicas first, then the primaries they followed.
func (c *comparison) drained() []Retirement {
	if !c.covered {
		return nil
	}
	var replicas, primaries []Retirement
	for _, s := range c.leaving {
		if s.primary != nil {
			continue
		}
		for _, n := range s.nodes {
			switch {
			case !c.hears(n) || !c.joined(n):
			case n.Server.Role == Replica:
				replicas = append(replicas, c.retirement(n))
			default:
				primaries = append(primaries, c.retirement(n))
			}
		}
	}
	if len(replicas) > 0 {
		return replicas
	}
	return primaries
}
