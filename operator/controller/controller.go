// Package controller is the operator's loop and what wakes it.
//
//	observe → derive → diff → decide → act → report
//
// Each pass over a cluster takes at most one action and then looks again. Between two passes it remembers nothing that a
// decision depends on: an operator that is killed and started again decides the same. What it keeps sets only the pace
// (streaks), says whom to wake (references) or is told in the status (syncs). It must not hold policy: what is done and why
// is for the rules.
package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/derivation"
	"valkey.gomomento.com/operator/operator/observe"
	"valkey.gomomento.com/operator/operator/report"
)

const (
	// passLimit ends a pass that hangs, so that one cluster cannot keep a worker for itself. What it was doing is done again.
	passLimit = 30 * time.Second
	// reportLimit ends a report that the API server does not take, and urgentReportLimit that of a cluster with silent
	// servers: a takeover does not wait for an API server that is away. What was to be told is told by a later report.
	reportLimit       = 5 * time.Second
	urgentReportLimit = time.Second
)

// An Observer looks at one cluster. The error is observe.ErrNoCluster when it is gone.
type Observer interface {
	Observe(ctx context.Context, key types.NamespacedName) (observe.Observation, error)
}

// A Deriver computes what a cluster should be.
type Deriver interface {
	Derive(in derivation.Input) (engine.Desired, derivation.Extras, error)
	// Conf renders any settings as valkey.conf.
	Conf(settings map[string]string) (string, error)
}

// A Loop runs clusters. Make it with New.
type Loop struct {
	// kube writes to the API server and reads from the cache; live reads from the API server.
	kube     client.Client
	live     client.Reader
	observer Observer
	deriver  Deriver
	defaults derivation.Defaults
	rules    []engine.Rule
	reporter *report.Reporter
	metrics  *report.Metrics

	references *references
	streaks    *streaks
	syncs      *syncs
	rollouts   *rollouts
	waker      *waker
	hurries    *hurries
	keepers    map[string]*waker
}

// Parts are what a Loop is made of.
type Parts struct {
	Kube     client.Client
	Live     client.Reader
	Observer Observer
	Deriver  Deriver
	Defaults derivation.Defaults
	Rules    []engine.Rule
	Reporter *report.Reporter
	Metrics  *report.Metrics
	// MaxConcurrentRollouts is how many clusters may be rolled at once.
	MaxConcurrentRollouts int
}

// New makes a Loop.
func New(p Parts) *Loop {
	return &Loop{
		kube: p.Kube, live: p.Live, observer: p.Observer, deriver: p.Deriver, defaults: p.Defaults,
		rules: p.Rules, reporter: p.Reporter, metrics: p.Metrics,
		references: newReferences(), streaks: newStreaks(), syncs: newSyncs(), waker: &waker{},
		hurries:  newHurries(),
		rollouts: newRollouts(p.MaxConcurrentRollouts),
		keepers:  map[string]*waker{configKind: {}, imageKind: {}, roleKind: {}},
	}
}

// Wake asks for a pass over a cluster for a reason that no watch knows of, such as a new connection. It does not block.
func (l *Loop) Wake(key types.NamespacedName) { l.waker.wake(key) }

// WakeInHaste wakes for a connection that broke: the report of the pass under way must not hold the next one up for long.
func (l *Loop) WakeInHaste(key types.NamespacedName) {
	l.hurries.hurry(key)
	l.waker.wake(key)
}

// Reconcile is one pass over one cluster.
func (l *Loop) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	started := time.Now()
	defer func() { l.metrics.ObserveReconcile(time.Since(started)) }()
	timed, cancel := context.WithTimeout(ctx, passLimit)
	defer cancel()

	calm, over := l.hurries.watch(ctx, request.NamespacedName)
	defer over()
	seen, err := l.observer.Observe(timed, request.NamespacedName)
	if errors.Is(err, observe.ErrNoCluster) {
		return l.forget(timed, request.NamespacedName).result()
	}
	if err != nil {
		return failed(err).result()
	}
	pass, extras := l.decide(timed, seen, started)
	pass.Syncs = l.syncs.count(request.NamespacedName, &pass.Snapshot)
	if pass.Err == nil {
		pass = l.carryOut(timed, seen, pass, extras)
	}
	return l.report(ctx, calm, pass).result()
}

