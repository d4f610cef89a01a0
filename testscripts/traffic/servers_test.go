package traffic_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"valkey.gomomento.com/operator/operator/valkey/valkeytest"
	"valkey.gomomento.com/operator/testscripts/traffic"
)

// patience bounds the reading back.
const patience = 30 * time.Second

// newCluster is three primaries, then the replica of each, in this order.
func newCluster(t *testing.T) []*valkeytest.Node { return valkeytest.FormCluster(t, "9.1", 3, 1) }

func access(nodes []*valkeytest.Node) traffic.Access {
	a := traffic.Access{Username: "_momento_operator", Password: valkeytest.Password}
	for _, n := range nodes {
		a.Seeds = append(a.Seeds, n.Address())
	}
	return a
}

func start(t *testing.T, nodes []*valkeytest.Node) *traffic.Run {
	t.Helper()
	run, err := traffic.Start(t.Context(), traffic.Options{Access: access(nodes)})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func stop(t *testing.T, run *traffic.Run) traffic.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	report, err := run.Stop(ctx)
	t.Log("\n" + report.String())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// more waits for so many more acknowledged writes.
func more(t *testing.T, run *traffic.Run, writes int64) {
	t.Helper()
	want := run.Acks() + writes
	valkeytest.Eventually(t, "go on", func() error {
		if run.Acks() < want {
			return fmt.Errorf("%d writes acknowledged, want %d", run.Acks(), want)
		}
		return nil
	})
}
