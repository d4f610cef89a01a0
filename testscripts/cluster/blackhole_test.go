package cluster

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// cmdBlackhole cuts this machine, and with it the operator, off from every Pod
// of the cluster, those still to come included, until the scenario ends. The
// Pods go on reaching each other.
func cmdBlackhole(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	mend, err := s.blackhole(client.ObjectKey{Namespace: s.ns, Name: args[0]})
	ts.Check(err)
	ts.Defer(mend)
}

func (s *suite) blackhole(key client.ObjectKey) (mend func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	events, err := s.kube.Watch(ctx, &corev1.PodList{}, client.InNamespace(key.Namespace),
		client.MatchingLabels{"app.kubernetes.io/instance": key.Name})
	if err != nil {
		cancel()
		return nil, err
	}
	var cutting sync.WaitGroup
	cut := map[string]bool{}
	cutting.Go(func() {
		for event := range events.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if !ok || pod.Status.PodIP == "" || cut[pod.Status.PodIP] {
				continue
			}
			cut[pod.Status.PodIP] = true
			route(ctx, "replace", pod.Status.PodIP)
		}
	})
	return func() {
		events.Stop()
		cutting.Wait()
		cancel()
		for ip := range cut {
			route(context.Background(), "del", ip)
		}
	}, nil
}

func route(ctx context.Context, change, ip string) {
	if _, err := command(ctx, "/", "ip", "route", change, "blackhole", ip+"/32"); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
