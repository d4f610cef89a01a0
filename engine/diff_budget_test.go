package engine

import (
	"fmt"
	"slices"
	"testing"

	"valkey.gomomento.com/operator/engine/topology"
)

// formed is a cluster in working order: shard 0 has the nodes 0a, its primary, 0b and so on.
func formed(t Topology) (*Snapshot, *Desired) {
	s := &Snapshot{Cluster: Cluster{State: "Active", Finalizer: true, Kept: &t}}
	for shard, slots := range topology.Even(t.Shards) {
		for i := range t.perShard() {
			s.Nodes = append(s.Nodes, member(shard, i, slots))
		}
	}
	introduce(s)
	return s, &Desired{Topology: t, Version: "9.1.2"}
}

// member is a node that works: the first of its shard holds the slots, the others follow it.
func member(shard, i int, slots SlotRange) Node {
	name := fmt.Sprintf("%d%c", shard, 'a'+i)
	me := Peer{ID: name, Role: Primary, Linked: true, Slots: []SlotRange{slots}}
	if i > 0 {
		me.Role, me.PrimaryID, me.Slots = Replica, fmt.Sprintf("%da", shard), nil
	}
	return Node{
		Name: name, LastID: name, ShardIndex: shard, Lifecycle: Active, HasConfig: true,
		Pod:    &Pod{Phase: "Running", HostNode: "host"},
		Server: &Server{ID: name, Version: "9.1.2", Role: me.Role, PrimaryID: me.PrimaryID, LinkUp: i > 0, Peers: []Peer{me}},
	}
}

// introduce lets every server know every other.
func introduce(s *Snapshot) {
	var all []Peer
	for i := range s.Nodes {
		all = append(all, s.Nodes[i].Server.Peers[0])
	}
	for i := range s.Nodes {
		peers := slices.Clone(all)
		peers[i].Myself = true
		s.Nodes[i].Server.Peers = peers
	}
}

func TestHowManyPodsMustStay(t *testing.T) {
	cases := map[string]struct {
		topology Topology
		happens  func(*Snapshot, *Desired)
		keep     int
	}{
		"at rest one may go":                     {Topology{3, 1}, nil, 5},
		"of more copies one at a time, too":      {Topology{3, 2}, nil, 8},
		"an only copy may not":                   {Topology{3, 0}, nil, 3},
		"nor any while a replica is out of sync": {Topology{2, 1}, func(s *Snapshot, _ *Desired) { s.Nodes[1].Server.LinkUp = false }, 4},
		"nor while a server is silent":           {Topology{2, 1}, func(s *Snapshot, _ *Desired) { s.Nodes[1].Server = nil }, 4},
		"nor while a node is missing":            {Topology{2, 1}, func(s *Snapshot, _ *Desired) { s.Nodes = s.Nodes[:3] }, 4},
		"nor while a Pod goes":                   {Topology{2, 1}, func(s *Snapshot, _ *Desired) { s.Nodes[1].Pod.Deleting = true }, 4},
		"a Pod that has ended is not counted":    {Topology{2, 1}, func(s *Snapshot, _ *Desired) { s.Nodes[1].Pod.Phase, s.Nodes[1].Server = "Failed", nil }, 4},
		"what a roll is about to make is":        {Topology{2, 1}, func(_ *Snapshot, d *Desired) { d.Node.Image = "newer" }, 5},
		"what a drain is about to make is":       {Topology{2, 1}, func(s *Snapshot, _ *Desired) { s.Nodes[0].Pod.Cordoned = true }, 5},
		"what leaves is needed for its slots":    {Topology{2, 1}, func(_ *Snapshot, d *Desired) { d.Topology.Shards = 1 }, 3},
		"and must be in sync":                    {Topology{2, 1}, func(s *Snapshot, d *Desired) { d.Topology.Shards, s.Nodes[3].Server.LinkUp = 1, false }, 4},
		"what is too much goes first":            {Topology{2, 2}, func(_ *Snapshot, d *Desired) { d.Topology.ReplicasPerShard = 1 }, 6},
		"a cluster that forms gives none":        {Topology{2, 1}, func(s *Snapshot, _ *Desired) { s.Cluster.Target = &Topology{2, 1} }, 4},
		"a spec that is refused changes nothing": {Topology{2, 1}, func(_ *Snapshot, d *Desired) { *d = Desired{Problem: "x"} }, 3},
		"nothing is known of the cluster":        {Topology{2, 1}, func(s *Snapshot, d *Desired) { *s, *d = Snapshot{}, Desired{Problem: "x"} }, 0},
	}
	for name, c := range cases {
		s, d := formed(c.topology)
		if c.happens != nil {
			c.happens(s, d)
		}
		f := Diff(*s, *d)
		if f.Budget.Keep != c.keep {
			t.Errorf("%s: %d Pods must stay, want %d", name, f.Budget.Keep, c.keep)
		}
		if f.Budget.Loose != (c.keep > 0) {
			t.Errorf("%s: without a budget, loose is %v", name, f.Budget.Loose)
		}
	}
}

func TestABudgetIsEasedOnlyAtRest(t *testing.T) {
	for name, c := range map[string]struct {
		have         int
		synced       bool
		loose, tight bool
	}{
		"as it should be":                       {3, true, false, false},
		"too many stay":                         {4, true, false, true},
		"too few stay":                          {2, true, true, false},
		"too few stay, and a copy is missing":   {3, false, true, false},
		"more stay than are, a copy is missing": {9, false, false, false},
	} {
		s, d := formed(Topology{2, 1})
		s.Budget, s.Nodes[1].Server.LinkUp = &c.have, c.synced
		if b := Diff(*s, *d).Budget; b.Loose != c.loose || b.Tight != c.tight {
			t.Errorf("%s: %+v", name, b)
		}
	}
}
