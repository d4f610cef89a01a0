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
	"github.com/valkey-io/valkey-go"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/engine"
)

func cmdFormed(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	words, bars := options(ts, args, "within")
	if len(words) != 2 {
		ts.Fatalf("formed: CLUSTER SHARDSxREPLICAS [within=DURATION]")
	}
	var shards, replicas int
	_, err := fmt.Sscanf(words[1], "%dx%d", &shards, &replicas)
	ts.Check(err)
	formed := func() error { return s.formed(context.Background(), s.key(words[0]), shards, replicas) }
	if bars["within"] == "" {
		ts.Check(formed())
		return
	}
	if err := within(context.Background(), limit(ts, bars["within"]), formed); err != nil {
		s.explain(ts, words[0])
		ts.Check(err)
	}
	ts.Logf("%s was formed %.1fs after it was last touched", words[0], time.Since(s.disturbed).Seconds())
}

// handshakeLimit is longer than a server keeps a handshake that comes to nothing: the node timeout, 5 s.
const handshakeLimit = 7 * time.Second

// formed checks on the servers themselves that the cluster is whole: as many
// members as there should be and no other id anywhere, one view of who is who,
// every slot served, no config epoch twice. A server that somebody has just met,
// such as one back from a machine that was away, gets the time to find out whom.
func (s *suite) formed(ctx context.Context, key client.ObjectKey, shards, replicas int) error {
	var members []member
	var err error
	strangers := within(ctx, handshakeLimit, func() error {
		if members, err = s.members(ctx, key); err != nil || !slices.ContainsFunc(members, member.shakesHands) {
			return nil
		}
		return fmt.Errorf("%s has a server that does not know whom it has met", key)
	})
	if err := errors.Join(err, strangers); err != nil {
		return err
	}
	want := shards * (1 + replicas)
	if len(members) != want {
		return fmt.Errorf("%d pods, want %d", len(members), want)
	}
	var faults []error
	views := map[string]bool{}
	for _, m := range members {
		if len(m.peers) != want {
			faults = append(faults, fmt.Errorf("%s knows %d members, want %d:\n%s", m.pod, len(m.peers), want, m.nodes))
		}
		if len(m.marks) > 0 {
			faults = append(faults, fmt.Errorf("%s has slots on the move: %v", m.pod, m.marks))
		}
		for _, line := range []string{"cluster_state:ok", "cluster_slots_assigned:16384", fmt.Sprintf("cluster_size:%d", shards)} {
			if !strings.Contains(m.info, line) {
				faults = append(faults, fmt.Errorf("%s does not say %s", m.pod, line))
			}
		}
		view, err := rolesAndSlots(m.peers, shards, replicas)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", m.pod, err))
		}
		views[view] = true
	}
	if len(views) > 1 {
		faults = append(faults, fmt.Errorf("%d different views:\n%s", len(views), strings.Join(slices.Collect(maps.Keys(views)), "\n--\n")))
	}
	return errors.Join(faults...)
}

// rolesAndSlots reduces a CLUSTER NODES to what all members must agree on, and
// checks the number of primaries, of replicas each, and that no primary's config epoch is another's.
func rolesAndSlots(peers []engine.Peer, shards, replicas int) (string, error) {
	var view []string
	epochs, followers, primaries := map[int64]int{}, map[string]int{}, 0
	for _, p := range peers {
		view = append(view, fmt.Sprintf("%s %s %s %v", p.ID, p.Role, p.PrimaryID, p.Slots))
		if !p.Reachable() {
			return "", fmt.Errorf("no link to %s that nobody doubts", p.ID)
		}
		if p.Role == engine.Primary {
			primaries++
			epochs[p.Epoch]++
		} else {
			followers[p.PrimaryID]++
		}
	}
	if primaries != shards || len(epochs) != shards {
		return "", fmt.Errorf("%d primaries with %d epochs, want %d", primaries, len(epochs), shards)
	}
	for id, n := range followers {
		if n != replicas {
			return "", fmt.Errorf("%s has %d replicas, want %d", id, n, replicas)
		}
	}
	return strings.Join(view, "\n"), nil
}

func cmdLogin(ts *testscript.TestScript, neg bool, args []string) {
	s := in(ts)
	start := time.Now()
	ts.Check(within(context.Background(), limit(ts, args[0]), func() error {
		var pods corev1.PodList
		if err := s.kube.List(context.Background(), &pods, of(s.key(args[1]))...); err != nil {
			return err
		}
		if len(pods.Items) == 0 {
			return fmt.Errorf("%s has no pods", args[1])
		}
		for _, pod := range pods.Items {
			if err := login(context.Background(), pod.Status.PodIP+":6379", args[2], args[3]); (err != nil) != neg {
				return fmt.Errorf("user %s at %s: accepted is %t", args[2], pod.Name, err == nil)
			}
		}
		return nil
	}))
	ts.Logf("every server answered so after %.1fs", time.Since(start).Seconds())
}

// login returns nil when the server accepts the user with the password.
func login(ctx context.Context, address, user, password string) error {
	c, err := valkey.NewClient(valkey.ClientOption{
		InitAddress: []string{address}, Username: user, Password: password, ForceSingleClient: true, DisableCache: true,
	})
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Do(ctx, c.B().Ping().Build()).Error()
}

func cmdWrites(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	var count int
	_, err := fmt.Sscanf(args[1], "%d", &count)
	ts.Check(err)
	ts.Check(s.writes(context.Background(), s.key(args[0]), count))
}

// writes sets keys through a cluster client and reads each back by value.
func (s *suite) writes(ctx context.Context, key client.ObjectKey, count int) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var pods corev1.PodList
	if err := s.kube.List(ctx, &pods, of(key)...); err != nil {
		return err
	}
	var seeds []string
	for _, pod := range pods.Items {
		seeds = append(seeds, pod.Status.PodIP+":6379")
	}
	c, err := valkey.NewClient(valkey.ClientOption{InitAddress: seeds, DisableCache: true})
	if err != nil {
		return err
	}
	defer c.Close()
	for i := range count {
		k, v := fmt.Sprintf("key-%d", i), fmt.Sprintf("value-%d", i)
		if err := c.Do(ctx, c.B().Set().Key(k).Value(v).Build()).Error(); err != nil {
			return fmt.Errorf("set %s: %w", k, err)
		}
		got, err := c.Do(ctx, c.B().Get().Key(k).Build()).ToString()
		if err != nil || got != v {
			return fmt.Errorf("get %s: %q, %w", k, got, err)
		}
	}
	return nil
}
