package decide

import (
	"math/rand/v2"
	"testing"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/engine"
)

// formingTried is how many clusters in the middle of their bootstrap are looked at.
const formingTried = 2000

// askWhileForming asks each rule by itself in clusters that form, where some things are broken: what goes first in a
// bootstrap hides what the rules after it would do.
func askWhileForming(t *testing.T, rules []engine.Rule, acted map[string]int) {
	t.Helper()
	random := rand.New(rand.NewPCG(3, 4))
	for range formingTried {
		b := &bench{rules: rules, world: newWorld(engine.Topology{Shards: 1 + random.IntN(3), ReplicasPerShard: random.IntN(2)})}
		b.formPartly(t, random)
		if random.IntN(3) == 0 {
			b.world.users = "others"
		}
		if n := len(b.world.Nodes); n > 0 && random.IntN(8) == 0 {
			if at := &b.world.Nodes[random.IntN(n)]; at.Server != nil {
				drift(at, "cluster-node-timeout", formingTimeout)
			}
		}
		for range random.IntN(3) {
			b.world.damage(random)
		}
		b.askEach(t, acted)
	}
	for _, action := range []string{"introduceServers", "activateNodes", "declareActive", "loadACL"} {
		if acted[action] == 0 {
			t.Errorf("%s was never decided while a cluster forms: the test proves nothing about it", action)
		}
	}
}

// formPartly takes some steps of a bootstrap. Pods come up one after the other, and not always before the next step.
func (b *bench) formPartly(t *testing.T, random *rand.Rand) {
	t.Helper()
	for range random.IntN(18) {
		if b.step().Acts() {
			if err := b.world.act(); err != nil {
				t.Fatal(err)
			}
		}
		for i := range b.world.Nodes {
			if n := &b.world.Nodes[i]; n.Pod != nil && n.Pod.Phase == "Pending" && random.IntN(3) > 0 {
				b.world.run(n)
			}
		}
	}
	b.world.noteHeld()
}

// unsafeForProgress is about the steps that say that something is done, or that build on what should be done before.
func (w *world) unsafeForProgress(d engine.Decision) string {
	switch d.Args.(type) {
	case *actions.DeclareActive:
		return w.callsDoneTheUndone()
	case *actions.PrepareServers, *actions.IntroduceServers, *actions.ActivateNodes:
		return w.formsWithoutSome(d)
	case *actions.LoadACL, *actions.AdoptCredentials, *actions.DropSpentCredentials:
		return w.readsTheUnwritten()
	}
	return ""
}

// callsDoneTheUndone: from then on the short node timeout of a bootstrap would let servers be taken for dead that are only
// slow, and a node that is no member yet may be given up.
func (w *world) callsDoneTheUndone() string {
	for i := range w.Nodes {
		n := &w.Nodes[i]
		switch {
		case n.Lifecycle == engine.Joining && n.Server != nil:
			return "calls a cluster Active before its member is: " + n.Name
		case n.Server != nil && n.Server.Settings["cluster-node-timeout"] == formingTimeout:
			return "calls a cluster Active whose server has the node timeout of a bootstrap: " + n.Name
		}
	}
	return ""
}

// formsWithoutSome: the servers of a bootstrap get slots, meet and become members when all are there. Until then each may
// be made anew, and nothing is lost with it.
func (w *world) formsWithoutSome(d engine.Decision) string {
	if w.Cluster.Target == nil {
		return ""
	}
	there := 0
	for i := range w.Nodes {
		if w.Nodes[i].Server != nil {
			there++
		}
	}
	if there < w.Cluster.Target.Nodes() {
		return "forms a cluster before all its servers are there: " + d.Action
	}
	return ""
}

// readsTheUnwritten: the users that servers load, or have loaded when a rotation goes on, are those of an object that must
// be written first.
func (w *world) readsTheUnwritten() string {
	switch {
	case !w.Auth.Whole():
		return "goes by users without the system passwords"
	case w.desired.Problem == "" && len(w.Objects) < len(w.desired.Objects):
		return "goes by users that are not written down yet"
	}
	return ""
}
