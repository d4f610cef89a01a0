package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/topology"
)

// longest is how long a message may be, in bytes: more than anyone reads, less than what makes a status heavy.
const longest = 1024

// Status is what the cluster's status should say after the pass. Its targetSpec is left as it was: actions write that.
//
// The state is computed from the observation of the pass, like everything else here, so that a pass on a cache that
// lags behind an action agrees with its own base and leaves what the action wrote alone.
func Status(p Pass) v1alpha1.ValkeyClusterStatus {
	status := *p.Cluster.Status.DeepCopy()
	if p.complete() {
		status.ObservedGeneration = p.Cluster.Generation
		status.KeptTopology = kept(p)
		status.State = state(p)
		status.Nodes = clusterNodes(p.Snapshot)
		status.ReadyNodes = countReady(status.Nodes)
		status.Ready = fmt.Sprintf("%d/%d", status.ReadyNodes, target(p).Nodes())
	}
	status.Conditions = conditions(p, status)
	status.Message = message(p, status)
	return status
}

// state is where the cluster is in its life. A deletion does not change it.
func state(p Pass) v1alpha1.ClusterState {
	switch {
	case p.Facts.Cluster.Deleting && p.Cluster.Status.State != "":
		return p.Cluster.Status.State
	case p.Desired.Problem != "":
		return v1alpha1.Invalid
	case p.Facts.Cluster.Creating:
		return v1alpha1.Creating
	default:
		return v1alpha1.Active
	}
}

// target is the topology that is built or kept.
func target(p Pass) engine.Topology {
	if t := p.Facts.Cluster.Target; t.Shards > 0 {
		return t
	}
	return engine.Topology{Shards: int(p.Cluster.Spec.Shards), ReplicasPerShard: int(p.Cluster.Spec.ReplicasPerShard)}
}

// kept is the topology that is kept up while the spec is not accepted.
func kept(p Pass) *v1alpha1.KeptTopology {
	if p.Desired.Problem != "" || p.Facts.Cluster.Creating || p.Facts.Cluster.Deleting {
		return p.Cluster.Status.KeptTopology
	}
	t := p.Desired.Topology
	return &v1alpha1.KeptTopology{Shards: int32(t.Shards), ReplicasPerShard: int32(t.ReplicasPerShard)}
}

func countReady(nodes []v1alpha1.ClusterNode) int32 {
	var n int32
	for i := range nodes {
		if nodes[i].Ready {
			n++
		}
	}
	return n
}

// message says in a sentence or two what the state means right now: what is wrong, else what is being done.
func message(p Pass, status v1alpha1.ValkeyClusterStatus) string {
	for _, c := range []struct {
		name string
		when metav1.ConditionStatus
	}{
		{Accepted, metav1.ConditionFalse},
		{Degraded, metav1.ConditionTrue},
		{Paused, metav1.ConditionTrue},
		{Progressing, metav1.ConditionTrue},
	} {
		if found := meta.FindStatusCondition(status.Conditions, c.name); found != nil && found.Status == c.when {
			return found.Message
		}
	}
	if p.complete() {
		return served(p.Facts.Slots.Covered)
	}
	return p.Cluster.Status.Message
}

func served(covered int) string {
	if covered == topology.SlotCount {
		return "All 16384 slots are served."
	}
	return fmt.Sprintf("%d of 16384 slots are served.", covered)
}

// camel turns a rule's or an action's name into a reason: "take-over-lost-primary" is TakeOverLostPrimary.
func camel(name string) string {
	var b strings.Builder
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' || r == ' ' || r == '.' }) {
		b.WriteString(strings.ToUpper(word[:1]))
		b.WriteString(word[1:])
	}
	return b.String()
}

// sentences joins the parts that say something.
func sentences(parts ...string) string {
	said := make([]string, 0, len(parts))
	for _, part := range parts {
		if part = strings.TrimSpace(part); part != "" {
			said = append(said, part)
		}
	}
	return short(strings.Join(said, " "))
}

// short cuts a text to what a status and an Event hold.
func short(text string) string { return shorten(text, longest) }

// shorten cuts a text to so many bytes, between two characters.
func shorten(text string, limit int) string {
	const more = " …"
	if len(text) <= limit {
		return text
	}
	end := limit - len(more)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + more
}