// Plan says what the next pass over a cluster would do, and does nothing.
func (l *Loop) Plan(ctx context.Context, key types.NamespacedName) (report.Pass, error) {
	seen, err := l.observer.Observe(ctx, key)
	if err != nil {
		return report.Pass{}, err
	}
	pass, _ := l.decide(ctx, seen, time.Now())
	return pass, pass.Err
}

// decide is the pure middle of a pass. Its Err says that the specs could not be read or derived.
func (l *Loop) decide(ctx context.Context, seen observe.Observation, started time.Time) (report.Pass, derivation.Extras) {
	pass := report.Pass{Cluster: seen.Cluster, Snapshot: seen.Snapshot, Certificate: certificate(seen.TLS), Started: started}
	desired, extras, err := l.derive(ctx, seen)
	if err != nil {
		pass.Err = err
		return pass, extras
	}
	pass.Desired = desired
	pass.Facts = engine.Diff(pass.Snapshot, desired)
	if err := l.pace(ctx, &pass); err != nil {
		pass.Err = err
		return pass, extras
	}
	pass.Decision = engine.Decide(pass.Facts, l.rules)
	return pass, extras
}

// pace takes a place among the clusters that may roll at once, or lets the facts say that there is none.
func (l *Loop) pace(ctx context.Context, pass *report.Pass) error {
	key := client.ObjectKeyFromObject(pass.Cluster)
	menu := l.references.all(key)
	l.rollouts.note(key, pass.Facts.Rolling, menu)
	if rolling := pass.Facts.Rolling; rolling.Begun || len(rolling.Surge) == 0 || !pass.Facts.Working {
		return nil
	}
	var clusters v1alpha1.ValkeyClusterList
	if err := l.kube.List(ctx, &clusters); err != nil {
		return fmt.Errorf("list the clusters: %w", err)
	}
	var fleet []types.NamespacedName
	for i := range clusters.Items {
		if clusters.Items[i].DeletionTimestamp.IsZero() {
			fleet = append(fleet, client.ObjectKeyFromObject(&clusters.Items[i]))
		}
	}
	if pass.Snapshot.RollHeld = l.rollouts.enter(key, menu, fleet); pass.Snapshot.RollHeld != "" {
		pass.Facts = engine.Diff(pass.Snapshot, pass.Desired)
	}
	return nil
}

// derive computes what the cluster should be, and wakes the keepers of what it came to use or ceased to use.
func (l *Loop) derive(ctx context.Context, seen observe.Observation) (engine.Desired, derivation.Extras, error) {
	key := client.ObjectKeyFromObject(seen.Cluster)
	read, err := readMenu(ctx, l.kube, seen.Cluster, func(ref reference) { l.references.note(key, ref) })
	if err != nil {
		return engine.Desired{}, derivation.Extras{}, fmt.Errorf("read the menu: %w", err)
	}
	l.wakeKeepers(l.references.settle(key, read.references))

	started := time.Now()
	desired, extras, err := l.deriver.Derive(l.input(seen, read))
	l.metrics.ObserveDerivation(time.Since(started))
	if err != nil {
		return engine.Desired{}, derivation.Extras{}, fmt.Errorf("derive: %w", err)
	}
	for _, obj := range objects.Owned(seen.Cluster, desired) {
		desired.Objects = append(desired.Objects, objects.Canonical(obj))
	}
	return desired, extras, nil
}

// input is all that the derivation depends on.
func (l *Loop) input(seen observe.Observation, read menu) derivation.Input {
	in := derivation.Input{
		Name: seen.Cluster.Name, Namespace: seen.Cluster.Namespace, Cluster: seen.Cluster.Spec,
		Chain: read.chain, Images: read.images, Roles: read.roles, Operator: l.defaults,
	}
	in.OperatorHashes, in.ReplHashes = seen.Snapshot.SystemHashes()
	if seen.TLS != nil {
		in.TLSProblem = seen.TLS.Problem
	}
	return in
}

