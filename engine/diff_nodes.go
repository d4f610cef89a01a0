package engine

import (
	"maps"
	"slices"
)

func (c *comparison) nodes() NodeFacts {
	var f NodeFacts
	for i := range c.seen.Nodes {
		n := &c.seen.Nodes[i]
		f.Names = append(f.Names, n.Name)
		c.sortNode(n, &f)
	}
	f.Unannotated = c.unannotated()
	f.Answering = len(c.heard)
	f.Surplus = c.surplus()
	f.Missing = c.missing()
	return f
}

// sortNode puts a node where it belongs: at most one list of what keeps it from answering.
func (c *comparison) sortNode(n *Node, f *NodeFacts) {
	switch {
	case c.dead(n):
		if !parting(n) {
			f.Dead = append(f.Dead, n.Name)
		}
	case n.Lifecycle == Leaving:
		if c.hanging(n) {
			f.Hanging = append(f.Hanging, n.Name+reason(silence(n)))
		}
	case !c.joined(n) && c.outdated(n):
		f.Misconceived = append(f.Misconceived, n.Name)
	case n.Pod == nil || !n.HasConfig && !n.Pod.Ended():
		f.Unprovisioned = append(f.Unprovisioned, n.Name)
	case n.Pod.Phase != "Running":
		f.Starting = append(f.Starting, n.Name+reason(n.Pod.Trouble))
	case !c.hears(n):
		f.Silent = append(f.Silent, n.Name+reason(silence(n)))
	case n.Lifecycle == Joining:
		f.Unsettled = append(f.Unsettled, n.Name)
	}
}

// hanging says that a node which leaves waits for its server. What is left of
// others goes by itself; the Pod of a server that hangs is not deleted until it
// has ended.
func (c *comparison) hanging(n *Node) bool { return n.Pod != nil && !podGoes(n) && !c.hears(n) }

// parting says that all has been done to remove the node, and its Pod's end is all that is waited for.
func parting(n *Node) bool { return n.Deleting && podGoes(n) }

// reason is " (why)", or nothing.
func reason(why string) string {
	if why == "" {
		return ""
	}
	return " (" + why + ")"
}

func silence(n *Node) string {
	if n.Server != nil {
		return "loading its data"
	}
	return n.Silence
}

// dead says that the node is gone for good: its container has ended, its Pod
// vanished after its server was known, its Kubernetes node is lost with it, or
// somebody deleted it before it joined. A member that somebody deletes goes on
// serving: its finalizer keeps its Pod, and to end it would take its data away. A
// node that ended before it joined, although made as it should be, is left to be
// read for a while first.
func (c *comparison) dead(n *Node) bool {
	switch {
	case n.Pod == nil:
		return n.Deleting || n.LastID != ""
	case n.Deleting && !c.joined(n):
		return true
	case n.Pod.Ended():
		return c.joined(n) || c.outdated(n) || c.seen.At.Sub(n.Created) >= retryDeadAfter
	default:
		return hostLost(n) && c.abandoned(n)
	}
}

// hostLost says that nobody reports what becomes of the node's Pod.
func hostLost(n *Node) bool { return n.Pod != nil && n.Pod.HostLost && !n.Pod.Ended() }

// mayReturn says that the node's server lives, or that it may be heard again: one
// that is lost with its Kubernetes node may come back until its Pod is struck off.
func (c *comparison) mayReturn(n *Node) bool { return !c.dead(n) || hostLost(n) }

// abandoned says of a node whose Kubernetes node is lost that it is lost too, as
// far as anybody can tell: it does not answer, and those who do are a majority
// and have failed it. The slots of a primary must be others' by then: those that
// nobody could take over may come back with the machine, and are given up
// when its Pod is.
func (c *comparison) abandoned(n *Node) bool {
	if n.Server != nil {
		return false
	}
	if !c.joined(n) {
		return true
	}
	if len(c.claims[n.LastID]) > 0 && !podGoes(n) {
		return false
	}
	voters, heard := c.primaries(), 0
	for _, id := range voters {
		v := c.byID[id]
		if v == nil {
			continue
		}
		if p := v.Server.Peer(n.LastID); p != nil && !p.Failed {
			return false
		}
		heard++
	}
	return heard > len(voters)/2
}

