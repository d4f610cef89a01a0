package cluster

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// cmdSever cuts servers off: they reach each other and the machines they run on, as a kubelet's probes do, and nobody
// else reaches them. It ends with mend, at the end of the scenario at the latest. Only localkube can do that.
func cmdSever(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	if len(args) < 3 || len(args)%2 == 0 || len(s.severed) > 0 {
		ts.Fatalf("sever: CLUSTER [primary|replica SHARD]..., once at a time")
	}
	for i := 1; i < len(args); i += 2 {
		pod, err := s.find(context.Background(), s.key(args[0]), args[i], args[i+1])
		ts.Check(err)
		s.severed = append(s.severed, *pod)
	}
	ts.Defer(func() { ts.Check(s.mendSevered()) })
	s.disturbed = time.Now()
	s.parted = s.disturbed
	for _, pod := range s.severed {
		friends, err := addressesBeside(s.severed, pod)
		ts.Check(err)
		ts.Check(s.localkube("exec-pod", pod.Namespace+"/"+pod.Name, "--", "nft", isolation(friends)))
		ts.Logf("severed: %s on %s", pod.Name, pod.Spec.NodeName)
	}
}

// cmdMend undoes sever.
func cmdMend(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	if len(args) > 0 || len(s.severed) == 0 {
		ts.Fatalf("mend: after sever")
	}
	s.disturbed = time.Now()
	ts.Check(s.mendSevered())
}

// mendSevered leaves Pods alone that are gone.
func (s *scenario) mendSevered() error {
	severed := s.severed
	s.severed = nil
	for _, pod := range severed {
		var now corev1.Pod
		err := s.kube.Get(context.Background(), client.ObjectKeyFromObject(&pod), &now)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if err != nil || now.UID != pod.UID || now.Status.Phase != corev1.PodRunning {
			continue
		}
		if err := s.localkube("exec-pod", pod.Namespace+"/"+pod.Name, "--", "nft", "delete table inet severed"); err != nil {
			return err
		}
	}
	return nil
}

// addressesBeside are the addresses that a severed Pod still reaches: itself, the others, and its machine's on the Pods'
// bridge, which is the first of the Pod's network.
func addressesBeside(severed []corev1.Pod, pod corev1.Pod) ([]string, error) {
	own, err := netip.ParseAddr(pod.Status.PodIP)
	if err != nil {
		return nil, fmt.Errorf("read the address of %s: %w", pod.Name, err)
	}
	bytes := own.As4()
	bytes[3] = 1
	friends := []string{netip.AddrFrom4(bytes).String()}
	for _, p := range severed {
		friends = append(friends, p.Status.PodIP)
	}
	return friends, nil
}

// isolation is what nft makes of a Pod's network: packets of these addresses pass, those of open connections to others are
// dropped too.
func isolation(friends []string) string {
	set := "{ " + strings.Join(append(friends, "127.0.0.1"), ", ") + " }"
	return strings.Join([]string{
		"add table inet severed",
		"add chain inet severed in { type filter hook input priority 0 ; policy drop ; }",
		"add chain inet severed out { type filter hook output priority 0 ; policy drop ; }",
		"add rule inet severed in ip saddr " + set + " accept",
		"add rule inet severed out ip daddr " + set + " accept",
	}, "; ")
}
