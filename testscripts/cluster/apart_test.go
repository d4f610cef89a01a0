package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions/objects"
)

// cmdApart checks that a zone may be lost without a shard losing more than one of its copies.
func cmdApart(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	if len(args) != 1 {
		ts.Fatalf("apart: CLUSTER")
	}
	ts.Check(s.apart(context.Background(), s.key(args[0])))
}

func (s *suite) apart(ctx context.Context, key client.ObjectKey) error {
	var machines corev1.NodeList
	if err := s.kube.List(ctx, &machines); err != nil {
		return err
	}
	zones := map[string]string{}
	for _, m := range machines.Items {
		zones[m.Name] = m.Labels[corev1.LabelTopologyZone]
	}
	pods, err := s.pods(ctx, key)
	if err != nil {
		return err
	}
	if len(pods) == 0 {
		return fmt.Errorf("%s has no running Pods", key)
	}
	var faults []error
	taken := map[[2]string]string{}
	for _, p := range pods {
		place := [2]string{p.Labels[objects.LabelShard], zones[p.Spec.NodeName]}
		if other := taken[place]; other != "" {
			faults = append(faults, fmt.Errorf("%s and %s of shard %s are both in zone %q", other, p.Name, place[0], place[1]))
		}
		taken[place] = p.Name
	}
	return errors.Join(faults...)
}
