package decide

import (
	"slices"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

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

// cordon marks the host's Pods, or no longer.
func (w *world) cordon(host string, on bool) {
	w.cordoned[host] = on
	for i := range w.Nodes {
		if p := w.Nodes[i].Pod; p != nil && p.HostNode == host {
			p.Cordoned = on
		}
	}
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

func cmdEvictable(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := at(ts).world.evictable(); got != want {
		ts.Fatalf("%d Pods may be evicted, want %d", got, want)
	}
}
