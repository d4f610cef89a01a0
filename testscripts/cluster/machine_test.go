package cluster

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// bootLimit is how long a machine may take to be ready after its power or its network is back.
const bootLimit = 2 * time.Minute

// remedies are what takes a machine's trouble back, both in localkube's words.
var remedies = map[string]string{"crash": "boot", "partition": "heal"}

// cmdMachine cuts the power or the network of a Kubernetes node that one primary runs on, and gives it back: at the end of
// the scenario at the latest. Only localkube can do that.
func cmdMachine(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	switch {
	case len(args) == 2 && remedies[args[0]] != "" && s.troubled == "":
		primary, err := s.lonePrimary(context.Background(), s.key(args[1]))
		ts.Check(err)
		s.disturbed, s.troubled, s.remedy = time.Now(), primary.Spec.NodeName, remedies[args[0]]
		s.parted = s.disturbed
		ts.Check(s.localkube(args[0], s.troubled))
		ts.Defer(func() { ts.Check(s.mendMachine()) })
		ts.Logf("%s: %s", args[0], s.troubled)
	case len(args) == 1 && args[0] == s.remedy:
		s.disturbed = time.Now()
		ts.Check(s.mendMachine())
	default:
		ts.Fatalf("machine: crash|partition CLUSTER, then boot|heal")
	}
}

// lonePrimary is a primary that runs on a machine without another: the scheduler may have left no choice but to have two on
// one machine, and without those there is no quorum.
func (s *suite) lonePrimary(ctx context.Context, key client.ObjectKey) (*corev1.Pod, error) {
	var cluster v1alpha1.ValkeyCluster
	if err := s.kube.Get(ctx, key, &cluster); err != nil {
		return nil, err
	}
	leads := map[string][]*corev1.Pod{}
	for shard := range cluster.Spec.Shards {
		pod, err := s.find(ctx, key, "primary", fmt.Sprint(shard))
		if err != nil {
			return nil, err
		}
		leads[pod.Spec.NodeName] = append(leads[pod.Spec.NodeName], pod)
	}
	for _, machine := range slices.Sorted(maps.Keys(leads)) {
		if len(leads[machine]) == 1 {
			return leads[machine][0], nil
		}
	}
	return nil, fmt.Errorf("every machine of %v has two primaries or more", slices.Sorted(maps.Keys(leads)))
}

// mendMachine does nothing when no machine is in trouble.
func (s *scenario) mendMachine() error {
	if s.troubled == "" {
		return nil
	}
	if err := s.localkube(s.remedy, s.troubled); err != nil {
		return err
	}
	name := s.troubled
	s.troubled = ""
	return within(context.Background(), bootLimit, func() error {
		var host corev1.Node
		if err := s.kube.Get(context.Background(), client.ObjectKey{Name: name}, &host); err != nil {
			return err
		}
		if objects.HostLost(&host) {
			return fmt.Errorf("%s is not ready", name)
		}
		return nil
	})
}

func (s *suite) localkube(args ...string) error {
	_, err := command(context.Background(), s.root, filepath.Join(s.root, "bin", "localkube"), args...)
	return err
}
