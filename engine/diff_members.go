package engine

import (
	"fmt"
	"slices"

	"valkey.gomomento.com/operator/engine/topology"
)

// agreed says that every server that answers knows every other by a bus link
// that stands, suspects none of them, and is shaking no hands. One server alone
// agrees with itself; none at all agree on nothing.
func (c *comparison) agreed() bool {
	for _, n := range c.heard {
		if !c.knowsEveryone(n.Server) {
			return false
		}
	}
	return len(c.heard) > 0
}

// knowsEveryone walks two lists sorted by id, the peers and the heard.
func (c *comparison) knowsEveryone(s *Server) bool {
	next := 0
	for i := range s.Peers {
		p := &s.Peers[i]
		if p.Handshake {
			return false
		}
		if next < len(c.heard) && p.ID == c.heard[next].Server.ID {
			if !p.Myself && !p.Reachable() {
				return false
			}
			next++
		}
	}
	return next == len(c.heard)
}

func (c *comparison) slots() SlotFacts {
	var held topology.Set
	f := SlotFacts{Agreed: len(c.heard) > 0, Known: len(c.heard) > 0}
	for _, n := range c.heard {
		mine := c.claims[n.Server.ID]
		if held.Overlaps(mine...) {
			f.Agreed = false
		}
		held.Add(mine...)
	}
	f.Covered = held.Count()
	for _, n := range c.heard {
		agrees, known := c.agrees(n.Server)
		f.Agreed = f.Agreed && agrees
		f.Known = f.Known && known
	}
	return f
}

// agrees says whether the server's view names the owners that claim their
// slots, and whether it knows an owner for every slot.
func (c *comparison) agrees(s *Server) (agrees, known bool) {
	agrees = true
	count := 0
	for i := range s.Peers {
		p := &s.Peers[i]
		count += topology.Count(p.Slots)
		if len(p.Slots) > 0 && !slices.Equal(p.Slots, c.claims[p.ID]) {
			agrees = false
		}
	}
	return agrees, count == topology.SlotCount
}

// unassigned are the slots that are known to be nobody's: no view gives them to
// anybody. While a server that ran once is alive and cannot be heard, no slot
// is known to be free, since it may hold any and serve it to clients.
func (c *comparison) unassigned() *topology.Set {
	if c.unheard() {
		return &topology.Set{}
	}
	free := topology.All()
	for _, ranges := range c.claims {
		free.Remove(ranges...)
	}
	for _, n := range c.heard {
		for i := range n.Server.Peers {
			free.Remove(n.Server.Peers[i].Slots...)
		}
	}
	return free
}

// unheard says that some server that ran once does not answer and is not dead.
func (c *comparison) unheard() bool {
	for i := range c.seen.Nodes {
		if n := &c.seen.Nodes[i]; !c.hears(n) && !c.dead(n) && (n.LastID != "" || n.Lifecycle != Joining) {
			return true
		}
	}
	return false
}

// departed are the members to forget: ids that belong to no node whose server may
// return, that every server which knows them has lost touch with, and that hold
// nothing a living replica could still take over. A primary must stay known until
// its replica is elected, since voters do not grant a vote for a shard they forgot
// (clusterSendFailoverAuthIfNeeded in valkey/src/cluster_legacy.c).
//
// Lingering are those of whom that cannot be said yet.
func (c *comparison) departed() (gone []Oblivion, lingering []string) {
	ours := map[string]bool{}
	for i := range c.seen.Nodes {
		if n := &c.seen.Nodes[i]; n.LastID != "" && c.mayReturn(n) {
			ours[n.LastID] = true
		}
	}
	knownBy := map[string][]string{}
	for _, n := range c.heard {
		for _, p := range n.Server.besides(c.heard) {
			if !p.Handshake && !ours[p.ID] {
				knownBy[p.ID] = append(knownBy[p.ID], n.Name)
			}
		}
	}
	for id, by := range knownBy {
		if !c.lost(id) || c.followed(id) {
			lingering = append(lingering, id)
			continue
		}
		slices.Sort(by)
		gone = append(gone, Oblivion{ID: id, By: by})
	}
	slices.SortFunc(gone, func(a, b Oblivion) int { return compareText(a.ID, b.ID) })
	slices.Sort(lingering)
	return gone, lingering
}

