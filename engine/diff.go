package engine

import (
	"slices"
	"time"
)

// retryDeadAfter is how long a node that died before it joined, with the spec
// it should have, is left for people to read before it is tried again: what
// killed it will most likely kill the next one too.
const retryDeadAfter = 20 * time.Second

// Diff compares what was seen with what is wanted. It is total: any Snapshot,
// however sparse, yields Facts, and missing evidence never counts in favour of
// acting.
func Diff(s Snapshot, d Desired) *Facts {
	c := compare(&s, &d)
	f := &Facts{
		Cluster: c.cluster(),
		Spec:    SpecFacts{Accepted: d.Problem == "", Problem: d.Problem, Repairable: repairable(&s, &d)},
		Objects: c.objects(),
		Nodes:   c.nodes(),
		Shards:  c.shardFacts(),

		Certificate: c.certificate(),
	}
	f.Working = f.Cluster.Guarded && !f.Cluster.Paused && !f.Cluster.Deleting
	f.Credentials = c.credentials()
	f.Slots = c.slots()
	f.Members.Agreed = c.agreed()
	f.Members.Departed, f.Members.Lingering = c.departed()
	f.Members.Strayed = c.strayed()
	f.Members.Foreign, f.Members.Reclaims = c.reclaims()
	f.Members.UsersStale = c.usersStale()
	f.Members.Unevicted = c.unevicted()
	f.Forming.Unready = c.unready(f)
	f.Nodes.Joining = c.workingJoiners(f)
	c.settings(f)
	f.Forming.Complete = c.complete(f)
	f.Forming.Preparations = c.preparations()
	f.Slots.Orphaned = c.orphaned(f.Forming.Preparations)
	f.Forming.Introductions = c.introductions()
	f.Forming.Attachments = c.attachments()
	f.Healing = c.healing()
	f.Scaling = c.scaling(f)
	f.Draining = c.draining(f)
	f.Rolling = c.rolling(f)
	f.Members.Excess = c.excess()
	f.Rolling.Spreading = c.spreading(f)
	f.Budget = c.budget(f)
	return f
}

// repairable says that a node which is lost may be replaced: the specs are
// accepted, or what they were when they last were is recorded. While the TLS
// Secret cannot be used, no node is made.
func repairable(s *Snapshot, d *Desired) bool {
	usable := s.Certificate == nil || s.Certificate.Offered != ""
	return d.Problem == "" || usable && s.Cluster.Kept != nil
}

// A comparison holds what several facts are computed from.
type comparison struct {
	seen   *Snapshot
	want   *Desired
	target Topology
	// creating is ClusterFacts.Creating.
	creating bool
	// heard are the nodes whose server answered and has loaded, sorted by server id.
	heard []*Node
	// byID finds the heard nodes by server id.
	byID map[string]*Node
	// claims are the slots each member holds: by its own word when it is
	// heard, else by the word of the view with the highest epoch for it.
	claims map[string][]SlotRange
	// covered says that heard primaries hold every slot, each once.
	covered bool
	// shards are the nodes by shard index, as many as the target has shards.
	shards []shard
	// leaving are the shards of higher indices, which the target has no more.
	leaving []shard
	// stale remembers what outdated has said of nodes, which is asked of each many times.
	stale map[*Node]bool
}

func compare(s *Snapshot, d *Desired) *comparison {
	c := &comparison{seen: s, want: d, byID: map[string]*Node{}, stale: make(map[*Node]bool, len(s.Nodes))}
	c.creating = creating(s)
	c.target = target(s, d, c.creating)
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Server != nil && !n.Server.Loading {
			c.heard = append(c.heard, n)
			c.byID[n.Server.ID] = n
		}
	}
	slices.SortFunc(c.heard, func(a, b *Node) int { return compareText(a.Server.ID, b.Server.ID) })
	c.claims = claims(c.heard)
	c.covered = c.coverage()
	c.sortIntoShards()
	return c
}

// creating says that the cluster was never complete: no node of it was ever
// declared a working member, or a bootstrap's target is still recorded.
func creating(s *Snapshot) bool {
	if s.Cluster.Target != nil {
		return true
	}
	if s.Cluster.State == "Active" || s.Cluster.State == "Updating" {
		return false
	}
	return !slices.ContainsFunc(s.Nodes, func(n Node) bool { return n.Lifecycle == Active })
}

// target is the topology to build or keep. A bootstrap builds the one it
// recorded; while the specs are not accepted, the last accepted is kept.
func target(s *Snapshot, d *Desired, creating bool) Topology {
	switch {
	case creating && s.Cluster.Target != nil:
		return *s.Cluster.Target
	case d.Problem == "":
		return d.Topology
	case s.Cluster.Kept != nil:
		return *s.Cluster.Kept
	}
	counts := map[int]int{}
	var t Topology
	for i := range s.Nodes {
		index := s.Nodes[i].ShardIndex
		counts[index]++
		t.Shards = max(t.Shards, index+1)
		t.ReplicasPerShard = max(t.ReplicasPerShard, counts[index]-1)
	}
	return t
}

// claims collects who holds which slots.
func claims(heard []*Node) map[string][]SlotRange {
	own := make(map[string][]SlotRange, len(heard))
	spoke := make([]*Node, 0, len(heard))
	for _, n := range heard {
		if me := n.Server.Self(); me != nil {
			own[n.Server.ID] = me.Slots
			spoke = append(spoke, n)
		}
	}
	epochs := map[string]int64{}
	for _, n := range heard {
		for _, p := range n.Server.besides(spoke) {
			if last, known := epochs[p.ID]; p.Myself || known && last >= p.Epoch {
				continue
			}
			epochs[p.ID], own[p.ID] = p.Epoch, p.Slots
		}
	}
	return own
}

// hears says that the node's server answered and has loaded its data.
func (c *comparison) hears(n *Node) bool { return n.Server != nil && !n.Server.Loading }

func (c *comparison) cluster() ClusterFacts {
	k := &c.seen.Cluster
	return ClusterFacts{
		Deleting: k.Deleting, Paused: k.Paused, Guarded: k.Finalizer,
		Creating: c.creating, TargetRecorded: k.Target != nil, Target: c.target,
		Remains: c.remains(),
	}
}

// remains is everything of the cluster that exists, as "Kind/name".
func (c *comparison) remains() []string {
	if !c.seen.Cluster.Deleting {
		return nil
	}
	out := slices.Clone(c.seen.Strays)
	for _, o := range c.seen.Objects {
		out = append(out, o.Kind+"/"+o.Name)
	}
	for i := range c.seen.Nodes {
		out = append(out, "ValkeyNode/"+c.seen.Nodes[i].Name)
	}
	slices.Sort(out)
	return out
}

func (c *comparison) objects() ObjectFacts {
	f := ObjectFacts{Credentials: c.seen.Auth.Whole(), Strays: c.seen.Strays}
	if c.want.Problem != "" {
		return f // What specs that are not accepted ask for is not what should be, and holds up no repair.
	}
	have := map[string]string{}
	for _, o := range c.seen.Objects {
		have[o.Kind+"/"+o.Name] = o.Content
	}
	for _, o := range c.want.Objects {
		key := o.Kind + "/" + o.Name
		if content, ok := have[key]; !ok || content != o.Content {
			f.Stale = append(f.Stale, key)
		}
	}
	slices.Sort(f.Stale)
	return f
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}
