package cluster

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
)

// controlPlane is the label of Kubernetes nodes that run no Pods of ours.
const controlPlane = "node-role.kubernetes.io/control-plane"

// cmdDrain empties Kubernetes nodes as an administrator does, and fails when one is not empty within the time. They take
// Pods again at the end of the scenario at the latest.
func cmdDrain(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	if len(args) < 2 {
		ts.Fatalf("drain: DURATION PLACE...")
	}
	hosts := s.hosts(ts, args[1:])
	s.disturbed = time.Now()
	ts.Defer(func() {
		if _, err := command(context.Background(), s.root, s.kubectl(), append([]string{"uncordon"}, hosts...)...); err != nil {
			ts.Logf("%v", err)
		}
	})
	err := ts.Exec(s.kubectl(), append([]string{
		"drain", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=" + args[0],
	}, hosts...)...)
	if err != nil {
		out, explainErr := command(context.Background(), s.root, s.kubectl(), "-n", s.ns, "get", "pods,valkeynodes,pdb,events", "-o", "wide")
		ts.Logf("%s%v", out, explainErr)
	}
	ts.Check(err)
	ts.Logf("%v were empty after %.1fs", hosts, time.Since(s.disturbed).Seconds())
}

// cmdUncordon lets Kubernetes nodes take Pods again.
func cmdUncordon(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	s.disturbed = time.Now()
	ts.Check(ts.Exec(s.kubectl(), append([]string{"uncordon"}, s.hosts(ts, args)...)...))
}

// hosts are the Kubernetes nodes at these places among all that are there for Pods, sorted by name.
func (s *scenario) hosts(ts *testscript.TestScript, places []string) []string {
	all, err := s.workers(context.Background())
	ts.Check(err)
	var chosen []string
	for _, text := range places {
		place, err := strconv.Atoi(text)
		ts.Check(err)
		if place < 0 || place >= len(all) {
			ts.Fatalf("no Kubernetes node at place %d of %d", place, len(all))
		}
		chosen = append(chosen, all[place])
	}
	return chosen
}

// workers are the names of the Kubernetes nodes that are there for Pods, sorted.
func (s *suite) workers(ctx context.Context) ([]string, error) {
	var nodes corev1.NodeList
	if err := s.kube.List(ctx, &nodes); err != nil {
		return nil, fmt.Errorf("list Kubernetes nodes: %w", err)
	}
	var names []string
	for i := range nodes.Items {
		if _, control := nodes.Items[i].Labels[controlPlane]; !control {
			names = append(names, nodes.Items[i].Name)
		}
	}
	slices.Sort(names)
	return names, nil
}
