package controller

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/derivation"
	"valkey.gomomento.com/operator/operator/observe"
	"valkey.gomomento.com/operator/operator/report"
	"valkey.gomomento.com/operator/operator/valkey"
)

// looks is an observer that sees the cluster and nothing else.
type looks struct{ kube client.Client }

func (o looks) Observe(ctx context.Context, key types.NamespacedName) (observe.Observation, error) {
	cluster := &v1alpha1.ValkeyCluster{}
	if err := o.kube.Get(ctx, key, cluster); err != nil {
		return observe.Observation{}, fmt.Errorf("observe: %w", observe.ErrNoCluster)
	}
	return observe.Observation{Cluster: cluster, Servers: valkey.Servers{}}, nil
}

// derives is a deriver with a fixed answer.
type derives struct{ err error }

func (d derives) Derive(derivation.Input) (engine.Desired, derivation.Extras, error) {
	return engine.Desired{Topology: engine.Topology{Shards: 1}}, derivation.Extras{}, d.err
}

func (derives) Conf(map[string]string) (string, error) { return "port 6379\n", nil }

// deed is an action that counts its executions.
type deed struct {
	times int
	err   error
}

func (d *deed) String() string { return "a deed" }

func (d *deed) Execute(context.Context, actions.Env) error {
	d.times++
	return d.err
}

type always struct{}

func (always) Holds(*engine.Facts) (bool, error) { return true, nil }

type broken struct{}

func (broken) Holds(*engine.Facts) (bool, error) { return false, errors.New("no such fact") }

type with struct{ action any }

func (w with) Evaluate(*engine.Facts) (any, error) { return w.action, nil }

// loop is a Loop over kube with one rule that always holds and does d.
func loop(kube client.Client, d *deed) (*Loop, chan string) {
	recorder := events.NewFakeRecorder(100)
	metrics := report.NewMetrics(prometheus.NewRegistry())
	return New(Parts{
		Kube: kube, Live: kube, Observer: looks{kube}, Deriver: derives{},
		Rules:    []engine.Rule{{Name: "do-it", When: always{}, Then: "deed", With: with{d}, Because: "It is due."}},
		Reporter: report.New(kube, recorder, metrics), Metrics: metrics,
	}), recorder.Events
}

func TestAPassTakesOneActionAndComesBackAtOnce(t *testing.T) {
	kube, _ := kubernetes(t, valkeyCluster("shop", "cache", "small"))
	d := &deed{}
	l, said := loop(kube, d)
	got, err := l.Reconcile(t.Context(), request(shop))
	if err != nil || d.times != 1 || got.RequeueAfter != atOnce {
		t.Errorf("error %v, %d deeds, again after %s", err, d.times, got.RequeueAfter)
	}
	if e, want := <-said, "Normal Deed It is due. deed: a deed. (rule do-it)"; e != want {
		t.Errorf("Event %q, want %q", e, want)
	}
	if got, err := l.Reconcile(t.Context(), request(shop)); err != nil || got.RequeueAfter != 2*atOnce {
		t.Errorf("the same deed again: error %v, again after %s", err, got.RequeueAfter)
	}
}

func TestAFailureIsReportedAndReturned(t *testing.T) {
	cause := errors.New("quota exceeded")
	for name, c := range map[string]struct {
		change func(*Loop)
		want   string
	}{
		"an action fails":              {func(*Loop) {}, "deed: quota exceeded"},
		"the derivation fails":         {func(l *Loop) { l.deriver = derives{cause} }, "derive: quota exceeded"},
		"a rule cannot be evaluated":   {func(l *Loop) { l.rules[0].When = broken{} }, "rule do-it: no such fact"},
		"a rule's arguments are wrong": {func(l *Loop) { l.rules[0].With = with{"nonsense"} }, "deed: string is no action"},
	} {
		t.Run(name, func(t *testing.T) {
			kube, _ := kubernetes(t, valkeyCluster("shop", "cache", "small"))
			l, _ := loop(kube, &deed{err: cause})
			c.change(l)
			if _, err := l.Reconcile(t.Context(), request(shop)); err == nil || err.Error() != c.want {
				t.Errorf("error %v, want %s", err, c.want)
			}
			cluster := &v1alpha1.ValkeyCluster{}
			if err := kube.Get(t.Context(), shop, cluster); err != nil {
				t.Fatal(err)
			}
			if cluster.Status.Message != c.want {
				t.Errorf("status says %q", cluster.Status.Message)
			}
		})
	}
}

