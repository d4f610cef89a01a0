package decide

import (
	"cmp"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/topology"
)

// stepsChecked is how many decisions each damaged cluster is followed for.
const stepsChecked = 8

// TestSafeInAnyOrder shuffles the rules and damages a cluster at random:
// whatever is seen and whichever rule is asked first, no step is unsafe.
func TestSafeInAnyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	rules := loadRules(t)
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
		if err := b.world.act(); err != nil {
			t.Fatal(err)
		}
		for i := range b.world.Nodes {
			if n := &b.world.Nodes[i]; n.Pod != nil && n.Pod.Phase == "Pending" {
				b.world.run(n)
			}
		}
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

// unsafe says what is wrong with carrying out the decision, "" when nothing is.
func (w *world) unsafe(d engine.Decision) string {
	if w.Cluster.Paused && !w.Cluster.Deleting && d.Acts() {
		return "acts on a paused cluster"
	}
	if fault := w.unsafeForCredentials(d); fault != "" {
		return fault
	}
	switch a := d.Args.(type) {
	case *actions.DeleteNodes:
		return w.deletesTheLiving(a)
	case *actions.ForgetMembers:
		return w.forgetsTheLiving(a)
	case *actions.RecordSettings:
		return w.recordsUnseen(a)
	case *actions.PrepareServers:
		return w.handsOutHeldSlots(a)
	case *actions.SetBudget:
		return w.exposes(a)
	case *actions.CreateNodes:
		return cmp.Or(w.createsTooMuch(a), w.uncounted(len(a.Nodes)), w.createsUnfurnished())
	case *actions.ProvisionNodes:
		return w.provisions(a)
	case *actions.ApplyObjects:
		return cmp.Or(w.takesUpTheRefused(true), w.locksOut())
	case *actions.GuardCluster:
		return w.guardsTheDeleted()
	case *actions.CopyCertificate:
		return w.takesUpTheRefused(a.Secret != w.Certificate.CopiedFrom)
	case *actions.RecordTarget:
		return w.takesUpTheRefused(true)
	default:
		return w.unsafeForShards(d)
	}
}

func (w *world) takesUpTheRefused(news bool) string {
	if w.desired.Problem != "" && news {
		return "takes up a spec that does not resolve"
	}
	return ""
}

// unsafeForShards is about the steps that change who holds which slots.
func (w *world) unsafeForShards(d engine.Decision) string {
	switch a := d.Args.(type) {
	case *actions.FailOver:
		return cmp.Or(w.failsOverToTheUnready(a.Succession), w.asksInVain(a.Succession.Node))
	case *actions.ForceFailover:
		return cmp.Or(w.replacesTheLiving(a.Succession, false), w.asksInVain(a.Succession.Node))
	case *actions.TakeOver:
		return cmp.Or(w.replacesTheLiving(a.Succession, true), w.passesOverTheVoters(a.Succession.Node))
	case *actions.ReturnReplicas:
		return w.discards(a)
	case *actions.RetireNodes:
		return cmp.Or(w.retiresTheNeeded(a), w.retiresUncounted(a))
	case *actions.MoveSlots:
		return w.movesToTheUnready(a.Moves)
	case *actions.CarrySlots:
		return w.movesToTheUnready(a.Moves)
	}
	return ""
}

// createsTooMuch: while the specs do not resolve, what is lost is replaced and
// nothing else; and no shard gets more servers of today's specs than it needs.
func (w *world) createsTooMuch(a *actions.CreateNodes) string {
	target := w.desired.Topology
	if w.desired.Problem != "" {
		if w.Cluster.Kept == nil {
			return "makes something new from a spec that does not resolve"
		}
		target = *w.Cluster.Kept
	}
	fit := map[int]int{}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if stays(n) && (w.desired.Problem != "" || n.Spec.Image == w.desired.Node.Image) {
			fit[n.ShardIndex]++
		}
	}
	for _, n := range a.Nodes {
		if fit[n.ShardIndex]++; fit[n.ShardIndex] > 1+target.ReplicasPerShard {
			return "makes more servers than a shard is to have"
		}
	}
	return ""
}

// stays says that nothing speaks against the node's Pod.
func stays(n *engine.Node) bool {
	p := n.Pod
	return p != nil && !p.Ended() && !p.Deleting && !p.Cordoned && !p.HostLost && !n.Deleting
}

// failsOverToTheUnready: an orderly failover needs a primary that lives and a
// replica that has all it has.
func (w *world) failsOverToTheUnready(s engine.Succession) string {
	heir, old := w.node(s.Node), w.serverOf(s.PrimaryID)
	switch {
	case old == nil || len(old.Self().Slots) == 0:
		return "an orderly failover without a primary"
	case heir.Server == nil || heir.Server.PrimaryID != s.PrimaryID || !heir.Server.LinkUp:
		return "fails over to a server that is not in sync: " + s.Node
	}
	return ""
}

// discards: what a replica holds is thrown away when it follows another primary.
func (w *world) discards(a *actions.ReturnReplicas) string {
	for _, at := range a.Attachments {
		s := w.node(at.Node).Server
		if s == nil || s.Role != engine.Replica || w.serverOf(s.PrimaryID) == nil && !w.leavesACopy(s.PrimaryID) {
			return "throws away what may be the last copy: " + at.Node
		}
		if own := w.serverOf(at.PrimaryID); own == nil || own.Role != engine.Primary {
			return "lets a replica follow one that is no primary: " + at.Node
		}
	}
	return ""
}

