package sim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/cue"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/derivation"
	"valkey.gomomento.com/operator/engine/ruleset"
	"valkey.gomomento.com/operator/operator/controller"
	"valkey.gomomento.com/operator/operator/observe"
	"valkey.gomomento.com/operator/operator/report"
	"valkey.gomomento.com/operator/testscripts/sim/kube"
	"valkey.gomomento.com/operator/testscripts/sim/model"
)

// A Program is what of an operator is the same in every world, and costs time to make.
type Program struct {
	deriver *derivation.Deriver
	rules   []engine.Rule
	// asked is told what every rule says, if it is not nil.
	asked func(rule string, held bool, f *engine.Facts)
}

// Load makes a Program with the rules of the files, the operator's own being those of cue.FS.
func Load(files fs.FS) (*Program, error) {
	deriver, err := derivation.Load(cue.FS, nil)
	if err != nil {
		return nil, err
	}
	rules, err := ruleset.Load(files, actions.New)
	return &Program{deriver: deriver, rules: rules}, err
}

// With is the Program with other rules.
func (p *Program) With(rules []engine.Rule) *Program {
	return &Program{deriver: p.deriver, rules: rules}
}

// An operator is one running process of the operator.
type operator struct {
	w     *World
	name  string
	loop  *controller.Loop
	cache *kube.Cache

	wake chan struct{}
	done chan struct{}
	// The world must be held for the rest.
	dead     bool
	slow     time.Duration // between a decision and what is done
	at       time.Time     // when the queue lets the cluster go next, zero for never
	failures int
	idle     bool // the last pass had nothing to do
	last     string
	rule     string
	err      error
	passes   int
}

const apiName = "api"

// startOperator starts an operator of that name, with empty memory.
func (w *World) startOperator(name string) {
	w.line.Hold()
	o := &operator{w: w, name: name, cache: w.api.NewCache(), wake: make(chan struct{}, 1), done: make(chan struct{})}
	o.cache.Lag = func(kind string) time.Duration {
		return w.stale + w.line.Between(time.Millisecond, 6*time.Millisecond, o.name, kind)
	}
	o.cache.Blocked = func() bool { return w.servers.Net.Cut(apiName, o.name) }
	o.cache.Told = func(was, is client.Object) {
		if wakes(was, is) {
			o.wakeUp()
		}
	}
	o.loop = o.newLoop()
	o.at = w.line.Now().Add(time.Millisecond)
	w.operators = append(w.operators, o)
	w.line.LetGo()
	go o.run()
}

func (o *operator) newLoop() *controller.Loop {
	w := o.w
	kubeClient := &kube.Client{API: w.api, Cache: o.cache, Gate: o, Wrote: o.wrote}
	live := &kube.Client{API: w.api, Gate: o, Wrote: o.wrote}
	pool := &model.Pool{
		Cluster: w.servers, Name: o.name,
		Trip: func(server string, command []string) time.Duration {
			return w.line.Between(200*time.Microsecond, 900*time.Microsecond, append([]string{o.name, server}, command...)...)
		},
		Lose: func(server string, command []string) (request, reply bool) {
			chance := w.line.Chance(append([]string{"lose", o.name, server}, command...)...)
			return chance < w.broken/2, chance > 1-w.broken/2
		},
		Dead: func() bool { return o.dead },
	}
	metrics := report.NewMetrics(prometheus.NewRegistry())
	return controller.New(controller.Parts{
		Kube: kubeClient, Live: live,
		Observer: &observe.Observer{
			Kube: kubeClient, Secrets: observe.LiveSecrets{API: live}, Pool: pool, Directives: w.program.deriver.Wanted,
			ClusterDomain: "cluster.local", Now: time.Now,
		},
		Deriver: w.program.deriver, Rules: o.spied(w.program.rules),
		Reporter: report.New(kubeClient, silent{}, metrics), Metrics: metrics,
		MaxConcurrentRollouts: 10,
	})
}

// silent takes Events and drops them.
type silent struct{}

var _ events.EventRecorder = silent{}

// Eventf implements events.EventRecorder.
func (silent) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

// wakeUp asks for a pass; the world must be held.
func (o *operator) wakeUp() {
	o.idle = false
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// run makes passes as the queue of a controller would, until the operator is dead.
func (o *operator) run() {
	defer close(o.done)
	ctx := logf.IntoContext(context.Background(), logr.Discard())
	request := ctrl.Request{NamespacedName: kube.Key(namespace, clusterName)}
	for o.await() {
		result, err := o.reconcile(ctx, request)
		o.w.line.Hold()
		o.passes++
		o.plan(result.RequeueAfter, err)
		o.w.line.LetGo()
	}
}

// reconcile makes one pass. A controller takes a panic for an error and tries again; here it is a fault.
func (o *operator) reconcile(ctx context.Context, request ctrl.Request) (result ctrl.Result, err error) {
	defer func() {
		if r := recover(); r != nil {
			o.w.line.Hold()
			defer o.w.line.LetGo()
			o.w.judge.accuse("panic: %v\n%s", r, debug.Stack())
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return o.loop.Reconcile(ctx, request)
}

// await waits for the next pass, and says whether there is to be one.
func (o *operator) await() bool {
	for {
		o.w.line.Hold()
		now, at, dead := o.w.line.Now(), o.at, o.dead
		if !at.IsZero() && !at.After(now) {
			o.at = time.Time{}
		}
		o.w.line.LetGo()
		switch {
		case dead:
			return false
		case !at.IsZero() && !at.After(now):
			return true
		}
		timer := time.NewTimer(time.Hour)
		if !at.IsZero() {
			timer.Reset(at.Sub(now))
		}
		select {
		case <-o.wake:
			timer.Stop()
			o.w.line.Hold()
			dead = o.dead
			o.w.line.LetGo()
			return !dead
		case <-timer.C:
		}
	}
}

const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 30 * time.Second
	// longWait is as long as only a cluster waits that has nothing to do.
	longWait = 20 * time.Second
)

// plan puts the cluster back into the queue. A controller's queue keeps the earliest of several times.
func (o *operator) plan(after time.Duration, err error) {
	o.err = err
	switch {
	case err != nil:
		after = firstRetry << min(o.failures, 9)
		after = min(after, lastRetry)
		o.failures++
	case after >= longWait:
		after = 30 * time.Second // what chance has made of it would differ from run to run
		o.failures = 0
	default:
		o.failures = 0
	}
	o.idle = err == nil && after >= longWait && len(o.wake) == 0
	if after == 0 {
		return
	}
	if at := o.w.line.Now().Add(after); o.at.IsZero() || at.Before(o.at) {
		o.at = at
	}
}

var errDead = errors.New("the operator is dead")