// A takeover may be next: it does not wait until the API server takes a status again.
func TestAStatusThatCannotBeWrittenHoldsNothingUp(t *testing.T) {
	kube, _ := kubernetes(t, valkeyCluster("shop", "cache", "small"))
	away := interceptor.NewClient(kube, interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, _ client.Client, _ string, _ client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
			<-ctx.Done()
			return ctx.Err()
		},
	})
	l, _ := loop(away, &deed{})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if got, err := l.Reconcile(ctx, request(shop)); err != nil || got.RequeueAfter != atOnce {
		t.Errorf("error %v, again after %s", err, got.RequeueAfter)
	}
	l.rules = nil
	ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := l.Reconcile(ctx, request(shop)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with nothing to do, the status must be tried again: error %v", err)
	}
}

// A server ends while an earlier pass still waits for an API server that is away: it is looked at soon, whether its connection
// broke during the report or before that.
func TestABrokenConnectionShortensTheReport(t *testing.T) {
	for name, c := range map[string]struct{ before, during bool }{"before": {before: true}, "during": {during: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kube, _ := kubernetes(t, valkeyCluster("shop", "cache", "small"))
			var l *Loop
			l, _ = loop(interceptor.NewClient(kube, interceptor.Funcs{
				SubResourcePatch: func(ctx context.Context, _ client.Client, _ string, _ client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
					if c.during {
						l.WakeInHaste(shop)
					}
					<-ctx.Done()
					return ctx.Err()
				},
			}), &deed{})
			if c.before {
				l.observer = breaks{l.observer, func() { l.WakeInHaste(shop) }}
			}
			began := time.Now()
			if _, err := l.Reconcile(t.Context(), request(shop)); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took > reportLimit/2 {
				t.Errorf("the pass took %s", took)
			}
			if calm, _ := l.hurries.watch(t.Context(), shop); calm.Err() != nil {
				t.Error("the next pass hurries too")
			}
		})
	}
}

// breaks is an observer that sees no connection break which breaks meanwhile.
type breaks struct {
	Observer
	meanwhile func()
}

func (b breaks) Observe(ctx context.Context, key types.NamespacedName) (observe.Observation, error) {
	seen, err := b.Observer.Observe(ctx, key)
	b.meanwhile()
	return seen, err
}

func TestASilentServerShortensTheReport(t *testing.T) {
	pass := waiting()
	if got := patience(pass); got != reportLimit {
		t.Errorf("nobody silent: %s", got)
	}
	pass.Facts.Nodes.Silent = []string{"a"}
	if got := patience(pass); got != urgentReportLimit {
		t.Errorf("one silent: %s", got)
	}
}

func TestALostRaceIsNoFailure(t *testing.T) {
	kube, written := kubernetes(t, valkeyCluster("shop", "cache", "small"))
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "valkeyclusters"}, "cache", errors.New("moved"))
	l, said := loop(kube, &deed{err: conflict})
	got, err := l.Reconcile(t.Context(), request(shop))
	if err != nil || got.RequeueAfter != atOnce || len(written.writes) > 0 || len(said) > 0 {
		t.Errorf("error %v, again after %s, writes %v, %d Events", err, got.RequeueAfter, written.writes, len(said))
	}
}

func TestAClusterThatIsGoneIsForgotten(t *testing.T) {
	cluster := valkeyCluster("shop", "cache", "small")
	kube, _ := kubernetes(t, cluster)
	l, _ := loop(kube, &deed{})
	if _, err := l.Reconcile(t.Context(), request(shop)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]types.NamespacedName{shop}, l.references.clusters(small)); diff != "" {
		t.Error(diff)
	}
	if err := kube.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	got, err := l.Reconcile(t.Context(), request(shop))
	if err != nil || got.RequeueAfter != 0 {
		t.Errorf("error %v, again after %s", err, got.RequeueAfter)
	}
	if left := l.references.clusters(small); len(left) > 0 {
		t.Errorf("an edit still wakes %v", left)
	}
}
