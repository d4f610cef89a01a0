package decide

import (
	"cmp"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"valkey.gomomento.com/operator/engine"
)

const (
	// stepsChecked is how many decisions each damaged cluster is followed for.
	stepsChecked = 8
	// stepsBegun is how many steps of a change are carried out at most before something is damaged.
	stepsBegun = 15
)

// TestSafeInAnyOrder shuffles the rules and damages a cluster at random:
// whatever is seen and whichever rule is asked first, no step is unsafe.
func TestSafeInAnyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	rules := loadRules(t)
	inOrder := slices.Clone(rules)
	askWhileForming(t, inOrder, map[string]int{})
	healthy := map[engine.Topology]*world{}
	acted := map[string]int{}
	for range 9000 {
		topology := engine.Topology{Shards: 1 + random.IntN(3), ReplicasPerShard: random.IntN(2)}
		if healthy[topology] == nil {
			healthy[topology] = formed(t, topology)
		}
		b := &bench{rules: rules, world: healthy[topology].clone(t)}
		if random.IntN(2) == 0 {
			b.world.reshuffle()
		}
		if random.IntN(3) == 0 {
			(&bench{rules: inOrder, world: b.world}).begin(t, random)
		}
		for range 1 + random.IntN(4) {
			b.world.damage(random)
		}
		b.askEach(t, acted)
		random.Shuffle(len(rules), func(i, j int) { rules[i], rules[j] = rules[j], rules[i] })
		b.follow(t, acted)
	}
	t.Log(acted)
	for _, action := range []string{"deleteNodes", "forgetMembers", "createNodes", "prepareServers", "introduceServers", "attachReplicas",
		"failOver", "forceFailover", "returnReplicas", "setBudget", "takeOver", "retireNodes", "moveSlots", "carrySlots", engine.Hold} {
		if acted[action] == 0 {
			t.Errorf("%s was never decided: the test proves nothing about it", action)
		}
	}
}

// begin carries out some of the steps to which a change leads.
func (b *bench) begin(t *testing.T, random *rand.Rand) {
	t.Helper()
	changes[random.IntN(len(changes))](b.world)
	for range random.IntN(stepsBegun) {
		if !b.step().Acts() {
			break
		}
		b.carryOut(t)
	}
	b.world.noteHeld()
}

// carryOut carries the last decision out; Pods that it makes run at once.
func (b *bench) carryOut(t *testing.T) {
	t.Helper()
	if err := b.world.act(); err != nil {
		t.Fatal(err)
	}
	for i := range b.world.Nodes {
		if n := &b.world.Nodes[i]; n.Pod != nil && n.Pod.Phase == "Pending" {
			b.world.run(n)
		}
	}
}

// askEach asks each rule as if it were the only one: what it would do must be safe without the others, too.
func (b *bench) askEach(t *testing.T, acted map[string]int) {
	t.Helper()
	b.step()
	facts := engine.Diff(b.world.Snapshot, b.world.desired)
	for i := range b.rules {
		d := engine.Decide(facts, b.rules[i:i+1])
		if d.Rule == "" {
			continue
		}
		acted[d.Action]++
		held := maps.Clone(b.world.held)
		if fault := cmp.Or(b.world.unsafe(d), b.world.outOfPlace(d)); fault != "" {
			t.Fatalf("%s\n%s\n%+v", fault, d, b.world.Snapshot)
		}
		b.world.held = held
	}
}

// outOfPlace says that a rule which cares for the cluster holds while nobody may, or that what it asks for is not there.
func (w *world) outOfPlace(d engine.Decision) string {
	switch {
	case d.Err != nil:
		return "cannot be carried out: " + d.Err.Error()
	case (w.Cluster.Paused || w.Cluster.Deleting || !w.Cluster.Finalizer) && d.Phase != "lifecycle":
		return "decides about a cluster that is paused, deleted or not guarded: " + d.Rule
	}
	return ""
}

// follow takes some steps, and checks each before it is carried out.
func (b *bench) follow(t *testing.T, acted map[string]int) {
	t.Helper()
	for range stepsChecked {
		d := b.step()
		acted[d.Action]++
		if fault := b.world.unsafe(d); fault != "" {
			t.Fatalf("%s\n%s\n%+v", fault, d, b.world.Snapshot)
		}
		if !d.Acts() {
			return
		}
		b.carryOut(t)
	}
}

// clone copies the world, so that damage to one does not show in another.
func (w *world) clone(t *testing.T) *world {
	t.Helper()
	text, err := json.Marshal(struct {
		Snapshot engine.Snapshot
		Desired  engine.Desired
	}{w.Snapshot, w.desired})
	if err != nil {
		t.Fatal(err)
	}
	var copied struct {
		Snapshot engine.Snapshot
		Desired  engine.Desired
	}
	if err := json.Unmarshal(text, &copied); err != nil {
		t.Fatal(err)
	}
	out := &world{Snapshot: copied.Snapshot, desired: copied.Desired, named: maps.Clone(w.named), users: w.users,
		keys: map[string]keyring{}, away: map[string]*engine.Server{}, cordoned: map[string]bool{}}
	out.noteHeld()
	out.revise()
	return out
}

func (w *world) noteHeld() {
	w.held = map[string][]engine.SlotRange{}
	for i := range w.Nodes {
		if s := w.Nodes[i].Server; s != nil {
			w.held[w.Nodes[i].Name] = s.Self().Slots
		}
	}
}

