package report

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// repeatAfter is how soon the same Event of a cluster is recorded again: an action that fails every second is one line a
// minute for those who read, not sixty.
const repeatAfter = time.Minute

// longestAction is what the API server takes for an Event's action, in bytes.
const longestAction = 128

// An announcer records Events and holds back repeats.
type announcer struct {
	recorder events.EventRecorder
	now      func() time.Time

	mu   sync.Mutex
	said map[types.NamespacedName]map[announcement]time.Time
	// states are the states last announced: an action writes a state itself, so that the next pass finds it old.
	states map[types.NamespacedName]v1alpha1.ClusterState
}

// An announcement is one Event's content.
type announcement struct{ kind, reason, message string }

func newAnnouncer(recorder events.EventRecorder, now func() time.Time) *announcer {
	return &announcer{
		recorder: recorder, now: now,
		said:   map[types.NamespacedName]map[announcement]time.Time{},
		states: map[types.NamespacedName]v1alpha1.ClusterState{},
	}
}

// announce records the Events of a pass.
func (a *announcer) announce(p Pass, status v1alpha1.ValkeyClusterStatus) {
	for _, one := range announcements(p, status, a.lastState(p, status.State)) {
		if a.isNew(p.key(), one) {
			a.recorder.Eventf(p.Cluster, nil, one.kind, one.reason, action(one), "%s", one.message)
		}
	}
}

// action is the Event's action. client-go counts Events that differ only in their note as repeats of the first and drops
// their notes, so what tells them apart has to be in the action as well.
func action(one announcement) string { return shorten(one.message, longestAction) }

// isNew says that the announcement was not made a short while ago, and notes that it is made now.
func (a *announcer) isNew(key types.NamespacedName, one announcement) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now, said := a.now(), a.said[key]
	if said == nil {
		said = map[announcement]time.Time{}
		a.said[key] = said
	}
	for old, at := range said {
		if now.Sub(at) >= repeatAfter {
			delete(said, old)
		}
	}
	if _, repeated := said[one]; repeated {
		return false
	}
	said[one] = now
	return true
}

func (a *announcer) forget(key types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.said, key)
	delete(a.states, key)
}

// lastState is the state last announced and takes note of the new one. An operator that has just started goes by the
// status.
func (a *announcer) lastState(p Pass, now v1alpha1.ClusterState) v1alpha1.ClusterState {
	a.mu.Lock()
	defer a.mu.Unlock()
	last, known := a.states[p.key()]
	a.states[p.key()] = now
	if !known {
		return p.Cluster.Status.State
	}
	return last
}

// announcements are what a pass has to say: its action or why it failed, a new state, new warnings.
func announcements(p Pass, status v1alpha1.ValkeyClusterStatus, last v1alpha1.ClusterState) []announcement {
	var all []announcement
	if p.complete() {
		all = append(all, ofDecision(p)...)
		all = append(all, ofState(status, last)...)
		all = append(all, ofConditions(p, status)...)
	} else {
		all = append(all, announcement{corev1.EventTypeWarning, "PassFailed", short(p.Err.Error())})
	}
	return all
}

// ofDecision tells of an action, done or failed, or of a rule that could not be evaluated.
func ofDecision(p Pass) []announcement {
	d := p.Decision
	var all []announcement
	for _, f := range p.Failures {
		all = append(all, announcement{corev1.EventTypeWarning, camel(f.Rule) + "Failed", short(f.Err.Error())})
	}
	switch {
	case d.Err != nil:
		all = append(all, announcement{corev1.EventTypeWarning, "RuleFailed", short(d.Err.Error())})
	case p.Err != nil:
		all = append(all, announcement{corev1.EventTypeWarning, camel(d.Action) + "Failed", short(p.Err.Error())})
	case d.Acts():
		all = append(all, announcement{corev1.EventTypeNormal, camel(d.Action), sentences(d.Because, step(d), "(rule "+d.Rule+")")})
	}
	return all
}

// ofState tells of a state that is new.
func ofState(status v1alpha1.ValkeyClusterStatus, last v1alpha1.ClusterState) []announcement {
	if status.State == last {
		return nil
	}
	kind := corev1.EventTypeNormal
	if status.State == v1alpha1.Invalid {
		kind = corev1.EventTypeWarning
	}
	return []announcement{{kind, "StateChanged", sentences("The cluster is now "+string(status.State)+".", status.Message)}}
}

// ofConditions warns of what was not so, or not for this reason, when the pass began.
func ofConditions(p Pass, status v1alpha1.ValkeyClusterStatus) []announcement {
	var all []announcement
	for _, c := range status.Conditions {
		if !worrying(c) || said(p.Cluster.Status.Conditions, c) {
			continue
		}
		all = append(all, announcement{corev1.EventTypeWarning, c.Type, c.Message})
	}
	return all
}
