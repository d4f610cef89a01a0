package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/topology"
)

// The types of conditions. A warning of the derivation is a condition besides these, with its reason as its type.
const (
	// Accepted says that references, ACL and policies resolve.
	Accepted = "Accepted"
	// Available says that all slots are served.
	Available = "Available"
	// Progressing says that something is being done or waited for, with the step in its message.
	Progressing = "Progressing"
	// Degraded says that something is not as it should be, though the operator may be at it.
	Degraded = "Degraded"
	// ACLApplied says that every node has the users it should have.
	ACLApplied = "ACLApplied"
	// TLSValid says that the TLS Secret can be used; only with tls.
	TLSValid = "TLSValid"
	// CertificateExpiringSoon says that the certificate has less than 30 days left; only with tls.
	CertificateExpiringSoon = "CertificateExpiringSoon"
	// Paused says that the operator changes nothing.
	Paused = "Paused"
	// DefaultUserOpen says that anyone who reaches the servers may do anything.
	DefaultUserOpen = "DefaultUserOpen"
)

// expiringSoon is how long before its expiry a certificate is spoken of: SPEC's 30 days, time for a slow authority.
const expiringSoon = 30 * 24 * time.Hour

// A finding is one condition before it is dated.
type finding struct {
	name            string
	status          metav1.ConditionStatus
	reason, message string
}

// conditions are all conditions of the cluster, sorted by type. One that could not be told this time stays as it was; one
// that no longer applies goes.
func conditions(p Pass, status v1alpha1.ValkeyClusterStatus) []metav1.Condition {
	if !p.complete() {
		kept := slices.Clone(p.Cluster.Status.Conditions)
		return date(p, kept, []finding{failed(p.Err)})
	}
	found := []finding{accepted(p), available(p), progressing(p), degraded(p, status), paused(p)}
	found = append(found, tls(p)...)
	var kept []metav1.Condition
	if p.Desired.Problem == "" {
		found = append(found, aclApplied(p), defaultUser(p))
		found = append(found, warnings(p.Desired.Warnings)...)
	} else {
		kept = others(p.Cluster.Status.Conditions, found)
	}
	return date(p, kept, found)
}

// others are the conditions that say nothing of what was found.
func others(old []metav1.Condition, found []finding) []metav1.Condition {
	return slices.DeleteFunc(slices.Clone(old), func(c metav1.Condition) bool {
		tlsOnly := c.Type == TLSValid || c.Type == CertificateExpiringSoon
		return tlsOnly || slices.ContainsFunc(found, func(f finding) bool { return f.name == c.Type })
	})
}

// date makes conditions of findings: one whose status is as it was keeps the time of its last transition.
func date(p Pass, kept []metav1.Condition, found []finding) []metav1.Condition {
	all := kept
	for _, f := range found {
		if old := meta.FindStatusCondition(p.Cluster.Status.Conditions, f.name); old != nil {
			meta.SetStatusCondition(&all, *old)
		}
		meta.SetStatusCondition(&all, metav1.Condition{
			Type: f.name, Status: f.status, Reason: f.reason, Message: short(f.message),
			ObservedGeneration: p.Cluster.Generation,
			LastTransitionTime: metav1.NewTime(p.Started).Rfc3339Copy(),
		})
	}
	slices.SortFunc(all, func(a, b metav1.Condition) int { return strings.Compare(a.Type, b.Type) })
	return all
}

func yes(name, reason, message string) finding {
	return finding{name, metav1.ConditionTrue, reason, message}
}

func no(name, reason, message string) finding {
	return finding{name, metav1.ConditionFalse, reason, message}
}

func failed(err error) finding {
	return yes(Degraded, "PassFailed", fmt.Sprint(err))
}

func accepted(p Pass) finding {
	if p.Desired.Problem == "" {
		return yes(Accepted, "Resolved", "References, ACL and policies resolve.")
	}
	return no(Accepted, reasonOr(p.Desired.Reason, "NotAccepted"), p.Desired.Problem)
}

