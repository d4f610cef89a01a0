package report_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/operator/report"
)

func TestStatusOfAWholeClusterIsComplete(t *testing.T) {
	got := report.Status(whole())
	want := v1alpha1.ValkeyClusterStatus{
		State: v1alpha1.Active, Message: "All 16384 slots are served.", ObservedGeneration: 3, ReadyNodes: 2, Ready: "2/2",
		KeptTopology: &v1alpha1.KeptTopology{Shards: 1, ReplicasPerShard: 1},
		Nodes: []v1alpha1.ClusterNode{
			{Name: "cache-1", ID: "a", Role: v1alpha1.Primary, Zone: "zone-a", Ready: true, Slots: 16384},
			{Name: "cache-2", ID: "b", Role: v1alpha1.Replica, Zone: "zone-b", Ready: true},
		},
		Conditions: []metav1.Condition{
			condition("ACLApplied", "True", "Applied", "2 of 2 nodes have the users of the specs."),
			condition("Accepted", "True", "Resolved", "References, ACL and policies resolve."),
			condition("Available", "True", "AllSlotsServed", "All 16384 slots are served."),
			condition("DefaultUserOpen", "False", "Closed", "The default user is not open."),
			condition("Degraded", "False", "NoTrouble", "Nothing is wrong."),
			condition("Paused", "False", "NotPaused", "The cluster is not paused."),
			condition("Progressing", "False", "Settled", "Nothing to do."),
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func condition(name, status, reason, message string) metav1.Condition {
	return metav1.Condition{
		Type: name, Status: metav1.ConditionStatus(status), Reason: reason, Message: message,
		ObservedGeneration: 3, LastTransitionTime: metav1.NewTime(now),
	}
}

func TestConditionsSayWhatIsSo(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*report.Pass)
		// want is "Type=Status Reason: Message" of one condition, then the state's message.
		want, message string
	}{
		"a spec that does not resolve is invalid, in the words of the derivation": {
			func(p *report.Pass) {
				p.Desired = engine.Desired{Reason: "ConfigNotFound", Problem: `ValkeyConfig "x" not found`}
				p.Facts.Spec.Accepted = false
			},
			`Accepted=False ConfigNotFound: ValkeyConfig "x" not found`, `ValkeyConfig "x" not found`,
		},
		"a hold on a refused spec is no progress": {
			func(p *report.Pass) {
				p.Desired.Problem = "no"
				p.Decision = engine.Decision{Action: engine.Hold, Rule: "wait-for-a-valid-spec", Because: "It waits.", Waiting: "no"}
			},
			"Progressing=False WaitForAValidSpec: It waits. no", "no",
		},
		"an action is progress, with what it touches": {
			func(p *report.Pass) { p.Decision = acting() },
			"Progressing=True CreateMissingNodes: The topology asks for more nodes than there are. createNodes: 2 nodes.",
			"The topology asks for more nodes than there are. createNodes: 2 nodes.",
		},
		"the kubelet's words reach the status": {
			func(p *report.Pass) {
				p.Snapshot.Nodes[1].Server = nil
				p.Snapshot.Nodes[1].Pod = &engine.Pod{Phase: "Pending", Trouble: "ErrImagePull: no such image"}
			},
			"Degraded=True NodesInTrouble: cache-2: ErrImagePull: no such image", "cache-2: ErrImagePull: no such image",
		},
		"a server that has been silent for long is trouble": {
			func(p *report.Pass) { p.Snapshot.Nodes[0].Server, p.Snapshot.Nodes[0].Silence = nil, "refused" },
			"Degraded=True NodesInTrouble: cache-1: its server does not answer (refused)",
			"cache-1: its server does not answer (refused)",
		},
		"a server that has just been started may be silent": {
			func(p *report.Pass) {
				p.Facts.Cluster.Creating = true
				p.Snapshot.Nodes[0].Server, p.Snapshot.Nodes[0].Silence = nil, "refused"
				p.Snapshot.Nodes[0].Pod.Started = now.Add(-time.Second)
			},
			"Degraded=False NoTrouble: Nothing is wrong.", "All 16384 slots are served.",
		},
		"a node too few is a loss once the cluster was complete": {
			func(p *report.Pass) { p.Snapshot.Nodes = p.Snapshot.Nodes[:1]; p.Snapshot.Nodes[0].Server.Peers = nil },
			"Degraded=True NodesNotReady: 0/2 nodes are ready. All 16384 slots are served.",
			"0/2 nodes are ready. All 16384 slots are served.",
		},
		"slots that nobody serves make the cluster unavailable": {
			func(p *report.Pass) { p.Facts.Slots.Covered = 8192 },
			"Available=False SlotsNotServed: 8192 of 16384 slots are served.", "8192 of 16384 slots are served.",
		},
		"an action that failed is said": {
			func(p *report.Pass) { p.Decision, p.Err = acting(), errors.New("createNodes: quota exceeded") },
			"Degraded=True ActionFailed: createNodes: quota exceeded", "createNodes: quota exceeded",
		},
		"a rule that cannot be evaluated is said": {
			func(p *report.Pass) { p.Decision.Err = errors.New("rule x: broken") },
			"Degraded=True RuleFailed: rule x: broken", "rule x: broken",
		},
		"a pass that came to no decision leaves the rest as it was": {
			func(p *report.Pass) { p.Facts, p.Err = nil, errors.New("derive: broken") },
			"Degraded=True PassFailed: derive: broken", "derive: broken",
		},
		"users that one node does not have yet": {
			func(p *report.Pass) { p.Snapshot.Nodes[1].Server.Revision = "r0" },
			"ACLApplied=False Pending: 1 of 2 nodes have the users of the specs.", "All 16384 slots are served.",
		},
		"a paused cluster says so": {
			func(p *report.Pass) { p.Cluster.Spec.Paused = true },
			"Paused=True SpecPaused: The cluster is paused: it is observed and nothing is changed.",
			"The cluster is paused: it is observed and nothing is changed.",
		},
		"warnings of one reason are one condition": {
			func(p *report.Pass) {
				p.Desired.Warnings = []engine.Warning{{Reason: "ForcedSetting", Message: "port is forced."}, {Reason: "ForcedSetting", Message: "dir is forced."}}
			},
			"ForcedSetting=True ForcedSetting: port is forced. dir is forced.", "All 16384 slots are served.",
		},
		"a TLS Secret with a problem": {
			func(p *report.Pass) { p.Certificate = &report.Certificate{Problem: `TLS Secret "s" has no data`} },
			`TLSValid=False SecretInvalid: TLS Secret "s" has no data`, "All 16384 slots are served.",
		},
		"a TLS Secret with a problem while servers serve a certificate that ends soon": {
			func(p *report.Pass) {
				p.Certificate = &report.Certificate{Problem: `TLS Secret "s" has no data`, NotAfter: now.Add(24 * time.Hour)}
			},
			"CertificateExpiringSoon=True LessThan30Days: The certificate expires on 2026-05-02 12:00 UTC.", "All 16384 slots are served.",
		},
		"how far a new certificate has come": {
			func(p *report.Pass) {
				p.Certificate = &report.Certificate{NotAfter: now.AddDate(1, 0, 0)}
				p.Snapshot.Certificate = &engine.Certificate{Copied: "r2"}
				p.Snapshot.Nodes[0].Certificate.Proved, p.Snapshot.Nodes[1].Certificate.Proved = "r2", "r1"
			},
			"TLSValid=True SecretValid: The TLS Secret is complete and fits the cluster; 1 of 2 nodes serve it.", "All 16384 slots are served.",
		},
		"a certificate with 29 days left": {
			func(p *report.Pass) { p.Certificate = &report.Certificate{NotAfter: now.Add(29 * 24 * time.Hour)} },
			"CertificateExpiringSoon=True LessThan30Days: The certificate expires on 2026-05-30 12:00 UTC.", "All 16384 slots are served.",
		},
		"a certificate with 31 days left": {
			func(p *report.Pass) { p.Certificate = &report.Certificate{NotAfter: now.Add(31 * 24 * time.Hour)} },
			"CertificateExpiringSoon=False NotSoon: The certificate expires on 2026-06-01 12:00 UTC.", "All 16384 slots are served.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			pass := whole()
			pass.Cluster.Status.Message = "as it was"
			c.change(&pass)
			status := report.Status(pass)
			kind, _, _ := strings.Cut(c.want, "=")
			found := meta.FindStatusCondition(status.Conditions, kind)
			if found == nil {
				t.Fatalf("no condition %s in %v", kind, status.Conditions)
			}
			if got := found.Type + "=" + string(found.Status) + " " + found.Reason + ": " + found.Message; got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if status.Message != c.message {
				t.Errorf("message %q, want %q", status.Message, c.message)
			}
		})
	}
}

