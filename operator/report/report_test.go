package report_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/operator/report"
)

// at gives the pass the object that the API server holds now.
func (d *desk) at(t *testing.T, pass report.Pass) report.Pass {
	t.Helper()
	cluster := &v1alpha1.ValkeyCluster{}
	if err := d.kube.Get(t.Context(), client.ObjectKeyFromObject(pass.Cluster), cluster); err != nil {
		t.Fatal(err)
	}
	pass.Cluster = cluster
	return pass
}

func (d *desk) report(t *testing.T, pass report.Pass) {
	t.Helper()
	if err := d.reporter.Report(t.Context(), pass); err != nil {
		t.Fatal(err)
	}
}

func node(name string) *v1alpha1.ValkeyNode {
	return &v1alpha1.ValkeyNode{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
}

func TestNothingIsWrittenTwice(t *testing.T) {
	d := newDesk(t, whole().Cluster, node("cache-1"), node("cache-2"))
	d.report(t, d.at(t, whole()))
	if len(d.writes) != 3 {
		t.Errorf("%d writes at first, want one for the cluster and one for each node: %v", len(d.writes), d.writes)
	}
	d.writes = nil
	pass := d.at(t, whole())
	pass.Started, pass.Snapshot.At = now.Add(4*time.Minute), now.Add(4*time.Minute)
	pass.Snapshot.Nodes[0].Server.Offset = 5000
	d.report(t, pass)
	if len(d.writes) != 0 {
		t.Errorf("writes although nothing changed: %v", d.writes)
	}
}

func TestAnOldSightingIsRenewed(t *testing.T) {
	d := newDesk(t, whole().Cluster, node("cache-1"), node("cache-2"))
	d.report(t, d.at(t, whole()))
	d.writes = nil
	pass := d.at(t, whole())
	pass.Snapshot.At = now.Add(6 * time.Minute)
	pass.Snapshot.Nodes[0].Server.Offset = 5000
	d.report(t, pass)
	slices.Sort(d.writes)
	want := []string{
		`cache-1 {"status":{"lastObserved":"2026-05-01T12:06:00Z"}}`,
		`cache-2 {"status":{"lastObserved":"2026-05-01T12:06:00Z","replicationLag":5000}}`,
	}
	if diff := cmp.Diff(want, d.writes); diff != "" {
		t.Error(diff)
	}
}

func TestASilentServerKeepsItsLastKnownID(t *testing.T) {
	d := newDesk(t, whole().Cluster, node("cache-1"), node("cache-2"))
	d.report(t, d.at(t, whole()))
	pass := d.at(t, whole())
	pass.Snapshot.Nodes[1].Server, pass.Snapshot.Nodes[1].Pod.Phase = nil, "Failed"
	d.report(t, pass)
	got := node("cache-2")
	if err := d.kube.Get(t.Context(), client.ObjectKeyFromObject(got), got); err != nil {
		t.Fatal(err)
	}
	s := got.Status
	if s.NodeID != "b" || s.PodPhase != "Failed" || s.LinkUp || s.Role != v1alpha1.Replica {
		t.Errorf("status %+v", s)
	}
}

// A pass on an old copy of the cluster must not undo what an action wrote since.
func TestAStaleCacheDoesNotUndoWhatAnActionWrote(t *testing.T) {
	creating := whole()
	creating.Facts.Cluster.Creating = true
	creating.Cluster.Status.State = v1alpha1.Creating
	creating.Cluster.Status.TargetSpec = creating.Cluster.Spec.DeepCopy()
	d := newDesk(t, creating.Cluster)
	stale := d.at(t, creating)

	active := stale.Cluster.DeepCopy()
	active.Status.State, active.Status.TargetSpec = v1alpha1.Active, nil
	if err := d.kube.Status().Update(t.Context(), active); err != nil {
		t.Fatal(err)
	}
	d.report(t, stale)
	if got := d.at(t, creating).Cluster.Status; got.State != v1alpha1.Active || got.TargetSpec != nil {
		t.Errorf("state %s, target %v", got.State, got.TargetSpec)
	}
}

func TestAClusterThatIsGoneIsNoError(t *testing.T) {
	newDesk(t).report(t, whole())
}

func TestEventsTellOfActionsStatesAndTrouble(t *testing.T) {
	d := newDesk(t, whole().Cluster)
	acted := whole()
	acted.Decision = acting()
	refused := whole()
	refused.Desired = engine.Desired{Problem: `ValkeyImage "x" not found`, Reason: "ImageNotFound"}
	broken := whole()
	broken.Decision, broken.Err = acting(), errors.New("createNodes: quota exceeded")
	open := whole()
	open.Desired.OpenDefault = true

	for _, step := range []struct {
		name string
		pass report.Pass
		want []string
	}{
		{"nothing to tell", whole(), nil},
		{"an action", acted, []string{"Normal CreateNodes The topology asks for more nodes than there are. createNodes: 2 nodes. (rule create-missing-nodes)"}},
		{"the same again within a minute", acted, nil},
		{"a spec that does not resolve", refused, []string{`Warning StateChanged The cluster is now Invalid. ValkeyImage "x" not found`}},
		{"resolved", whole(), []string{"Normal StateChanged The cluster is now Active. All 16384 slots are served."}},
		{"a failed action", broken, []string{"Warning CreateNodesFailed createNodes: quota exceeded"}},
		{"an open default user", open, []string{"Warning DefaultUserOpen Without any ACL binding the default user is open: anyone who reaches the servers may do anything."}},
		{"still open", open, nil},
	} {
		d.report(t, d.at(t, step.pass))
		if diff := cmp.Diff(step.want, d.said()); diff != "" {
			t.Errorf("%s: %s", step.name, diff)
		}
	}
}

func TestMetricsComeAndGoWithTheCluster(t *testing.T) {
	d := newDesk(t, whole().Cluster)
	pass := d.at(t, whole())
	pass.Decision = acting()
	pass.Certificate = &report.Certificate{NotAfter: now.Add(time.Hour)}
	pass.Cluster.Status.Nodes = []v1alpha1.ClusterNode{{Name: "cache-1", ID: "a", Role: v1alpha1.Replica}}
	d.report(t, pass)
	want := []string{
		`valkey_operator_actions_total{action="createNodes",cluster="cache",namespace="shop",rule="create-missing-nodes"} 1`,
		`valkey_operator_certificate_expiry_timestamp_seconds{cluster="cache",namespace="shop"} 1.7776404e+09`,
		`valkey_operator_cluster_nodes_desired{cluster="cache",namespace="shop"} 2`,
		`valkey_operator_cluster_nodes_ready{cluster="cache",namespace="shop"} 2`,
		`valkey_operator_cluster_slots_covered{cluster="cache",namespace="shop"} 16384`,
		`valkey_operator_cluster_state{cluster="cache",namespace="shop",state="Active"} 1`,
		`valkey_operator_cluster_state{cluster="cache",namespace="shop",state="Creating"} 0`,
		`valkey_operator_cluster_state{cluster="cache",namespace="shop",state="Invalid"} 0`,
		`valkey_operator_cluster_state{cluster="cache",namespace="shop",state="Updating"} 0`,
		`valkey_operator_last_failover_timestamp_seconds{cluster="cache",namespace="shop"} 1.7776368e+09`,
	}
	if diff := cmp.Diff(want, d.series(t)); diff != "" {
		t.Error(diff)
	}
	d.reporter.Forget(types.NamespacedName{Namespace: "shop", Name: "cache"})
	if left := d.series(t); len(left) > 0 {
		t.Errorf("series of a cluster that is gone: %v", left)
	}
}

// series are the gauges and counters of clusters in the words of the exposition format.
func (d *desk) series(t *testing.T) []string {
	t.Helper()
	families, err := d.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetType() != dto.MetricType_HISTOGRAM {
				all = append(all, f.GetName()+labels(m)+" "+number(m))
			}
		}
	}
	slices.Sort(all)
	return all
}

func labels(m *dto.Metric) string {
	var pairs []string
	for _, l := range m.GetLabel() {
		pairs = append(pairs, l.GetName()+`="`+l.GetValue()+`"`)
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

func number(m *dto.Metric) string {
	value := m.GetGauge().GetValue()
	if m.GetCounter() != nil {
		value = m.GetCounter().GetValue()
	}
	return strconv.FormatFloat(value, 'g', -1, 64)
}
