package copies_test

import (
	"context"
	"testing"
	"time"

	"valkey.gomomento.com/operator/operator/valkey/valkeytest"
	"valkey.gomomento.com/operator/testscripts/copies"
)

// aMoment is several rounds.
const aMoment = 5 * copies.Every

func watch(nodes []*valkeytest.Node) *copies.Watch {
	return copies.Start(copies.Options{
		Password: valkeytest.Password, Target: 2,
		Servers: func(context.Context) ([]copies.Server, error) {
			var all []copies.Server
			for _, n := range nodes {
				all = append(all, copies.Server{Name: n.ID, Address: n.Address()})
			}
			return all, nil
		},
	})
}

func stop(t *testing.T, w *copies.Watch) copies.Report {
	t.Helper()
	report := w.Stop()
	t.Log("\n" + report.String())
	if report.Err != nil || report.Rounds < 3 {
		t.Errorf("%d rounds, %v", report.Rounds, report.Err)
	}
	return report
}

func TestRealServersAreWatched(t *testing.T) {
	nodes := valkeytest.FormCluster(t, "9.1", 3, 1)
	t.Run("nothing happens", func(t *testing.T) {
		w := watch(nodes)
		time.Sleep(aMoment)
		if got := stop(t, w); len(got.Groups) != 1 || got.Worst.Least != 2 || got.Worst.Failovers != 0 {
			t.Error("something was seen")
		}
	})
	t.Run("a hand-over", func(t *testing.T) {
		w := watch(nodes)
		time.Sleep(aMoment)
		nodes[3].Do(t, "CLUSTER FAILOVER")
		nodes[3].AwaitPrimary(t)
		time.Sleep(2 * aMoment)
		got := stop(t, w)
		if got.Worst.Failovers != 1 || got.Worst.Moves != 0 || len(got.Groups) != 2 || got.Worst.Least == 0 {
			t.Error("one failover of one shard is to be seen")
		}
	})
	t.Run("a replica dies", func(t *testing.T) {
		w := watch(nodes)
		time.Sleep(aMoment)
		nodes[4].Kill()
		time.Sleep(aMoment)
		got := stop(t, w)
		if got.Worst.Least != 1 || got.Worst.Below.Rounds < 3 || got.Worst.Headless.Rounds != 0 {
			t.Error("a copy is missing for half a second")
		}
	})
	t.Run("a primary without a replica dies", func(t *testing.T) {
		w := watch(nodes)
		time.Sleep(aMoment)
		nodes[1].Kill()
		time.Sleep(aMoment)
		if got := stop(t, w); got.Worst.Headless.Rounds < 3 {
			t.Error("a shard has no primary for half a second")
		}
	})
}
