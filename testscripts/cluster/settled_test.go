package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/topology"
)

// quiet is for how long a cluster must have nothing to do before it counts as settled. The kubelet tells of a container
// that ended a second later, and until then the operator may have nothing to do about it.
const quiet = 2 * time.Second

// cmdSettled waits until there is nothing left to do.
func cmdSettled(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	if len(args) != 2 {
		ts.Fatalf("settled: DURATION CLUSTER")
	}
	since, err := s.waitSettled(context.Background(), limit(ts, args[0]), s.key(args[1]))
	if err != nil {
		s.explain(ts, args[1])
	}
	ts.Check(err)
	if s.disturbed.IsZero() {
		ts.Logf("%s is settled", args[1])
		return
	}
	took := max(0, since.Sub(s.disturbed))
	s.found.healed = max(s.found.healed, took)
	ts.Logf("%s had settled %.1fs after it was last touched", args[1], took.Seconds())
}

// waitSettled waits until the cluster has had nothing to do for a quiet while, and returns since when.
func (s *suite) waitSettled(ctx context.Context, limit time.Duration, key client.ObjectKey) (since time.Time, err error) {
	err = within(ctx, limit, func() error {
		if err := s.settled(ctx, key); err != nil {
			since = time.Time{}
			return err
		}
		if since.IsZero() {
			since = time.Now()
		}
		if rest := quiet - time.Since(since); rest > 0 {
			return fmt.Errorf("%s has been quiet for less than %s", key, quiet)
		}
		return nil
	})
	return since, err
}

func (s *suite) settled(ctx context.Context, key client.ObjectKey) error {
	var c v1alpha1.ValkeyCluster
	if err := s.kube.Get(ctx, key, &c); err != nil {
		return err
	}
	progress := meta.FindStatusCondition(c.Status.Conditions, "Progressing")
	switch {
	case c.Status.State != "Active", c.Status.ObservedGeneration != c.Generation, progress == nil:
		return fmt.Errorf("%s is %s: %s", key, c.Status.State, c.Status.Message)
	case !meta.IsStatusConditionTrue(c.Status.Conditions, "Available"):
		return fmt.Errorf("%s is not Available", key)
	case progress.Status != "False":
		return fmt.Errorf("%s is progressing: %s", key, progress.Message)
	}
	return s.complete(ctx, &c)
}

// complete returns nil when the cluster has as many running Pods as it asks for and none that is on its way out: such a
// one serves for seconds, during which there may be nothing to do about it.
func (s *suite) complete(ctx context.Context, c *v1alpha1.ValkeyCluster) error {
	pods, err := s.pods(ctx, client.ObjectKeyFromObject(c))
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil {
			return fmt.Errorf("%s is being deleted", pod.Name)
		}
	}
	if want := int(c.Spec.Shards * (1 + c.Spec.ReplicasPerShard)); len(pods) != want {
		return fmt.Errorf("%d Pods run, want %d", len(pods), want)
	}
	return nil
}

// cmdEvenly checks how the slots are spread.
func cmdEvenly(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	if len(args) != 2 {
		ts.Fatalf("evenly: CLUSTER SHARDS")
	}
	members, err := s.members(context.Background(), s.key(args[0]))
	ts.Check(err)
	ts.Check(evenly(members, count(ts, args[1])))
}

// evenly returns nil when every member says that so many primaries share all slots, in sizes that differ by at most
// one, and that no slot is on the move.
func evenly(members []member, shards int) error {
	var faults []error
	views := map[string]bool{}
	for _, m := range members {
		sizes, view := shares(m.peers)
		if err := even(sizes, shards); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", m.pod, err))
		}
		if len(m.marks) > 0 {
			faults = append(faults, fmt.Errorf("%s has slots on the move: %v", m.pod, m.marks))
		}
		views[view] = true
	}
	if len(views) > 1 {
		faults = append(faults, fmt.Errorf("%d different views:\n%s", len(views), strings.Join(slices.Collect(maps.Keys(views)), "\n--\n")))
	}
	return errors.Join(faults...)
}

// shares are how many slots each primary has, those without any included, and the view of who has which.
func shares(peers []engine.Peer) (sizes []int, view string) {
	var said []string
	for _, p := range peers {
		if p.Role == engine.Primary {
			sizes = append(sizes, topology.Count(p.Slots))
			said = append(said, fmt.Sprintf("%s %v", p.ID, p.Slots))
		}
	}
	return sizes, strings.Join(said, "\n")
}

func even(sizes []int, shards int) error {
	sum := 0
	for _, n := range sizes {
		sum += n
	}
	if len(sizes) != shards || sum != topology.SlotCount || slices.Max(sizes)-slices.Min(sizes) > 1 {
		return fmt.Errorf("%d primaries have %v slots, want %d with all of them, evenly", len(sizes), sizes, shards)
	}
	return nil
}