// carryOut acts on the decision. When that fails and its rule yields, the next rule that holds is acted on instead; the
// failure is told of all the same.
func (l *Loop) carryOut(ctx context.Context, seen observe.Observation, pass report.Pass, extras derivation.Extras) report.Pass {
	first := pass.Decision
	for {
		err := l.act(ctx, seen, pass, extras)
		if err == nil {
			return pass
		}
		pass.Failures = append(pass.Failures, engine.Failure{Rule: pass.Decision.Rule, Err: err})
		next := engine.Decide(pass.Facts, l.rules, pass.Failures...)
		if !pass.Decision.Yields || !next.Acts() {
			pass.Decision, pass.Err = first, failures(pass.Failures)
			pass.Failures = nil
			return pass
		}
		pass.Decision = next
	}
}

func failures(all []engine.Failure) error {
	errs := make([]error, 0, len(all))
	for _, f := range all {
		errs = append(errs, f.Err)
	}
	return errors.Join(errs...)
}

// act carries out the decision. A rule that could not be evaluated is an error too, told of by Decision.Err.
func (l *Loop) act(ctx context.Context, seen observe.Observation, pass report.Pass, extras derivation.Extras) error {
	if !pass.Decision.Acts() {
		return nil
	}
	action, ok := pass.Decision.Args.(actions.Action)
	if !ok {
		return fmt.Errorf("%s: %T is no action", pass.Decision.Action, pass.Decision.Args)
	}
	err := action.Execute(ctx, actions.Env{
		// A copy: what an action changes on it must not change what the report compares with.
		Cluster:  seen.Cluster.DeepCopy(),
		Snapshot: pass.Snapshot, Desired: pass.Desired,
		Kube: l.kube, Live: l.live, Valkey: seen.Servers, Shower: seen.Servers, Conf: l.deriver.Conf,
		Carrier: seen.Servers.Carrier(seen.Credentials.Carry()), Known: seen.Credentials.Known,
		Pods: actions.PodDefaults{
			ClusterDomain: l.defaults.ClusterDomain,
			PullSecrets:   extras.PullSecrets, PriorityClassName: extras.PriorityClassName, Tolerations: extras.Tolerations,
		},
	})
	if err != nil {
		return fmt.Errorf("%s: %w", pass.Decision.Action, err)
	}
	return nil
}

// report tells of the pass and says what follows from it. An action that lost a race against another writer is no news:
// the object moved since it was observed, and the next look shows how. A status that could not be written is tried again
// with the next look, and by the rate limiter only where no look is due: what the cluster needs does not wait for it.
func (l *Loop) report(ctx, calm context.Context, pass report.Pass) outcome {
	ctx, cancel := limited(ctx, calm, patience(pass))
	defer cancel()
	key := client.ObjectKeyFromObject(pass.Cluster)
	if apierrors.IsConflict(pass.Err) {
		return done(l.streaks.count(key, pass.Decision, time.Now()).repeats)
	}
	err := l.reporter.Report(ctx, pass)
	switch {
	case pass.Err != nil:
		return failed(pass.Err)
	case pass.Decision.Err != nil:
		return failed(pass.Decision.Err)
	}
	next := conclude(pass, l.streaks.count(key, pass.Decision, time.Now()))
	switch {
	case err == nil:
		return next
	case next.event:
		return failed(err)
	default:
		logf.FromContext(ctx).Error(err, "the report is tried again with the next look")
		return next
	}
}

// patience is how long the report of a pass may take.
func patience(pass report.Pass) time.Duration {
	if pass.Facts != nil && len(pass.Facts.Nodes.Silent) > 0 {
		return urgentReportLimit
	}
	return reportLimit
}

func (l *Loop) wakeKeepers(changed []reference) {
	for _, ref := range changed {
		if keeper := l.keepers[ref.kind]; keeper != nil {
			keeper.wake(types.NamespacedName{Name: ref.name})
		}
	}
}

func certificate(found *observe.TLS) *report.Certificate {
	if found == nil {
		return nil
	}
	return &report.Certificate{Problem: found.Problem, NotAfter: found.Expiry}
}
