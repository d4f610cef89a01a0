package engine

import (
	"fmt"
	"slices"

	"valkey.gomomento.com/operator/engine/directive"
)

// rolling finds the next step that brings members to the specs of today, or
// replaces one that somebody deleted: one shard at a time, in the order of
// their indices.
//
// A shard under way gets as many new servers as it lacks; when they are in
// sync, one of them takes over if the primary is to go, and then the old ones
// leave. So at no moment are there fewer copies than the target asks for.
func (c *comparison) rolling(f *Facts) RollingFacts {
	var r RollingFacts
	if c.creating || c.want.Problem != "" {
		return r
	}
	first := 0 // the shard under way
	for _, s := range c.shards {
		for _, n := range s.nodes {
			if c.joined(n) && c.superseded(n) && !podGoes(n) {
				if len(r.Outdated) == 0 {
					first = s.index
				}
				r.Outdated = append(r.Outdated, n.Name)
			}
		}
	}
	if len(r.Outdated) == 0 {
		return r
	}
	s := c.shards[first]
	stay := c.keepers(s)
	r.Begun, r.Stalled = c.begun()
	r.Surge = c.surge(f, s)
	r.Successions = c.succession(s, stay)
	r.Retirements = c.retirable(s, stay)
	r.Waiting = c.waitsFor(f, s, stay)
	if refused := c.refused(); refused != "" {
		r.Surge, r.Waiting = nil, refused
	} else if !r.Begun && c.seen.RollHeld != "" {
		r.Surge, r.Waiting = nil, c.seen.RollHeld
	}
	return r
}

// refused says why servers of the specs of today could never take over the data
// there is, "" when nothing speaks against it.
func (c *comparison) refused() string {
	if refused := c.tooOld(); refused != "" {
		return refused
	}
	return c.tooSmall()
}

// tooSmall says which primary holds more than a smaller successor may. A replica
// does not mind maxmemory while it takes the data over (replica-ignore-maxmemory),
// and is ended by the kernel where its Pod's limit is, over and over.
func (c *comparison) tooSmall() string {
	limit, known := directive.Bytes(c.want.Node.Settings["maxmemory"])
	if !known || limit <= 0 {
		return ""
	}
	for _, n := range c.heard {
		if used := n.Server.UsedMemory; n.Spec.Memory != c.want.Node.Memory && used > limit && len(c.claims[n.Server.ID]) > 0 {
			return fmt.Sprintf("%s holds %d MiB, more than the %d MiB (maxmemory) of the new spec: remove data, lower maxmemory first so that the server evicts it, or keep the memory",
				n.Name, used>>20, limit>>20)
		}
	}
	return ""
}

// tooOld says why servers of the wanted version could never load the data.
// Releases before 9.0 know no time to live of a field, and a newer primary cannot
// even write such a key down for them (rdbSaveObjectType in valkey/src/rdb.c):
// their replica would be sent nothing, over and over.
func (c *comparison) tooOld() string {
	if c.want.Version == "" || Since9.Holds(c.want.Version) {
		return ""
	}
	for _, n := range c.heard {
		if n.Server.FieldTTLs > 0 && len(c.claims[n.Server.ID]) > 0 {
			return fmt.Sprintf("%s holds %d keys whose fields have times to live, which Valkey %s cannot load: persist or remove them, or keep the version",
				n.Name, n.Server.FieldTTLs, c.want.Version)
		}
	}
	return ""
}

// begun says whether any server with the specs of today is there, and what is
// wrong with those that do not come up.
func (c *comparison) begun() (begun bool, stalled string) {
	for _, s := range c.shards {
		for _, n := range s.nodes {
			if c.superseded(n) {
				continue
			}
			begun = true
			if n.Pod != nil && n.Pod.Trouble != "" && stalled == "" {
				stalled = n.Name + reason(n.Pod.Trouble)
			}
		}
	}
	return begun, stalled
}

// surge are the new servers that the shard needs for its roll. The first of a
// roll is created alone: if it does not come up, nothing else has been touched.
func (c *comparison) surge(f *Facts, s shard) []NewNode {
	if !c.sound(f) {
		return nil
	}
	lacks := c.target.perShard() - len(c.keepers(s))
	if lacks > 0 && !c.proven() {
		lacks = min(lacks, 1-c.unproven(s))
	}
	var out []NewNode
	for range lacks {
		out = append(out, NewNode{ShardIndex: s.index, Join: JoinReplica})
	}
	return out
}

// sound says that nothing is under repair: every node answers, every shard has
// all its copies, and nobody doubts who holds what.
func (c *comparison) sound(f *Facts) bool {
	if len(f.Nodes.Starting)+len(f.Nodes.Silent)+len(f.Nodes.Dead)+len(f.Nodes.Missing)+len(f.Nodes.Unprovisioned) > 0 {
		return false
	}
	if !f.Members.Agreed || !f.Slots.Agreed || !c.covered {
		return false
	}
	return !slices.ContainsFunc(c.shards, func(s shard) bool { return len(s.copies) < c.target.perShard() })
}

// proven says that some server with the specs of today has joined and holds its shard's data.
func (c *comparison) proven() bool {
	return slices.ContainsFunc(c.shards, func(s shard) bool {
		return slices.ContainsFunc(s.copies, func(n *Node) bool { return !c.superseded(n) })
	})
}

// unproven counts the shard's nodes that are as they should be and yet to be proven.
func (c *comparison) unproven(s shard) int {
	count := 0
	for _, n := range s.nodes {
		if !c.superseded(n) {
			count++
		}
	}
	return count
}

// succession is the failover that lets a primary go which is not to stay: to a
// server that does and is in sync, once all that are to stay are. So there is
// one failover, and it leaves the copies complete.
func (c *comparison) succession(s shard, stay []*Node) []Succession {
	if s.primary == nil || slices.Contains(stay, s.primary) || len(stay) < c.target.perShard() {
		return nil
	}
	for _, n := range stay {
		if !slices.Contains(s.copies, n) {
			return nil
		}
	}
	return []Succession{c.succeeding(c.successor(s, stay), s.primary.Server.ID)}
}

// excess are the members beyond the target in shards that stay, and that no
// roll is about to use: what fewer replicas per shard leave over.
func (c *comparison) excess() []Retirement {
	if c.creating || !c.covered {
		return nil
	}
	var out []Retirement
	for _, s := range c.shards {
		if len(s.nodes) > c.target.perShard() && !slices.ContainsFunc(s.nodes, c.unwanted) {
			out = append(out, c.retirable(s, c.keepers(s))...)
		}
	}
	return out
}