// joined says that the node is or was a member: somebody knows its server, or
// it knows somebody, or it holds slots.
func (c *comparison) joined(n *Node) bool {
	id := n.LastID
	if n.Server != nil {
		id = n.Server.ID
		if !n.Server.Alone() || len(c.claims[id]) > 0 {
			return true
		}
	}
	return n.Lifecycle != Joining || (id != "" && c.known(id))
}

// known says that a server other than the one with this id knows the id.
func (c *comparison) known(id string) bool {
	return slices.ContainsFunc(c.heard, func(n *Node) bool {
		return n.Server.ID != id && n.Server.Peer(id) != nil
	})
}

// outdated says that the node does not have the spec it should. Specs that do
// not resolve outdate nothing. zoneSpread concerns future Pods
// only, and a certificate reaches a server in place, whichever Secret it is from.
func (c *comparison) outdated(n *Node) bool {
	old, known := c.stale[n]
	if !known {
		old = c.want.Problem == "" && c.differsFromSpec(n)
		c.stale[n] = old
	}
	return old
}

func (c *comparison) differsFromSpec(n *Node) bool {
	have, want := &n.Spec, &c.want.Node
	return have.Image != want.Image || have.CPU != want.CPU || have.Memory != want.Memory ||
		!slices.Equal(have.Placement.Zones, want.Placement.Zones) ||
		!maps.Equal(have.Placement.NodeSelector, want.Placement.NodeSelector) ||
		c.settingsOutdate(n)
}

// unannotated are the nodes whose Pod lacks an annotation it should have, or has
// another value of it. Annotations that nobody asks for any more stay.
func (c *comparison) unannotated() []string {
	if c.want.Problem != "" {
		return nil
	}
	var out []string
	for i := range c.seen.Nodes {
		n := &c.seen.Nodes[i]
		if n.Pod == nil || n.Pod.Deleting || c.dead(n) {
			continue
		}
		for key, value := range c.want.PodAnnotations {
			if have, ok := n.Pod.Annotations[key]; !ok || have != value {
				out = append(out, n.Name)
				break
			}
		}
	}
	return out
}

// surplus are the nodes beyond the target that never joined, latest made first
// to go, and those that a cordon has caught before they run.
func (c *comparison) surplus() []string {
	if c.want.Problem != "" && c.seen.Cluster.Kept == nil {
		return nil
	}
	var out []string
	for i := range c.seen.Nodes {
		n := &c.seen.Nodes[i]
		if (n.ShardIndex >= c.target.Shards || stranded(n)) && !c.joined(n) && !c.dead(n) {
			out = append(out, n.Name)
		}
	}
	for _, s := range c.shards {
		out = append(out, c.surplusOf(s)...)
	}
	slices.Sort(out)
	return out
}

// stranded says that the node's Pod was placed on a Kubernetes node that is cordoned now, and does not run.
func stranded(n *Node) bool { return cordoned(n) && n.Pod.Phase == "Pending" }

// surplusOf are the shard's nodes beyond the target among those that are as they
// should be. While a roll goes on the old ones are there besides.
func (c *comparison) surplusOf(s shard) []string {
	var fit []*Node
	for _, n := range s.nodes {
		if !c.unwanted(n) {
			fit = append(fit, n)
		}
	}
	over := len(fit) - c.target.perShard()
	slices.SortStableFunc(fit, func(a, b *Node) int { return b.Created.Compare(a.Created) })
	var out []string
	for _, n := range fit {
		if len(out) < over && !c.joined(n) {
			out = append(out, n.Name)
		}
	}
	return out
}

// missing are the nodes the target lacks, shard by shard.
func (c *comparison) missing() []NewNode {
	var out []NewNode
	for i, s := range c.shards {
		staying := slices.DeleteFunc(slices.Clone(s.nodes), podGoes)
		for range c.target.perShard() - len(staying) {
			out = append(out, NewNode{ShardIndex: i, Join: c.joinType(s)})
		}
	}
	return out
}

func (c *comparison) joinType(s shard) JoinType {
	switch {
	case c.creating:
		return ""
	case len(s.nodes) > 0:
		return JoinReplica
	case c.covered:
		return JoinShard
	default:
		return JoinPrimary
	}
}

// complete says that every node of the target answers with the spec it should have.
func (c *comparison) complete(f *Facts) bool {
	if len(f.Nodes.Missing)+len(f.Nodes.Misconceived)+len(f.Nodes.Surplus)+len(f.Nodes.Dead) > 0 {
		return false
	}
	return c.target.Nodes() > 0 && len(c.heard) == c.target.Nodes()
}