func TestStateIsComputedFromWhatWasSeen(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*report.Pass)
		want   v1alpha1.ClusterState
	}{
		"complete":                     {func(*report.Pass) {}, v1alpha1.Active},
		"not complete yet":             {func(p *report.Pass) { p.Facts.Cluster.Creating = true }, v1alpha1.Creating},
		"refused while it was created": {func(p *report.Pass) { p.Facts.Cluster.Creating, p.Desired.Problem = true, "no" }, v1alpha1.Invalid},
		"accepted again":               {func(p *report.Pass) { p.Cluster.Status.State = v1alpha1.Invalid }, v1alpha1.Active},
		"a deletion changes no state":  {func(p *report.Pass) { p.Facts.Cluster.Deleting, p.Desired.Problem = true, "no" }, v1alpha1.Active},
		"no decision leaves the state alone": {func(p *report.Pass) {
			p.Facts, p.Err = nil, errors.New("x")
			p.Cluster.Status.State = v1alpha1.Creating
		}, v1alpha1.Creating},
	} {
		t.Run(name, func(t *testing.T) {
			pass := whole()
			c.change(&pass)
			if got := report.Status(pass).State; got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestAConditionKeepsItsTimeWhileItsStatusStays(t *testing.T) {
	pass := whole()
	old := metav1.NewTime(now.Add(-time.Hour))
	pass.Cluster.Status.Conditions = []metav1.Condition{
		{Type: "Available", Status: "True", LastTransitionTime: old},
		{Type: "Degraded", Status: "True", LastTransitionTime: old},
		{Type: "ForcedSetting", Status: "True", LastTransitionTime: old},
	}
	got := report.Status(pass).Conditions
	if c := meta.FindStatusCondition(got, "Available"); !c.LastTransitionTime.Equal(&old) {
		t.Errorf("Available was dated anew: %s", c.LastTransitionTime)
	}
	if c := meta.FindStatusCondition(got, "Degraded"); c.LastTransitionTime.Equal(&old) {
		t.Error("Degraded changed and was not dated anew")
	}
	if c := meta.FindStatusCondition(got, "ForcedSetting"); c != nil {
		t.Errorf("a warning that no longer applies stays: %v", c)
	}
}

func TestWhatARefusedSpecCannotTellStaysAsItWas(t *testing.T) {
	pass := whole()
	pass.Cluster.Status.Conditions = []metav1.Condition{
		{Type: "ACLApplied", Status: "True", Reason: "Applied", Message: "2 of 2"},
		{Type: "TLSValid", Status: "True", Reason: "SecretValid", Message: "gone with its Secret"},
	}
	pass.Desired = engine.Desired{Problem: "no", Reason: "NoImageRef"}
	got := report.Status(pass).Conditions
	if c := meta.FindStatusCondition(got, "ACLApplied"); c == nil || c.Message != "2 of 2" {
		t.Errorf("ACLApplied is %v", c)
	}
	if c := meta.FindStatusCondition(got, "TLSValid"); c != nil {
		t.Errorf("TLSValid without tls: %v", c)
	}
}

func TestOnlyTheFirstTroublesAreNamed(t *testing.T) {
	pass := whole()
	pass.Snapshot.Nodes = nil
	for _, id := range []string{"1", "2", "3", "4", "5"} {
		pass.Snapshot.Nodes = append(pass.Snapshot.Nodes, engine.Node{Name: "n" + id, Pod: &engine.Pod{Trouble: "x"}})
	}
	want := "n1: x; n2: x; n3: x; and 2 more"
	if got := meta.FindStatusCondition(report.Status(pass).Conditions, "Degraded").Message; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLongMessagesAreCutBetweenCharacters(t *testing.T) {
	pass := whole()
	pass.Desired.Problem = strings.Repeat("ü", 5000)
	got := report.Status(pass).Message
	if len(got) > 1024 || !strings.HasSuffix(got, "ü …") {
		t.Errorf("%d bytes, ends in %q", len(got), got[len(got)-8:])
	}
}
