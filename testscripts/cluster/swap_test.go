package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// swapRounds is a variable with another number of rounds than the scenario's.
	swapRounds = "SWAP_ROUNDS"
	// swapAddresses is how many addresses each machine has for Pods meanwhile: hardly more than are in use.
	swapAddresses = "7"
	// swapLimit is how long the clusters of a round may take until they have nothing left to do.
	swapLimit = 90 * time.Second
)

// cmdSwap deletes a random Pod of each of two clusters by force, together and in rounds, with so few addresses that one
// cluster soon gets those of the other. After each round no server of one may know any of the other. Only localkube can do that.
func cmdSwap(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	if len(args) != 3 {
		ts.Fatalf("swap: A B ROUNDS")
	}
	rounds := count(ts, args[2])
	if text := os.Getenv(swapRounds); text != "" {
		rounds = count(ts, text)
	}
	ts.Check(s.localkube("addresses", swapAddresses))
	ts.Defer(func() { ts.Check(s.localkube("addresses", "0")) })
	seed := uint64(time.Now().UnixNano())
	ts.Logf("seed %d", seed)
	w := swap{suite: s.suite, random: rand.New(rand.NewPCG(seed, 0)), clusters: []client.ObjectKey{s.key(args[0]), s.key(args[1])},
		had: map[string]client.ObjectKey{}}
	for i := range rounds {
		s.disturbed = time.Now()
		if err := w.round(context.Background()); err != nil {
			s.explain(ts, args[0])
			s.explain(ts, args[1])
			ts.Fatalf("round %d of %d: %v", i+1, rounds, err)
		}
	}
	ts.Logf("%d rounds: %d times a cluster got an address that the other had had", rounds, w.reused)
	if w.reused == 0 {
		ts.Fatalf("no address went from one cluster to the other: nothing is shown")
	}
}

// A swap is what is remembered from round to round.
type swap struct {
	*suite
	random   *rand.Rand
	clusters []client.ObjectKey
	// had is the cluster that an address belonged to last.
	had    map[string]client.ObjectKey
	reused int
}

func (w *swap) round(ctx context.Context) error {
	if err := w.noteAddresses(ctx); err != nil {
		return err
	}
	for _, key := range w.clusters {
		pods, err := w.pods(ctx, key)
		if err != nil {
			return err
		}
		pod := &pods[w.random.IntN(len(pods))]
		if err := w.kube.Delete(ctx, pod, client.GracePeriodSeconds(0)); err != nil {
			return fmt.Errorf("delete %s: %w", pod.Name, err)
		}
	}
	for _, key := range w.clusters {
		if _, err := w.waitSettled(ctx, swapLimit, key); err != nil {
			return err
		}
	}
	return errors.Join(w.noteAddresses(ctx), w.unmixed(ctx))
}

// noteAddresses counts the addresses that have changed hands.
func (w *swap) noteAddresses(ctx context.Context) error {
	for _, key := range w.clusters {
		pods, err := w.pods(ctx, key)
		if err != nil {
			return err
		}
		for _, p := range pods {
			if before, known := w.had[p.Status.PodIP]; known && before != key {
				w.reused++
			}
			w.had[p.Status.PodIP] = key
		}
	}
	return nil
}

// unmixed returns nil when no server knows a server of the other cluster.
func (w *swap) unmixed(ctx context.Context) error {
	belongs := map[string]client.ObjectKey{}
	known := map[client.ObjectKey][]member{}
	for _, key := range w.clusters {
		members, err := w.members(ctx, key)
		if err != nil {
			return err
		}
		known[key] = members
		for _, m := range members {
			belongs[m.self().ID] = key
		}
	}
	var faults []error
	for _, key := range w.clusters {
		for _, m := range known[key] {
			for _, p := range m.peers {
				if belongs[p.ID] != key {
					faults = append(faults, fmt.Errorf("%s of %s knows %s at %s:\n%s", m.pod, key.Name, p.ID, p.IP, m.nodes))
				}
			}
		}
	}
	return errors.Join(faults...)
}
