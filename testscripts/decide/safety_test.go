package decide

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/engine"
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
	for range 3000 {
		topology := engine.Topology{Shards: 1 + random.IntN(3), ReplicasPerShard: random.IntN(2)}
		if healthy[topology] == nil {
			healthy[topology] = formed(t, topology)
		}
		b := &bench{rules: rules, world: healthy[topology].clone(t)}
		for range 1 + random.IntN(4) {
			b.world.damage(random)
		}
		random.Shuffle(len(rules), func(i, j int) { rules[i], rules[j] = rules[j], rules[i] })
		b.follow(t, acted)
	}
	t.Log(acted)
	for _, action := range []string{"deleteNodes", "forgetMembers", "createNodes", "prepareServers", "introduceServers", "attachReplicas", engine.Hold} {
		if acted[action] == 0 {
			t.Errorf("%s was never decided: the test proves nothing about it", action)
		}
	}
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
	return &world{Snapshot: copied.Snapshot, desired: copied.Desired, named: maps.Clone(w.named)}
}

// damage breaks one thing.
func (w *world) damage(random *rand.Rand) {
	if len(w.Nodes) == 0 {
		return
	}
	n := &w.Nodes[random.IntN(len(w.Nodes))]
	switch random.IntN(10) {
	case 0:
		n.Server, n.Silence = nil, "timeout"
	case 1:
		n.Server, n.Pod = nil, nil
	case 2:
		n.Server, n.Pod = nil, &engine.Pod{Phase: "Failed"}
	case 3:
		w.Nodes = slices.DeleteFunc(w.Nodes, func(each engine.Node) bool { return each.Name == n.Name })
	case 4:
		w.Auth = nil
	case 5:
		w.Objects = nil
	case 6:
		w.Cluster.Paused = true
	case 7:
		w.desired = engine.Desired{Problem: "nothing resolves"}
	case 8:
		w.desired.Node.Image = "another"
	case 9:
		w.At = w.At.Add(time.Minute)
	}
}

// unsafe says what is wrong with carrying out the decision, "" when nothing is.
func (w *world) unsafe(d engine.Decision) string {
	if w.Cluster.Paused && d.Acts() {
		return "acts on a paused cluster"
	}
	switch a := d.Args.(type) {
	case *actions.CreateCredentials:
		if len(w.Nodes) > 0 {
			return "makes new credentials while servers use the old ones"
		}
	case *actions.DeleteNodes:
		return w.deletesTheLiving(a)
	case *actions.ForgetMembers:
		return w.forgetsTheLiving(a)
	case *actions.PrepareServers:
		return w.handsOutHeldSlots(a)
	case *actions.CreateNodes, *actions.ProvisionNodes, *actions.RecordTarget:
		if w.desired.Problem != "" {
			return "makes something new from a spec that does not resolve"
		}
	}
	return ""
}

func (w *world) deletesTheLiving(a *actions.DeleteNodes) string {
	for _, name := range a.Nodes {
		if n := w.node(name); n.Server != nil && n.Lifecycle == engine.Active && !n.Deleting {
			return "deletes a member that answers: " + name
		}
	}
	return ""
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

func (w *world) handsOutHeldSlots(a *actions.PrepareServers) string {
	for _, p := range a.Preparations {
		for i := range w.Nodes {
			s := w.Nodes[i].Server
			if s == nil || len(p.Slots) == 0 {
				continue
			}
			for _, peer := range s.Peers {
				if overlap(peer.Slots, p.Slots) {
					return "hands out slots that " + w.Nodes[i].Name + " says are held"
				}
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
