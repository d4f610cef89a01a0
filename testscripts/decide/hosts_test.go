package decide

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/engine"
)

// letters name the Kubernetes nodes, host-a to host-z, and their zones.
const letters = "abcdefghijklmnopqrstuvwxyz"

// place schedules the node's Pod to the host of the node's own letter or, where that is cordoned, to the next that is not.
func (w *world) place(n *engine.Node) {
	own := int(n.Name[len(n.Name)-1] - 'a')
	for i := range letters {
		letter := letters[(own+i)%len(letters)]
		if host := "host-" + string(letter); !w.cordoned[host] {
			n.Pod.HostNode, n.Pod.Zone = host, "zone-"+string(letter)
			return
		}
	}
}

// hold keeps the node's Pod from running, on its host unless it is the scheduler that finds none.
func (w *world) hold(n *engine.Node, trouble string) {
	n.Pod.Phase, n.Pod.Trouble = "Pending", trouble
	if !strings.HasPrefix(trouble, "Unschedulable") {
		w.place(n)
	}
}

// cordon marks the host's Pods, or no longer.
func (w *world) cordon(host string, on bool) {
	w.cordoned[host] = on
	for i := range w.Nodes {
		if p := w.Nodes[i].Pod; p != nil && p.HostNode == host {
			p.Cordoned = on
		}
	}
}

// loseHost lets the host's servers say no more and Kubernetes notice that the host is not ready.
func (w *world) loseHost(host string) {
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if n.Pod == nil || n.Pod.HostNode != host {
			continue
		}
		n.Pod.HostLost = true
		if n.Server != nil {
			w.away[n.Name], n.Server, n.Silence = n.Server, nil, "timeout"
		}
	}
}

// cmdElect lets the other primaries elect a replica by themselves, as they do after the node timeout.
func cmdElect(ts *testscript.TestScript, _ bool, args []string) {
	w := at(ts).world
	replica := w.node(args[0]).Server
	w.succeed(engine.Succession{Node: args[0], ID: replica.ID, PrimaryID: replica.PrimaryID})
	w.gossip()
}

func cmdCordon(ts *testscript.TestScript, _ bool, args []string) {
	at(ts).world.cordon(args[0], true)
}

func cmdUncordon(ts *testscript.TestScript, _ bool, args []string) {
	at(ts).world.cordon(args[0], false)
}

// evictable is how many Pods Kubernetes would let be evicted: it counts as healthy what runs and is not on its way out.
func (w *world) evictable() int {
	healthy := len(slices.DeleteFunc(slices.Clone(w.Nodes), func(n engine.Node) bool {
		return n.Pod == nil || n.Pod.Phase != "Running" || n.Pod.Deleting
	}))
	if w.Budget == nil {
		return healthy
	}
	return max(0, healthy-*w.Budget)
}

// exposes: an eviction must leave each shard a copy in sync, and the next must wait for its successor.
func (w *world) exposes(a *actions.SetBudget) string {
	will := *w
	will.Budget = &a.Keep
	allowed := will.evictable()
	if allowed > 1 {
		return "lets two Pods be evicted at once"
	}
	for i := range w.Nodes {
		s := w.Nodes[i].Server
		if s != nil && len(s.Self().Slots) > 0 && allowed > 0 && w.copiesOf(s, nil) < 2 {
			return "lets the only copy of a shard be evicted: " + w.Nodes[i].Name
		}
	}
	return ""
}

// retiresUncounted: nobody leaves without a budget, and who leaves a shard that stays does so while nothing may be evicted.
func (w *world) retiresUncounted(a *actions.RetireNodes) string {
	if w.Budget == nil {
		return "retires servers while any Pod may be evicted"
	}
	for _, r := range a.Retirements {
		if w.node(r.Node).ShardIndex < w.desired.Topology.Shards {
			return w.uncounted(0)
		}
	}
	return ""
}

// uncounted: before Pods are made the budget keeps all there are and will be.
func (w *world) uncounted(more int) string {
	for i := range w.Nodes {
		if p := w.Nodes[i].Pod; p != nil && !p.Ended() && !p.Deleting {
			more++
		}
	}
	if w.Budget == nil || *w.Budget < more {
		return "changes the Pods while one may be evicted"
	}
	return ""
}

func cmdEvictable(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := at(ts).world.evictable(); got != want {
		ts.Fatalf("%d Pods may be evicted, want %d", got, want)
	}
}
