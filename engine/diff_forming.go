package engine

import (
	"slices"

	"valkey.gomomento.com/operator/engine/topology"
)

// preparations ready every server that has met nobody yet: each gets a config
// epoch of its own, so that no two collide later, and one server of a shard
// without an owner gets the slots nobody holds.
func (c *comparison) preparations() []Preparation {
	slots := c.handOut()
	epoch := c.highestEpoch()
	var out []Preparation
	for i := range c.seen.Nodes {
		n := &c.seen.Nodes[i]
		if !c.hears(n) || c.dead(n) {
			continue
		}
		p := Preparation{Node: n.Name, ID: n.Server.ID, Slots: slots[n.Name]}
		if n.Server.Alone() && n.Server.Epoch() == 0 {
			epoch++
			p.Epoch = epoch
		}
		if p.Epoch == 0 && len(p.Slots) == 0 {
			continue
		}
		if c.creating {
			p.Settings = map[string]string{nodeTimeoutDirective: c.want.FormingNodeTimeout}
		}
		out = append(out, p)
	}
	return out
}

// orphaned counts the slots that servers of a cluster which was whole once are given: whoever held them is gone for good.
func (c *comparison) orphaned(preparations []Preparation) int {
	if c.creating {
		return 0
	}
	n := 0
	for i := range preparations {
		n += topology.Count(preparations[i].Slots)
	}
	return n
}

// highestEpoch is the highest epoch any server speaks of.
func (c *comparison) highestEpoch() int64 {
	highest := int64(0)
	for _, n := range c.heard {
		highest = max(highest, n.Server.CurrentEpoch)
		for i := range n.Server.Peers {
			highest = max(highest, n.Server.Peers[i].Epoch)
		}
	}
	return highest
}

// handOut gives the slots nobody holds to the servers that should: to each
// shard without an owner its even share, and what is left over to the shard
// with the fewest.
func (c *comparison) handOut() map[string][]SlotRange {
	out := map[string][]SlotRange{}
	if c.covered {
		return out
	}
	free := c.unassigned()
	if free.Count() == 0 {
		return out
	}
	chosen := c.choosePrimaries()
	even := topology.Even(len(c.shards))
	for i := range c.shards {
		if n := chosen[i]; n != nil && c.shards[i].primary == nil {
			if ranges := free.Within(even[i]); len(ranges) > 0 {
				out[n.Name] = ranges
				free.Remove(ranges...)
			}
		}
	}
	if n := c.fewestSlots(chosen, out); n != nil && !slices.Contains(chosen, nil) {
		if rest := free.Ranges(); len(rest) > 0 {
			out[n.Name] = append(out[n.Name], rest...)
		}
	}
	return out
}

// fewestSlots is the chosen primary that holds and is about to get the fewest slots.
func (c *comparison) fewestSlots(chosen []*Node, extra map[string][]SlotRange) *Node {
	var best *Node
	fewest := topology.SlotCount + 1
	for _, n := range chosen {
		if n == nil {
			continue
		}
		if count := topology.Count(c.claims[n.Server.ID]) + topology.Count(extra[n.Name]); count < fewest {
			best, fewest = n, count
		}
	}
	return best
}

// choosePrimaries names a primary for every shard: the one that holds its
// slots, or else a server that is free to, spread over zones. An entry is nil
// when a shard has nobody, or a replica that may yet be elected.
func (c *comparison) choosePrimaries() []*Node {
	could := make([][]*Node, len(c.shards)) // sorted by name
	zones := make([][]string, len(c.shards))
	for i, s := range c.shards {
		switch {
		case s.primary != nil:
			could[i] = []*Node{s.primary}
		default:
			could[i] = c.mayBeGivenSlots(s)
		}
		for _, n := range could[i] {
			zones[i] = append(zones[i], zone(n))
		}
	}
	chosen := make([]*Node, len(c.shards))
	for i, picked := range topology.Spread(zones) {
		if at := slices.Index(zones[i], picked); at >= 0 {
			chosen[i] = could[i][at]
		}
	}
	return chosen
}

// mayBeGivenSlots are the nodes of a shard without slots that may get some: all of
// them answer, and none is a replica that may yet be elected. One that somebody
// has attached to another shard's primary is no such replica: what it had of its
// own shard is gone, and it comes back to whoever gets the slots. Those that have
// replicas already come before those that have none.
func (c *comparison) mayBeGivenSlots(s shard) []*Node {
	var free, followed []*Node
	for _, n := range s.nodes {
		switch {
		case !c.hears(n):
			return nil
		case c.held(n) > 0: // it leads another shard
		case n.Server.Role == Primary:
			free = append(free, n)
		}
	}
	for _, n := range s.nodes {
		if n.Server.Role == Primary || c.elsewhere(s, n.Server.PrimaryID) {
			continue
		}
		head := c.byID[n.Server.PrimaryID]
		if !slices.Contains(free, head) {
			return nil
		}
		if !slices.Contains(followed, head) {
			followed = append(followed, head)
		}
	}
	if len(followed) > 0 {
		return followed
	}
	return free
}

