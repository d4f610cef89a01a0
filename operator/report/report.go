// Package report tells people what a pass over a cluster saw, decided and did: in the status of the ValkeyCluster and its
// ValkeyNodes, in Events, in metrics and in the log.
//
// It is the only place that logs decisions. It must not decide or repair anything, and it writes nothing to the API
// server that says what is written there already.
package report

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
)

// A Pass is one turn of the loop over one cluster.
type Pass struct {
	// Cluster is the object as it was observed, BEFORE anything was done: status is compared with it.
	Cluster  *v1alpha1.ValkeyCluster
	Snapshot engine.Snapshot
	Desired  engine.Desired
	Facts    *engine.Facts
	Decision engine.Decision
	// Certificate is what was found of the TLS Secret; nil without tls.
	Certificate *Certificate
	// Syncs counts, by node, the full syncs that a replica has begun without getting to the end of one, as far as the
	// operator has watched it.
	Syncs map[string]int
	// Failures are decisions of the pass whose actions failed before Decision was carried out instead.
	Failures []engine.Failure
	// Err is why the pass could not do what it was to do, nil when it could. It says what was being done.
	Err error
	// Started is when the pass began.
	Started time.Time
}

// A Certificate is what clusters with tls run on.
type Certificate struct {
	// Problem is why the TLS Secret cannot be used, "" when it can.
	Problem string
	// NotAfter is when the certificate that servers use expires; zero when it could not be read.
	NotAfter time.Time
}

func (p Pass) key() types.NamespacedName {
	return types.NamespacedName{Namespace: p.Cluster.Namespace, Name: p.Cluster.Name}
}

// complete says that the pass came as far as a decision.
func (p Pass) complete() bool { return p.Facts != nil }

// A Reporter reports passes. Make it with New.
type Reporter struct {
	kube    client.Client
	events  *announcer
	metrics *Metrics
	log     *diary
}

// New makes a Reporter that writes with kube, which reads from the cache, and records Events with recorder.
func New(kube client.Client, recorder events.EventRecorder, metrics *Metrics) *Reporter {
	return &Reporter{kube: kube, events: newAnnouncer(recorder, time.Now), metrics: metrics, log: newDiary()}
}

// Report tells of a pass. An error is one of writing status; Events, metrics and log have been made then all the same.
func (r *Reporter) Report(ctx context.Context, p Pass) error {
	status := Status(p)
	r.log.write(logf.FromContext(ctx), p)
	r.events.announce(p, status)
	r.metrics.record(p, status)
	if err := r.writeStatus(ctx, p.Cluster, status); err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	if !p.complete() {
		return nil
	}
	if err := r.writeNodes(ctx, p); err != nil {
		return fmt.Errorf("write status of nodes: %w", err)
	}
	return nil
}

// Forget drops all that is kept about a cluster that is gone.
func (r *Reporter) Forget(key types.NamespacedName) {
	r.metrics.forget(key)
	r.events.forget(key)
	r.log.forget(key)
}
