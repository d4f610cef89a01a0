package engine

import (
	"cmp"
	"math"
	"slices"
)

// healing finds what keeps a shard without a primary, or is about to. A cluster
// that forms is healed too: servers that died before it was whole leave it
// without a quorum as well, and then it would never be.
func (c *comparison) healing() HealingFacts {
	var h HealingFacts
	h.HandOvers = c.handOvers()
	primaries := c.primaries()
	alive := 0
	for _, id := range primaries {
		if c.byID[id] != nil {
			alive++
		}
	}
	h.Quorum = alive > len(primaries)/2
	for _, id := range primaries {
		if c.byID[id] != nil {
			continue
		}
		heir := c.heir(id)
		if heir == nil {
			continue
		}
		if c.certainlyDead(id, len(primaries)) && c.electable(heir) {
			h.Elections = append(h.Elections, c.succeeding(heir, id))
		}
		if c.ended(id) && !c.silent(heir, id, runs) {
			h.TakeOvers = append(h.TakeOvers, c.succeeding(heir, id))
		}
	}
	slices.SortStableFunc(h.TakeOvers, func(a, b Succession) int {
		return cmp.Compare(c.unlike(b.PrimaryID), c.unlike(a.PrimaryID))
	})
	return h
}

// unlike is by how many bytes what the member's replicas have received differs. Where it differs most a takeover comes first:
// as soon as there is a quorum again Valkey elects by itself, and not always the one that has most.
func (c *comparison) unlike(id string) int64 {
	least, most := int64(math.MaxInt64), int64(0)
	for _, n := range c.replicas(id) {
		least, most = min(least, n.Server.Offset), max(most, n.Server.Offset)
	}
	return most - least
}

// primaries are the ids of the members that hold slots, sorted: those that may
// vote, whether they can be heard or not.
func (c *comparison) primaries() []string {
	var ids []string
	for id, slots := range c.claims {
		if len(slots) > 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// handOvers are the failovers that let primaries go whose Pod is being deleted
// while their server still runs: its preStop hook gives that moment.
func (c *comparison) handOvers() []Succession {
	var out []Succession
	for _, s := range append(slices.Clone(c.shards), c.leaving...) {
		if s.primary == nil || !podGoes(s.primary) {
			continue
		}
		stay := slices.DeleteFunc(slices.Clone(s.copies), func(n *Node) bool { return n == s.primary || podGoes(n) })
		if heir := c.successor(s, stay); heir != nil && c.electable(heir) {
			out = append(out, c.succeeding(heir, s.primary.Server.ID))
		}
	}
	return out
}

// electable says that the voters who answer know the replica, and that it knows
// them: it must have met them before it can have their votes, and to ask for them
// again and again would keep it from meeting anybody.
func (c *comparison) electable(replica *Node) bool {
	for _, id := range c.primaries() {
		if v := c.byID[id]; v != nil && (v.Server.Peer(replica.Server.ID) == nil || replica.Server.Peer(id) == nil) {
			return false
		}
	}
	return true
}

// podGoes says that the node's Pod is being deleted.
func podGoes(n *Node) bool { return n.Pod != nil && n.Pod.Deleting }

// freshest is the server that has received most of its primary's stream.
func freshest(nodes []*Node) *Node {
	return slices.MinFunc(nodes, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(b.Server.Offset, a.Server.Offset), cmp.Compare(a.Name, b.Name))
	})
}

func (c *comparison) succeeding(heir *Node, id string) Succession {
	s := Succession{Node: heir.Name, ID: heir.Server.ID, PrimaryID: id}
	if old := c.bearer(id); old != nil {
		s.Primary = old.Name
	}
	return s
}

// heir is the freshest replica of a member, of its own shard if there is one.
// It is nil when there is none that can be heard, or when one that cannot is
// reached by others: it may have received more, and what it alone has would be
// lost. One that has never been in sync has nothing, and waits for any other
// that may live; so does whoever takes over without a vote, for it may have been
// cut off from its primary and from that other.
func (c *comparison) heir(id string) *Node {
	if c.replicaUnheard(id) {
		return nil
	}
	replicas := c.replicas(id)
	if old := c.bearer(id); old != nil {
		if natives := c.natives(old.ShardIndex, id); len(natives) > 0 {
			replicas = natives
		}
	}
	if len(replicas) == 0 {
		return nil
	}
	heir := freshest(replicas)
	if heir.Server.Offset <= neverSynced && c.silent(heir, id, func(n *Node) bool { return !c.dead(n) }) {
		return nil
	}
	return heir
}

