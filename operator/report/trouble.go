package report

import (
	"fmt"
	"strings"
	"time"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/topology"
)

// namedTroubles is how many troubled nodes a message names: with more, the first ones say what is wrong and a count how
// far it goes.
const namedTroubles = 3

// startup is how long a server may take from its container's start to its first answer before its silence is trouble.
const startup = 5 * time.Second

// loopingSyncs is how many full syncs a replica must have begun in a row, without the end of one, to be said to go round in
// a loop. A second one is ordinary: the first may have met a primary that just then lost its place.
const loopingSyncs = 3

// degraded says what is not as it should be, the worst first.
func degraded(p Pass, status v1alpha1.ValkeyClusterStatus) finding {
	switch troubled := troubles(p); {
	case p.Decision.Err != nil:
		return yes(Degraded, "RuleFailed", p.Decision.Err.Error())
	case p.Err != nil:
		return yes(Degraded, "ActionFailed", p.Err.Error())
	case len(p.Failures) > 0:
		return yes(Degraded, "ActionFailed", p.Failures[0].Err.Error())
	case len(troubled) > 0:
		return yes(Degraded, "NodesInTrouble", summary(troubled))
	case settled(p) && int(status.ReadyNodes) < target(p).Nodes():
		return yes(Degraded, "NodesNotReady", fmt.Sprintf("%s nodes are ready. %s", status.Ready, served(p.Facts.Slots.Covered)))
	case settled(p) && p.Facts.Slots.Covered < topology.SlotCount:
		return yes(Degraded, "SlotsNotServed", served(p.Facts.Slots.Covered))
	default:
		return no(Degraded, "NoTrouble", "Nothing is wrong.")
	}
}

// settled says that the cluster was complete once, so that what is missing now is a loss and not a beginning.
func settled(p Pass) bool { return !p.Facts.Cluster.Creating && !p.Facts.Cluster.Deleting }

// troubles are the nodes that are held up, each with why, in the kubelet's, the scheduler's or the server's words.
func troubles(p Pass) []string {
	var all []string
	for i := range p.Snapshot.Nodes {
		n := &p.Snapshot.Nodes[i]
		if why := trouble(n, p); why != "" && !n.Deleting {
			all = append(all, n.Name+": "+why)
		}
	}
	return all
}

func trouble(n *engine.Node, p Pass) string {
	switch {
	case n.Pod == nil:
		return ""
	case n.Pod.Trouble != "":
		return n.Pod.Trouble
	case n.Pod.Ended():
		return "its container has ended"
	case n.Server == nil && n.Silence != "" && starting(n, p):
		return ""
	case n.Server == nil && n.Silence != "":
		return "its server does not answer (" + n.Silence + ")"
	case p.Syncs[n.Name] >= loopingSyncs:
		return fmt.Sprintf("sync looping (%d tries): writes outgrow client-output-buffer-limit or repl-backlog-size before a full sync ends", p.Syncs[n.Name])
	default:
		return ""
	}
}

// starting says that a server may be silent because it has only just been started.
func starting(n *engine.Node, p Pass) bool {
	return n.Pod.Started.IsZero() || p.Started.Sub(n.Pod.Started) < startup
}

// summary names the first troubles and counts the rest.
func summary(troubled []string) string {
	if len(troubled) <= namedTroubles {
		return strings.Join(troubled, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(troubled[:namedTroubles], "; "), len(troubled)-namedTroubles)
}
