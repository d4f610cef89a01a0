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
	mend, err := s.blackhole(s.key(args[0]))
	ts.Check(err)
	ts.Defer(func() { ts.Check(mend()) })
}

func (s *suite) blackhole(key client.ObjectKey) (mend func() error, err error) {
	return s.cutOff(key, func(cut bool, ip string) []string {
		change := "del"
		if cut {
			change = "replace" // a run that was killed may have left one
		}
		return []string{"route", change, "blackhole", ip + "/32"}
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
	mend, err := s.cutOff(s.key(args[0]), func(cut bool, ip string) []string {
		change := "del"
		if cut {
			change = "add"
		}
		return []string{"rule", change, "to", ip + "/32", "uidrange", user, "blackhole"}
	})
	if err != nil {
		return err
	}
	s.sight = sync.OnceValue(mend)
	sight := s.sight
	ts.Defer(func() { ts.Check(sight()) })
	return nil
}

// sightOperator undoes blindOperator.
func (s *scenario) sightOperator() error {
	if s.sight == nil {
		return errors.New("operator: sighted, after blind")
	}
	s.disturbed = time.Now()
	sight := s.sight
	s.sight = nil
	return sight()
}

// cutOff cuts the cluster's Pods off, those still to come included, until mend is called, which says what of it went
// wrong. The words are what iproute2 is told of one address.
func (s *suite) cutOff(key client.ObjectKey, words func(cut bool, ip string) []string) (mend func() error, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	events, err := s.kube.Watch(ctx, &corev1.PodList{}, of(key)...)
	if err != nil {
		cancel()
		return nil, err
	}
	var faults []error
	change := func(cut bool, ip string) {
		if _, err := command(ctx, "/", "ip", words(cut, ip)...); err != nil {
			faults = append(faults, err)
		}
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
			change(true, pod.Status.PodIP)
		}
	})
	return func() error {
		defer cancel()
		events.Stop()
		cutting.Wait()
		for ip := range cut {
			change(false, ip)
		}
		return errors.Join(faults...)
	}, nil
}