// reshuffle leaves the shards with each other's slots, as scaling out and in
// does: nobody holds the range that a bootstrap would have given it.
func (w *world) reshuffle() {
	var primaries []*engine.Peer
	for i := range w.Nodes {
		if me := w.Nodes[i].Server.Self(); len(me.Slots) > 0 {
			primaries = append(primaries, me)
		}
	}
	first := primaries[0].Slots
	for i, p := range primaries[1:] {
		primaries[i].Slots = p.Slots
	}
	primaries[len(primaries)-1].Slots = first
	w.gossip()
	w.noteHeld()
}

// damage breaks one thing, of a node picked at random.
func (w *world) damage(random *rand.Rand) {
	if len(w.Nodes) > 0 {
		damages[random.IntN(len(damages))](w, &w.Nodes[random.IntN(len(w.Nodes))])
	}
}

// changes are what a cluster may be in the middle of when it breaks.
var changes = []func(*world){
	func(w *world) { w.desired.Node.Image = "another" },
	func(w *world) { w.desired.Topology.Shards = w.desired.Topology.Shards%3 + 1 },
	func(w *world) { w.desired.Topology.ReplicasPerShard ^= 1 },
	func(w *world) { w.begin(0) },
	func(w *world) { w.cordon(w.Nodes[0].Pod.HostNode, true) },
}

// damages are the ways in which a cluster breaks.
var damages = []func(*world, *engine.Node){
	func(_ *world, n *engine.Node) { n.Server, n.Silence = nil, "timeout" },
	func(_ *world, n *engine.Node) { n.Server, n.Pod = nil, nil },
	func(_ *world, n *engine.Node) { n.Server, n.Pod = nil, &engine.Pod{Phase: "Failed"} },
	func(w *world, n *engine.Node) {
		gone := n.Name
		w.Nodes = slices.DeleteFunc(w.Nodes, func(each engine.Node) bool { return each.Name == gone })
	},
	func(_ *world, n *engine.Node) { n.Deleting = true },
	func(w *world, _ *engine.Node) { w.Auth = nil },
	func(w *world, _ *engine.Node) { w.NextAuth = nil },
	func(w *world, _ *engine.Node) { w.remembered = "" },
	func(w *world, _ *engine.Node) {
		if w.Auth != nil {
			w.Auth.Deleting = true
		}
	},
	func(w *world, _ *engine.Node) { w.begin(0) },
	func(w *world, _ *engine.Node) { w.begin(1) },
	func(w *world, _ *engine.Node) { w.begin(len(w.Nodes)) },
	func(w *world, _ *engine.Node) { w.Objects = nil },
	func(w *world, _ *engine.Node) { w.Cluster.Paused = true },
	func(w *world, _ *engine.Node) { w.Cluster.Deleting = true },
	func(w *world, _ *engine.Node) { w.Cluster.Finalizer = false },
	func(w *world, _ *engine.Node) {
		w.keep()
		w.desired = engine.Desired{Problem: "nothing resolves"}
	},
	func(w *world, _ *engine.Node) { w.refuse("the platform allows no such image") },
	func(w *world, _ *engine.Node) { w.spoilCertificate() },
	func(w *world, n *engine.Node) { w.halfMade(n) },
	func(w *world, _ *engine.Node) { w.desired.Node.Image = "another" },
	func(w *world, _ *engine.Node) { w.desired.Topology.Shards = w.desired.Topology.Shards%3 + 1 },
	func(w *world, _ *engine.Node) { w.desired.Topology.ReplicasPerShard ^= 1 },
	func(_ *world, n *engine.Node) {
		if n.Pod != nil {
			n.Pod.Deleting = true
		}
	},
	func(w *world, n *engine.Node) {
		if n.Pod != nil {
			w.cordon(n.Pod.HostNode, true)
		}
	},
	func(w *world, n *engine.Node) {
		if n.Pod != nil {
			w.loseHost(n.Pod.HostNode)
		}
	},
	func(_ *world, n *engine.Node) {
		if n.Server != nil {
			n.Server.LinkUp = false
		}
	},
	func(w *world, _ *engine.Node) { w.Budget = nil },
	func(w *world, n *engine.Node) { // a replica is attached to the next primary by hand
		for i := range w.Nodes {
			if p := w.Nodes[i].Server; n.Server != nil && n.Server.Role == engine.Replica && p != nil && p.Role == engine.Primary && p.ID != n.Server.PrimaryID {
				w.follow(n.Server, p.ID)
				return
			}
		}
	},
	func(_ *world, n *engine.Node) { n.Server, n.Silence = nil, engine.SilenceRefused },
	func(_ *world, n *engine.Node) {
		if n.Server != nil {
			n.Server.Version = "8.1.1"
		}
	},
	func(w *world, _ *engine.Node) { w.offer("cart-tls", "another") },
	func(w *world, _ *engine.Node) { w.offer("other-tls", "another") },
	func(w *world, _ *engine.Node) { w.At = w.At.Add(time.Minute) },
	func(w *world, _ *engine.Node) { w.editSetting("hz", []string{"1000"}) },
	func(_ *world, n *engine.Node) { drift(n, "hz", "50") },
	func(w *world, _ *engine.Node) { // the operator is cut off from all that runs
		for i := range w.Nodes {
			w.Nodes[i].Server, w.Nodes[i].Silence = nil, "timeout"
		}
	},
}