// leavesACopy says that a server of the primary's own shard is in the cluster as its replica.
func (w *world) leavesACopy(primary string) bool {
	at := slices.IndexFunc(w.Nodes, func(n engine.Node) bool { return n.LastID == primary })
	return at >= 0 && slices.ContainsFunc(w.Nodes, func(n engine.Node) bool {
		return n.ShardIndex == w.Nodes[at].ShardIndex && n.Server != nil && n.Server.PrimaryID == primary
	})
}

func (w *world) replacesTheLiving(s engine.Succession, ended bool) string {
	heir := w.node(s.Node)
	if w.serverOf(s.PrimaryID) != nil {
		return "replaces a primary that answers"
	}
	if heir.Server == nil || heir.Server.PrimaryID != s.PrimaryID {
		return "makes a server the primary that was no replica of it: " + s.Node
	}
	old := w.node(s.Primary)
	if ended && old != nil && old.Pod != nil && !old.Pod.Ended() {
		return "takes over from a primary whose Pod runs: " + s.Primary
	}
	return ""
}

// retiresTheNeeded: who holds slots stays, and a shard that stays keeps as many
// servers in sync as it should have.
func (w *world) retiresTheNeeded(a *actions.RetireNodes) string {
	gone := map[string]bool{}
	for _, r := range a.Retirements {
		gone[r.Node] = true
		if s := w.node(r.Node).Server; s != nil && len(s.Self().Slots) > 0 || len(w.held[r.Node]) > 0 && s == nil {
			return "retires a server that holds slots: " + r.Node
		}
	}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if n.Server == nil || len(n.Server.Self().Slots) == 0 || n.ShardIndex >= w.desired.Topology.Shards {
			continue
		}
		before, after := w.copiesOf(n.Server, nil), w.copiesOf(n.Server, gone)
		if after < before && after < 1+w.desired.Topology.ReplicasPerShard {
			return "leaves a shard with too few copies: " + n.Name
		}
	}
	return ""
}

// copiesOf counts the primary and its replicas in sync, without those that are gone.
func (w *world) copiesOf(primary *engine.Server, gone map[string]bool) int {
	copies := 1
	for i := range w.Nodes {
		if s := w.Nodes[i].Server; s != nil && s.PrimaryID == primary.ID && s.LinkUp && !gone[w.Nodes[i].Name] {
			copies++
		}
	}
	return copies
}

func (w *world) deletesTheLiving(a *actions.DeleteNodes) string {
	for _, name := range a.Nodes {
		n := w.node(name)
		if n.Server != nil && n.Lifecycle == engine.Active {
			return "deletes a member that answers: " + name
		}
		if p := n.Pod; p != nil && p.HostLost && !p.Ended() && n.Lifecycle == engine.Active && !p.Deleting && w.needs(n.LastID) {
			return "gives up a primary that nobody has replaced: " + name
		}
	}
	return ""
}

// needs says that somebody who is heard gives slots to the member, or does not think that it has failed.
func (w *world) needs(id string) bool {
	return slices.ContainsFunc(w.Nodes, func(n engine.Node) bool {
		if n.Server == nil {
			return false
		}
		p := n.Server.Peer(id)
		return p != nil && (len(p.Slots) > 0 || !p.Failed)
	})
}

// forgetsTheLiving also covers the silent: a running Pod may hold data.
func (w *world) forgetsTheLiving(a *actions.ForgetMembers) string {
	for _, gone := range a.Departed {
		for i := range w.Nodes {
			n := &w.Nodes[i]
			if n.LastID == gone.ID && n.Pod != nil && !n.Pod.Ended() {
				return "forgets a member whose Pod runs: " + n.Name
			}
			if n.Server != nil && n.Server.PrimaryID == gone.ID {
				return "forgets the primary of a living replica: " + n.Name
			}
		}
	}
	return ""
}

// handsOutHeldSlots also covers the silent: a server that only the operator
// cannot hear goes on serving its slots.
func (w *world) handsOutHeldSlots(a *actions.PrepareServers) string {
	for _, p := range a.Preparations {
		for i := range w.Nodes {
			n := &w.Nodes[i]
			if n.Name != p.Node && n.Pod != nil && !n.Pod.Ended() && overlap(w.held[n.Name], p.Slots) {
				return "hands out slots that " + n.Name + " holds"
			}
		}
		w.held[p.Node] = append(w.held[p.Node], p.Slots...)
	}
	return ""
}

func (w *world) movesToTheUnready(moves []engine.Move) string {
	for _, m := range moves {
		from, to := w.node(m.From).Server, w.node(m.To).Server
		if from == nil || to == nil || to.Role != engine.Primary {
			return "moves slots from or to a server that is no primary: " + m.From + ", " + m.To
		}
		var held topology.Set
		held.Add(from.Self().Slots...)
		for _, r := range m.Slots {
			if topology.Count(held.Within(r)) != r.Len() {
				return "moves slots that the source does not hold: " + m.From
			}
		}
	}
	return ""
}

func overlap(a, b []engine.SlotRange) bool {
	return slices.ContainsFunc(a, func(x engine.SlotRange) bool {
		return slices.ContainsFunc(b, func(y engine.SlotRange) bool { return x.From <= y.To && y.From <= x.To })
	})
}