// replicas are the heard servers that follow the member.
func (c *comparison) replicas(id string) []*Node {
	return slices.DeleteFunc(slices.Clone(c.heard), func(n *Node) bool {
		return n.Server.Role != Replica || n.Server.PrimaryID != id || c.dead(n)
	})
}

// natives are the member's replicas that are of the shard and have been in sync since they started. What they have received
// of its stream can be compared, which that of a replica attached from elsewhere cannot: its offset may be of the stream
// that it followed before.
func (c *comparison) natives(shard int, id string) []*Node {
	return slices.DeleteFunc(c.replicas(id), func(n *Node) bool { return n.ShardIndex != shard || n.Server.Offset <= neverSynced })
}

// neverSynced is the replication offset of a replica that has not been in sync since it started: INFO calls it 1.
const neverSynced = 1

// silent says that a node of the heir's shard is not heard that may have what the heir lacks, by whether it may live.
func (c *comparison) silent(heir *Node, primary string, lives func(*Node) bool) bool {
	for i := range c.seen.Nodes {
		n := &c.seen.Nodes[i]
		if n.ShardIndex == heir.ShardIndex && n.LastID != "" && n.LastID != primary && !c.hears(n) && lives(n) {
			return true
		}
	}
	return false
}

// runs says that the node's Pod runs, as far as Kubernetes can tell.
func runs(n *Node) bool { return n.Pod != nil && !n.Pod.Ended() && !n.Pod.HostLost }

// replicaUnheard says that somebody reaches a replica of the member that does not
// answer. Who hangs or is cut off from all is suspected after a node timeout.
func (c *comparison) replicaUnheard(id string) bool {
	return slices.ContainsFunc(c.heard, func(n *Node) bool {
		return slices.ContainsFunc(n.Server.besides(c.heard), func(p *Peer) bool {
			return p.PrimaryID == id && p.Reachable()
		})
	})
}

// bearer is the node whose server bears the id, or bore it when it was last heard.
func (c *comparison) bearer(id string) *Node {
	for i := range c.seen.Nodes {
		n := &c.seen.Nodes[i]
		if n.LastID == id || n.Server != nil && n.Server.ID == id {
			return n
		}
	}
	return nil
}

// ended says that the member's server has ended for good: its container has, or
// its Pod is gone. A node that was removed took its Pod along before; that its
// server is not reached is asked for all the same.
func (c *comparison) ended(id string) bool {
	n := c.bearer(id)
	if n == nil {
		return !c.trusted(id)
	}
	return n.Pod == nil || n.Pod.Ended()
}

// trusted says that some server has a link to the member and does not suspect
// it. To wait for FAIL instead would be to wait for ever where too few are left
// to agree on it: a link to an address that is gone counts as one.
func (c *comparison) trusted(id string) bool {
	return slices.ContainsFunc(c.heard, func(n *Node) bool {
		p := n.Server.Peer(id)
		return p != nil && p.Reachable()
	})
}

// certainlyDead says that the member is dead beyond doubt: its server has
// ended, or its port refuses connections while most primaries have lost their
// link to it. Neither sign comes from a server that hangs or is cut off, and a
// network that only the operator sees broken does not give the second.
func (c *comparison) certainlyDead(id string, primaries int) bool {
	if c.ended(id) {
		return true
	}
	if n := c.bearer(id); n == nil || n.Silence != SilenceRefused {
		return false // Of a server without a node nobody knows whether its port refuses.
	}
	unlinked := 0
	for _, n := range c.heard {
		if len(c.claims[n.Server.ID]) == 0 || n.Server.Role != Primary {
			continue
		}
		if p := n.Server.Peer(id); p != nil && (!p.Linked || p.Failed) {
			unlinked++
		}
	}
	return unlinked > primaries/2
}

// SilenceRefused is the Silence of a server whose port refuses connections:
// the machine answers, and nothing listens there.
const SilenceRefused = "refused"