func zone(n *Node) string {
	if n.Pod == nil {
		return ""
	}
	return n.Pod.Zone
}

// machine is the Kubernetes node that the node's Pod runs on, "" while it has none.
func machine(n *Node) string {
	if n.Pod == nil {
		return ""
	}
	return n.Pod.HostNode
}

// introductions are the meetings that are still due between servers that are
// prepared. A handshake under way is given its time.
func (c *comparison) introductions() []Introduction {
	meets := map[string][]Acquaintance{}
	knows := make([]bool, len(c.heard))
	for i, n := range c.heard {
		knows[i] = c.knowsAll(n.Server)
	}
	for i, a := range c.heard {
		for j := i + 1; j < len(c.heard); j++ {
			if b := c.heard[j]; (!knows[i] || !knows[j]) && c.strangers(a, b) {
				meets[a.Name] = append(meets[a.Name], acquaint(b))
			}
		}
	}
	var out []Introduction
	for i := range c.seen.Nodes {
		if n := &c.seen.Nodes[i]; len(meets[n.Name]) > 0 {
			out = append(out, Introduction{Node: n.Name, ID: n.Server.ID, Meets: meets[n.Name]})
		}
	}
	return out
}

// knowsAll says that the server has a line about every server that answers.
func (c *comparison) knowsAll(s *Server) bool {
	return len(s.Peers)-len(s.besides(c.heard)) == len(c.heard)
}

// strangers says that two servers that may meet do not both know each other,
// and are not shaking hands. Either may begin: a MEET is answered with a MEET.
func (c *comparison) strangers(a, b *Node) bool {
	if a.Server.Peer(b.Server.ID) != nil && b.Server.Peer(a.Server.ID) != nil {
		return false
	}
	return c.ready(a) && c.ready(b) && !a.Server.meeting(b.Pod.IP) && !b.Server.meeting(a.Pod.IP)
}

func acquaint(n *Node) Acquaintance {
	return Acquaintance{Node: n.Name, ID: n.Server.ID, IP: n.Pod.IP}
}

// ready says that the server may meet others: it has an epoch, or has met somebody.
func (c *comparison) ready(n *Node) bool {
	return c.hears(n) && n.Pod != nil && !c.dead(n) && n.Lifecycle != Leaving && (!n.Server.Alone() || n.Server.Epoch() > 0)
}

// attachments make every server without slots a replica of its shard's primary.
func (c *comparison) attachments() []Attachment {
	var out []Attachment
	for _, s := range c.shards {
		if s.head == nil {
			continue
		}
		for _, n := range s.nodes {
			if n == s.head || !c.hears(n) || n.Server.Role == Replica || len(c.claims[n.Server.ID]) > 0 || n.Lifecycle == Leaving {
				continue
			}
			out = append(out, Attachment{Node: n.Name, ID: n.Server.ID, PrimaryID: s.head.Server.ID})
		}
	}
	slices.SortFunc(out, func(a, b Attachment) int { return compareText(a.Node, b.Node) })
	return out
}

// strayed are the replicas that follow whom they should not, with the primary of their own shard.
func (c *comparison) strayed() []Attachment {
	var out []Attachment
	for _, s := range c.shards {
		if s.head == nil {
			continue
		}
		for _, n := range s.nodes {
			if n != s.head && c.hears(n) && n.Server.Role == Replica && n.Lifecycle != Leaving && c.astray(s, n.Server.PrimaryID) {
				out = append(out, Attachment{Node: n.Name, ID: n.Server.ID, PrimaryID: s.head.Server.ID})
			}
		}
	}
	slices.SortFunc(out, func(a, b Attachment) int { return compareText(a.Node, b.Node) })
	return out
}

// elsewhere says that the member is heard, and a primary of another shard.
func (c *comparison) elsewhere(s shard, primary string) bool {
	other := c.byID[primary]
	return other != nil && other.Server.Role == Primary && other.ShardIndex != s.index
}

// astray says that replicas of the shard should not follow this primary: it is another shard's, where somebody has attached
// them, and what they hold is not the last of it, since it is heard or a replica of its own shard is; or it died before it
// got a slot. Such a one nobody elects a successor of, and what its replicas hold is nobody's.
func (c *comparison) astray(s shard, primary string) bool {
	if c.byID[primary] != nil {
		return c.elsewhere(s, primary)
	}
	if dead := c.bearer(primary); dead != nil && dead.ShardIndex != s.index && len(c.natives(dead.ShardIndex, primary)) > 0 {
		return true
	}
	return c.covered && len(c.claims[primary]) == 0 && c.ended(primary)
}

// reclaims are the failovers that give shards which another one's server leads back to their own.
func (c *comparison) reclaims() (foreign []string, back []Succession) {
	for _, s := range c.shards {
		if s.foreign == nil {
			continue
		}
		foreign = append(foreign, s.foreign.Name)
		copies := slices.DeleteFunc(slices.Clone(s.nodes), func(n *Node) bool { return !c.follows(n, s.foreign) })
		if heir := c.successor(s, copies); heir != nil && c.electable(heir) {
			back = append(back, c.succeeding(heir, s.foreign.Server.ID))
		}
	}
	return foreign, back
}
