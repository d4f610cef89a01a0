package engine

import (
	"fmt"
	"slices"
	"strings"
)

// draining finds the next steps that empty cordoned Kubernetes nodes: what is
// about to be evicted is replaced before.
//
// It goes as a roll does, a new server first and the old one last, but in every
// shard at once: no shard's steps touch another's copies, and people wait for
// the machine. What a member is made from plays no part, so that an edit of the
// specs is neither hurried nor waited for.
func (c *comparison) draining(f *Facts) DrainingFacts {
	var d DrainingFacts
	if c.creating {
		return d
	}
	for _, s := range c.shards {
		members := len(d.Members)
		for _, n := range s.nodes {
			if cordoned(n) && c.joined(n) && !podGoes(n) {
				d.Members = append(d.Members, n.Name)
			}
		}
		if len(d.Members) > members {
			c.drain(f, s, &d)
		}
	}
	return d
}

// drain adds the steps of one shard.
func (c *comparison) drain(f *Facts, s shard, d *DrainingFacts) {
	stay := c.stayers(s, uprooted)
	surge, hindrance := c.drainSurge(f, s, c.target.perShard()-len(stay))
	d.Surge = append(d.Surge, surge...)
	d.Successions = append(d.Successions, c.succession(s, stay)...)
	d.Retirements = append(d.Retirements, c.retirable(s, stay)...)
	if d.Waiting == "" {
		d.Waiting = hindrance
	}
	if d.Waiting == "" {
		d.Waiting = c.waitsFor(f, s, stay)
	}
}

// drainSurge are the new servers for a shard that lacks so many, those aside that
// are missing anyway, or why there are to be none.
func (c *comparison) drainSurge(f *Facts, s shard, lacks int) (surge []NewNode, hindrance string) {
	for _, missing := range f.Nodes.Missing {
		if missing.ShardIndex == s.index {
			lacks--
		}
	}
	switch refused := c.refused(); {
	case lacks <= 0:
		return nil, ""
	case s.head == nil:
		return nil, fmt.Sprintf("shard %d: a primary to follow", s.index)
	case !f.Spec.Repairable:
		return nil, fmt.Sprintf("shard %d: a spec from which servers can be made", s.index)
	case refused != "":
		return nil, refused
	}
	for range lacks {
		surge = append(surge, NewNode{ShardIndex: s.index, Join: JoinReplica})
	}
	return surge, ""
}

// waitsFor says what keeps the members that are to go from going, when those that stay are given.
func (c *comparison) waitsFor(f *Facts, s shard, stay []*Node) string {
	if trouble := append(slices.Clone(f.Nodes.Starting), f.Nodes.Silent...); len(trouble) > 0 {
		return fmt.Sprintf("shard %d: %s to run", s.index, strings.Join(trouble, ", "))
	}
	if len(f.Nodes.Hanging) > 0 {
		return fmt.Sprintf("shard %d: %s to end", s.index, strings.Join(f.Nodes.Hanging, ", "))
	}
	synced := 0
	for _, n := range stay {
		if slices.Contains(s.copies, n) {
			synced++
		}
	}
	return fmt.Sprintf("shard %d: %d of %d servers that stay are in sync", s.index, synced, c.target.perShard())
}
