package controller

import (
	"math/rand/v2"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/topology"
	"valkey.gomomento.com/operator/operator/report"
)

const (
	// atOnce is how soon a cluster is looked at again after something was done: as long as it takes for a write to come
	// back through a watch, since a pass before that sees the world as it was.
	atOnce = 10 * time.Millisecond
	// atOnceLimit bounds the doubling of atOnce for a decision that comes again and again: its action does nothing, or
	// not enough, and a watch or the next look will tell.
	atOnceLimit = 5 * time.Second
	// soon is how soon a cluster is looked at again while its servers are at work, or one has just fallen silent: what
	// servers learn of each other raises no watch event, and a bootstrap has several such waits in a row.
	soon = 100 * time.Millisecond
	// soonFor is how long one and the same wait is looked at soon. Servers that need longer are held up by something
	// that will not be gone in a tenth of a second.
	soonFor = 10 * time.Second
	// later is how soon a cluster is looked at again that waits for longer than soonFor, or has a server that is silent.
	later = time.Second
	// resync is how soon an idle cluster is looked at again: changes in Kubernetes and broken connections wake it, what
	// else goes on between its servers does not.
	resync = 30 * time.Second
	// resyncJitter spreads the resyncs of many clusters, which an operator's start brings together.
	resyncJitter = 6 * time.Second
)

// An outcome is what follows from a pass. There are four:
//
//	done        something was done: look again at once, for what it has changed
//	failed      something could not be done: try again, each time later
//	awaiting    an event will wake the cluster; the slow resync is for events that none raises
//	looking     nothing will wake the cluster: look again after a time
type outcome struct {
	after time.Duration
	err   error
	// event says that an event is to wake the cluster, and after is the slow resync.
	event bool
}

func done(repeats int) outcome {
	after := atOnce
	for range repeats {
		after = min(2*after, atOnceLimit)
	}
	return outcome{after: after}
}

func failed(err error) outcome { return outcome{err: err} }

func awaiting() outcome {
	return outcome{after: resync - resyncJitter/2 + rand.N(resyncJitter), event: true}
}

func looking(after time.Duration) outcome { return outcome{after: after} }

// result is the outcome in the words of controller-runtime, which tries again what failed by its rate limiter.
func (o outcome) result() (ctrl.Result, error) {
	return ctrl.Result{RequeueAfter: o.after}, o.err
}

// conclude says what follows from a pass whose decision was carried out without an error.
func conclude(pass report.Pass, row streak) outcome {
	f := pass.Facts
	switch {
	case pass.Decision.Acts():
		return done(row.repeats)
	case f.Cluster.Paused || f.Cluster.Deleting:
		return awaiting()
	case (inFlight(pass) || unquiet(f)) && row.lasted < soonFor:
		return looking(soon)
	case inFlight(pass) || unquiet(f):
		return looking(later)
	default:
		return awaiting()
	}
}

// inFlight says that servers are on their way to what was asked of them: a bootstrap goes on, slots move, a member is
// being replaced, a node joins or a replica syncs. While it is Pods that are waited for, their events wake the cluster.
func inFlight(pass report.Pass) bool {
	f := pass.Facts
	switch {
	case f.Scaling.Running > 0:
		return true
	case len(f.Nodes.Starting) > 0:
		return false
	case f.Cluster.Creating:
		return f.Spec.Accepted && len(f.Nodes.Names) > 0
	case f.Scaling.Remaining > 0 && f.Scaling.Blocked == "", len(f.Rolling.Outdated)+len(f.Draining.Members) > 0:
		return true
	}
	for i := range pass.Snapshot.Nodes {
		if n := &pass.Snapshot.Nodes[i]; n.Server != nil && (n.Lifecycle != engine.Active || syncing(n.Server)) {
			return true
		}
	}
	return false
}

// syncing says that a replica is not in sync yet: no watch tells when it is, and until then the status says less than there is.
func syncing(s *engine.Server) bool { return s.Role == engine.Replica && !s.LinkUp }

// unquiet says that servers are silent, do not know each other or who serves which slots, lead another's shard, or do not
// serve the certificate, which may pass without an event.
func unquiet(f *engine.Facts) bool {
	if len(f.Nodes.Silent)+len(f.Members.Lingering)+len(f.Members.Foreign)+len(f.Certificate.Unserved) > 0 {
		return true
	}
	return f.Nodes.Answering > 0 && (!f.Members.Agreed || !f.Slots.Agreed || !f.Slots.Known || f.Slots.Covered != topology.SlotCount)
}