func reasonOr(reason, otherwise string) string {
	if reason == "" {
		return otherwise
	}
	return reason
}

func available(p Pass) finding {
	covered := p.Facts.Slots.Covered
	if covered == topology.SlotCount {
		return yes(Available, "AllSlotsServed", served(covered))
	}
	return no(Available, "SlotsNotServed", served(covered))
}

// progressing says which step is taken or waited for. A cluster that is refused or paused does not progress by itself.
func progressing(p Pass) finding {
	d := p.Decision
	switch {
	case d.Idle():
		return no(Progressing, "Settled", "Nothing to do.")
	case !d.Acts() && (p.Facts.Cluster.Paused || p.Desired.Problem != ""):
		return no(Progressing, camel(d.Rule), sentences(d.Because, d.Waiting))
	default:
		return yes(Progressing, camel(d.Rule), sentences(d.Because, step(d), d.Waiting))
	}
}

// step is the action with what it touches, "" for a decision that only waits.
func step(d engine.Decision) string {
	if !d.Acts() {
		return ""
	}
	if s, ok := d.Args.(fmt.Stringer); ok && s.String() != "" {
		return fmt.Sprintf("%s: %s.", d.Action, s.String())
	}
	return d.Action + "."
}

func paused(p Pass) finding {
	if p.Cluster.Spec.Paused {
		return yes(Paused, "SpecPaused", "The cluster is paused: it is observed and nothing is changed.")
	}
	return no(Paused, "NotPaused", "The cluster is not paused.")
}

func aclApplied(p Pass) finding {
	have, nodes := 0, len(p.Snapshot.Nodes)
	for i := range p.Snapshot.Nodes {
		if p.Snapshot.Nodes[i].HasUsers(p.Desired.ACLRevision) {
			have++
		}
	}
	message := fmt.Sprintf("%d of %d nodes have the users of the specs.", have, nodes)
	if nodes > 0 && have == nodes {
		return yes(ACLApplied, "Applied", message)
	}
	return no(ACLApplied, "Pending", message)
}

func defaultUser(p Pass) finding {
	if p.Desired.OpenDefault {
		return yes(DefaultUserOpen, "NoBindings", "Without any ACL binding the default user is open: anyone who reaches the servers may do anything.")
	}
	return no(DefaultUserOpen, "Closed", "The default user is not open.")
}

// warnings are one condition a reason, with all its sentences.
func warnings(all []engine.Warning) []finding {
	var found []finding
	for _, w := range all {
		name := camel(w.Reason)
		i := slices.IndexFunc(found, func(f finding) bool { return f.name == name })
		if i < 0 {
			found = append(found, yes(name, name, w.Message))
			continue
		}
		found[i].message = sentences(found[i].message, w.Message)
	}
	return found
}

// tls are the conditions of the certificate.
func tls(p Pass) []finding {
	c := p.Certificate
	if c == nil {
		return nil
	}
	found := []finding{yes(TLSValid, "SecretValid", "The TLS Secret is complete and fits the cluster; "+certified(p)+".")}
	if c.Problem != "" {
		found = []finding{no(TLSValid, "SecretInvalid", c.Problem)}
	}
	if c.NotAfter.IsZero() {
		return found
	}
	expiry := "The certificate expires on " + c.NotAfter.UTC().Format("2006-01-02 15:04 MST") + "."
	if c.NotAfter.Sub(p.Started) < expiringSoon {
		return append(found, yes(CertificateExpiringSoon, "LessThan30Days", expiry))
	}
	return append(found, no(CertificateExpiringSoon, "NotSoon", expiry))
}

// certified says how many nodes were seen to serve the certificate.
func certified(p Pass) string {
	k, have := p.Snapshot.Certificate, 0
	for i := range p.Snapshot.Nodes {
		if k != nil && k.Copied != "" && p.Snapshot.Nodes[i].Certificate.Proved == k.Copied {
			have++
		}
	}
	return fmt.Sprintf("%d of %d nodes serve it", have, len(p.Snapshot.Nodes))
}