// lost says that no server that knows the member reaches it. To one that has
// failed a link means nothing: CLUSTER NODES calls it connected from the
// moment it is being opened, which to the address of a Pod that is gone goes
// on for ever.
func (c *comparison) lost(id string) bool {
	return !slices.ContainsFunc(c.heard, func(n *Node) bool {
		p := n.Server.Peer(id)
		return p != nil && p.Linked && !p.Failed
	})
}

// followed says that a server which lives, or may live unheard, is a replica of
// the member, or is said to be: what others take for failed may be no more than cut off.
func (c *comparison) followed(id string) bool {
	return slices.ContainsFunc(c.heard, func(n *Node) bool {
		if n.Server.PrimaryID == id {
			return true
		}
		return slices.ContainsFunc(n.Server.Peers, func(p Peer) bool {
			return p.PrimaryID == id && c.mayLive(p.ID)
		})
	})
}

// mayLive says that the id is that of a server which is heard, or of one of our nodes that is not dead.
func (c *comparison) mayLive(id string) bool {
	if c.byID[id] != nil {
		return true
	}
	n := c.bearer(id)
	return n != nil && !c.dead(n)
}

// UsersAnnotation on a Pod is Server.Users as its server had them when it was last told to load them. The revision is
// a user like others, which an edit of others by hand leaves as it is; and servers write users in words of their own,
// so that what they list cannot be compared with the file.
const UsersAnnotation = "valkey.gomomento.com/users-loaded"

// HasUsers says that the server has the users of the revision, and that nobody has edited them since it was told to
// load them.
func (n *Node) HasUsers(revision string) bool {
	if n.Server == nil || n.Server.Revision != revision {
		return false
	}
	return n.Pod == nil || n.Server.Users == "" || n.Server.Users == n.Pod.Annotations[UsersAnnotation]
}

// usersStale are the nodes whose server has loaded another ACL file than the
// specs ask for, or has other users than it had loaded.
func (c *comparison) usersStale() []string {
	if c.want.Problem != "" || c.want.ACLRevision == "" {
		return nil
	}
	var out []string
	for i := range c.seen.Nodes {
		if n := &c.seen.Nodes[i]; c.hears(n) && !c.dead(n) && !n.HasUsers(c.want.ACLRevision) {
			out = append(out, n.Name)
		}
	}
	return out
}

// unready says what is missing before the cluster may be called Active, "" when nothing is.
func (c *comparison) unready(f *Facts) string {
	switch {
	case c.target.Nodes() == 0:
		return "no topology"
	case len(c.heard) < c.target.Nodes():
		return fmt.Sprintf("%d of %d servers answer", len(c.heard), c.target.Nodes())
	case !f.Slots.Known || f.Slots.Covered != topology.SlotCount || !f.Slots.Agreed:
		return fmt.Sprintf("%d of %d slots assigned in every server's view", f.Slots.Covered, topology.SlotCount)
	case !f.Members.Agreed:
		return "not every server knows every other"
	}
	for _, s := range f.Shards {
		if s.InSync < 1+c.target.ReplicasPerShard {
			return fmt.Sprintf("shard %d has %d of %d servers in sync", s.Index, s.InSync, 1+c.target.ReplicasPerShard)
		}
	}
	for _, n := range c.heard {
		if !n.Server.ClusterOK {
			return fmt.Sprintf("%s reports cluster_state fail", n.Name)
		}
	}
	return ""
}

// workingJoiners are the members in working order whose lifecycle says Joining.
func (c *comparison) workingJoiners(f *Facts) []string {
	if !f.Members.Agreed {
		return nil
	}
	var out []string
	for _, s := range c.shards {
		for _, n := range s.copies {
			if n.Lifecycle == Joining {
				out = append(out, n.Name)
			}
		}
	}
	slices.Sort(out)
	return out
}
