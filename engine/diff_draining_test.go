package engine

import (
	"fmt"
	"strings"
	"testing"
)

// steps are a drain's next steps in a few words.
func (d *DrainingFacts) steps() string {
	var out []string
	for _, n := range d.Surge {
		out = append(out, fmt.Sprint("create in ", n.ShardIndex))
	}
	for _, s := range d.Successions {
		out = append(out, s.Node+" after "+s.Primary)
	}
	for _, r := range d.Retirements {
		out = append(out, "retire "+r.Node)
	}
	return strings.Join(out, ", ")
}

func TestStepsOfADrain(t *testing.T) {
	type nodes = map[string]*Node
	cases := map[string]struct {
		topology Topology
		// third says that shard 0 has a third member, 0c.
		third   bool
		happens func(nodes)
		want    string
	}{
		"nothing is cordoned":              {Topology{1, 1}, false, func(nodes) {}, ""},
		"a replica":                        {Topology{1, 1}, false, func(n nodes) { cordon(n, "0b") }, "create in 0"},
		"members of three shards":          {Topology{3, 1}, false, func(n nodes) { cordon(n, "0b", "1a", "2b") }, "create in 0, create in 1, create in 2"},
		"a whole shard":                    {Topology{2, 1}, false, func(n nodes) { cordon(n, "1a", "1b") }, "create in 1, create in 1"},
		"a Pod that is evicted already":    {Topology{1, 1}, false, func(n nodes) { cordon(n, "0b"); n["0b"].Pod.Deleting = true }, ""},
		"no primary is known":              {Topology{1, 1}, false, func(n nodes) { cordon(n, "0b"); n["0a"].Server = nil }, ""},
		"a successor that does not run":    {Topology{1, 1}, true, func(n nodes) { cordon(n, "0a"); n["0c"].Pod.Phase, n["0c"].Server = "Pending", nil }, ""},
		"a successor that is not in sync":  {Topology{1, 1}, true, func(n nodes) { cordon(n, "0a"); n["0c"].Server.LinkUp = false }, ""},
		"a replica's successor is in sync": {Topology{1, 1}, true, func(n nodes) { cordon(n, "0b") }, "retire 0b"},
		"a primary's successor is in sync": {Topology{1, 1}, true, func(n nodes) { cordon(n, "0a") }, "0b after 0a"},
		"one that a roll will not replace": {Topology{1, 1}, true, func(n nodes) { cordon(n, "0a"); n["0b"].Spec.Image = "older" }, "0c after 0a"},
		"one that is outdated if need be":  {Topology{1, 1}, true, func(n nodes) { cordon(n, "0a"); n["0b"].Spec.Image, n["0c"].Spec.Image = "older", "older" }, "0b after 0a"},
	}
	for name, c := range cases {
		s, d := formed(c.topology)
		if c.third {
			s.Nodes = append(s.Nodes, member(0, 2, SlotRange{}))
			introduce(s)
		}
		byName := nodes{}
		for i := range s.Nodes {
			byName[s.Nodes[i].Name] = &s.Nodes[i]
		}
		c.happens(byName)
		f := Diff(*s, *d)
		if got := f.Draining.steps(); got != c.want {
			t.Errorf("%s: %q, want %q (waiting: %s)", name, got, c.want, f.Draining.Waiting)
		}
	}
}

func cordon(nodes map[string]*Node, names ...string) {
	for _, name := range names {
		nodes[name].Pod.Cordoned = true
	}
}

func TestPrimariesAreNotSpreadWhileANodeIsDrained(t *testing.T) {
	s, d := formed(Topology{3, 1})
	s.At = s.At.Add(2 * spreadAfter)
	for i := range s.Nodes {
		s.Nodes[i].Pod.Zone = []string{"a", "b"}[i%2]
	}
	if f := Diff(*s, *d); len(f.Rolling.Spreading) == 0 {
		t.Fatal("all primaries in one zone are left there")
	}
	s.Nodes[5].Pod.Cordoned = true
	if f := Diff(*s, *d); len(f.Rolling.Spreading) > 0 {
		t.Errorf("%+v", f.Rolling.Spreading)
	}
}
