package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

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
	return s.cutOff(key, func(ctx context.Context, cut bool, ip string) error {
		change := map[bool]string{true: "replace", false: "del"}[cut]
		return ip4(ctx, "route", change, "blackhole", ip+"/32")
	})
}

// blindOperator cuts the operator's process, and nobody else on this machine, off from every Pod of the cluster, those
// still to come included.
func (s *scenario) blindOperator(ts *testscript.TestScript, args []string) error {
	if len(args) != 1 || s.sight != nil {
		return errors.New("operator: blind CLUSTER, then sighted")
	}
	if os.Geteuid() != 0 {
		return errors.New("operator blind: the operator has a user of its own only where the tests run as root")
	}
	s.disturbed = time.Now()
	user := fmt.Sprintf("%d-%d", operatorUID, operatorUID)
	mend, err := s.cutOff(s.key(args[0]), func(ctx context.Context, cut bool, ip string) error {
		change := map[bool]string{true: "add", false: "del"}[cut]
		return ip4(ctx, "rule", change, "to", ip+"/32", "uidrange", user, "blackhole")
	})
	if err != nil {
		return err
	}
	s.sight = sync.OnceFunc(mend)
	ts.Defer(s.sight)
	return nil
}

// sightOperator undoes blindOperator.
func (s *scenario) sightOperator() error {
	if s.sight == nil {
		return errors.New("operator: sighted, after blind")
	}
	s.disturbed = time.Now()
	s.sight()
	s.sight = nil
	return nil
}

// cutOff cuts the cluster's Pods off in some way, those still to come included, until mend is called.
func (s *suite) cutOff(key client.ObjectKey, change func(ctx context.Context, cut bool, ip string) error) (mend func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	events, err := s.kube.Watch(ctx, &corev1.PodList{}, client.InNamespace(key.Namespace),
		client.MatchingLabels{"app.kubernetes.io/instance": key.Name})
	if err != nil {
		cancel()
		return nil, err
	}
	var cutting sync.WaitGroup
	cut := map[string]bool{}
	changed := func(ctx context.Context, how bool, ip string) {
		if err := change(ctx, how, ip); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	cutting.Go(func() {
		for event := range events.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if !ok || pod.Status.PodIP == "" || cut[pod.Status.PodIP] {
				continue
			}
			cut[pod.Status.PodIP] = true
			changed(ctx, true, pod.Status.PodIP)
		}
	})
	return func() {
		events.Stop()
		cutting.Wait()
		cancel()
		for ip := range cut {
			changed(context.Background(), false, ip)
		}
	}, nil
}

// ip4 runs ip of iproute2.
func ip4(ctx context.Context, args ...string) error {
	_, err := command(ctx, "/", "ip", args...)
	return err
}
