package report

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// Metrics are what Prometheus reads of the clusters and of the operator's own work. Make them with NewMetrics.
type Metrics struct {
	state, covered, ready, desired, failover, expiry *prometheus.GaugeVec
	actions                                          *prometheus.CounterVec
	reconcile, derivation                            prometheus.Histogram
}

// states are the values of the label state.
var states = []v1alpha1.ClusterState{v1alpha1.Creating, v1alpha1.Active, v1alpha1.Updating, v1alpha1.Invalid}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		state:      gauge("valkey_operator_cluster_state", "1 for the state the cluster is in, 0 for the others.", "state"),
		covered:    gauge("valkey_operator_cluster_slots_covered", "How many of the 16384 slots a reachable primary serves."),
		ready:      gauge("valkey_operator_cluster_nodes_ready", "How many servers are up, know the whole cluster and are in sync."),
		desired:    gauge("valkey_operator_cluster_nodes_desired", "How many servers the cluster should have."),
		failover:   gauge("valkey_operator_last_failover_timestamp_seconds", "When a replica was last seen to have become primary, in seconds since 1970."),
		expiry:     gauge("valkey_operator_certificate_expiry_timestamp_seconds", "When the cluster's certificate expires, in seconds since 1970."),
		actions:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "valkey_operator_actions_total", Help: "Actions taken, failed ones too, by the rule that asked for them."}, []string{"namespace", "cluster", "action", "rule"}),
		reconcile:  duration("valkey_operator_reconcile_duration_seconds", "How long one pass over a cluster takes.", 0.005),
		derivation: duration("valkey_operator_derivation_duration_seconds", "How long it takes to derive what a cluster should be.", 0.00005),
	}
	registry.MustRegister(m.state, m.covered, m.ready, m.desired, m.failover, m.expiry, m.actions, m.reconcile, m.derivation)
	return m
}

func gauge(name, help string, more ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, append([]string{"namespace", "cluster"}, more...))
}

// duration is a histogram whose buckets double from the shortest on.
func duration(name, help string, shortest float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(shortest, 2, 14)})
}

// ObserveReconcile notes how long a pass took.
func (m *Metrics) ObserveReconcile(d time.Duration) { m.reconcile.Observe(d.Seconds()) }

// ObserveDerivation notes how long a derivation took.
func (m *Metrics) ObserveDerivation(d time.Duration) { m.derivation.Observe(d.Seconds()) }

// record takes over what a pass found.
func (m *Metrics) record(p Pass, status v1alpha1.ValkeyClusterStatus) {
	if !p.complete() {
		return
	}
	in := []string{p.Cluster.Namespace, p.Cluster.Name}
	for _, s := range states {
		m.state.WithLabelValues(append(in, string(s))...).Set(truth(s == status.State))
	}
	m.covered.WithLabelValues(in...).Set(float64(p.Facts.Slots.Covered))
	m.ready.WithLabelValues(in...).Set(float64(status.ReadyNodes))
	m.desired.WithLabelValues(in...).Set(float64(target(p).Nodes()))
	if p.Certificate != nil && !p.Certificate.NotAfter.IsZero() {
		m.expiry.WithLabelValues(in...).Set(float64(p.Certificate.NotAfter.Unix()))
	}
	if p.Decision.Acts() {
		m.actions.WithLabelValues(append(in, p.Decision.Action, p.Decision.Rule)...).Inc()
	}
	if failedOver(p.Cluster.Status, status) {
		m.failover.WithLabelValues(in...).Set(float64(p.Snapshot.At.Unix()))
	}
}

// failedOver says that a node that was a replica by the last status is a primary now. While a cluster is created every
// server begins as a primary, which is none.
func failedOver(was, now v1alpha1.ValkeyClusterStatus) bool {
	roles := map[string]v1alpha1.NodeRole{}
	for _, n := range was.Nodes {
		roles[n.ID] = n.Role
	}
	for _, n := range now.Nodes {
		if n.ID != "" && n.Role == v1alpha1.Primary && n.Slots > 0 && roles[n.ID] == v1alpha1.Replica {
			return true
		}
	}
	return false
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// forget drops the series of a cluster that is gone.
func (m *Metrics) forget(key types.NamespacedName) {
	of := prometheus.Labels{"namespace": key.Namespace, "cluster": key.Name}
	for _, v := range []*prometheus.GaugeVec{m.state, m.covered, m.ready, m.desired, m.failover, m.expiry} {
		v.DeletePartialMatch(of)
	}
	m.actions.DeletePartialMatch(of)
}
