package valkey_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/operator/valkey"
	"valkey.gomomento.com/operator/operator/valkey/valkeytest"
)

// acquaint makes two servers know each other, the first with all slots; it returns their ids.
func acquaint(t *testing.T, pool *valkey.Pool, to map[string]valkey.Target, secondIP string) (first, second string) {
	t.Helper()
	eventually(t, pool, to["first"], access, "")
	eventually(t, pool, to["second"], access, "")
	servers := pool.Servers(to, access)
	first = do(t, servers, "first", words("CLUSTER SET-CONFIG-EPOCH 1"), words("CLUSTER ADDSLOTSRANGE 0 16383"),
		words("CLUSTER MEET %s 6379", secondIP), words("CLUSTER MYID"))[3].Text
	second = do(t, servers, "second", words("CLUSTER MYID"))[0].Text
	for _, node := range []string{"first", "second"} {
		until(t, node+" knows the other", func() bool {
			s, err := pool.Ask(context.Background(), to[node], access, nil)
			return err == nil && len(s.Peers) == 2 && s.ClusterOK && s.Peers[0].Linked && s.Peers[1].Linked &&
				!s.Peers[0].Handshake && !s.Peers[1].Handshake
		})
	}
	return first, second
}

func TestMarksOfSlotsOnTheMoveAreSeen(t *testing.T) {
	for _, version := range valkeytest.Versions {
		t.Run(version, func(t *testing.T) {
			from := valkeytest.Start(t, version, "--cluster-node-timeout", "500")
			onto := valkeytest.Start(t, version, "--cluster-node-timeout", "500")
			pool, _, _ := newPool(t)
			to := map[string]valkey.Target{"first": target(from.Address()), "second": target(onto.Address())}
			first, second := acquaint(t, pool, to, onto.IP)
			servers := pool.Servers(to, access)
			do(t, servers, "first", words("CLUSTER SETSLOT 93 MIGRATING %s", second), words("CLUSTER SETSLOT 7 MIGRATING %s", second))
			do(t, servers, "second", words("CLUSTER SETSLOT 93 IMPORTING %s", first))
			want := map[string][]engine.SlotMark{
				"first":  {{Slot: 7, PeerID: second}, {Slot: 93, PeerID: second}},
				"second": {{Slot: 93, Importing: true, PeerID: first}},
			}
			for node, marks := range want {
				got, err := pool.Ask(context.Background(), to[node], access, nil)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(marks, got.Marks); diff != "" {
					t.Errorf("%s (-want +got):\n%s", node, diff)
				}
				if got.Migrations != nil {
					t.Errorf("%s has jobs: %+v", node, got.Migrations)
				}
			}
		})
	}
}

func TestJobsThatMoveSlotsAreSeenAtBothEnds(t *testing.T) {
	// The snapshot of a slot of two thousand keys takes twenty seconds.
	from := valkeytest.Start(t, "9.1", "--cluster-node-timeout", "500", "--rdb-key-save-delay", "10000", "--save", "")
	onto := valkeytest.Start(t, "9.1", "--cluster-node-timeout", "500")
	pool, _, _ := newPool(t)
	to := map[string]valkey.Target{"first": target(from.Address()), "second": target(onto.Address())}
	first, second := acquaint(t, pool, to, onto.IP)
	servers := pool.Servers(to, access)
	began := time.Now().Truncate(time.Second)
	do(t, servers, "first", words("CLUSTER MIGRATESLOTS SLOTSRANGE 16000 16100 16200 16200 NODE %s", second))
	until(t, "the first job has ended and is left out", func() bool { return len(jobs(t, pool, to["second"])) == 0 && holds(t, pool, to["second"], 16200) })

	do(t, servers, "first", []string{"EVAL", "for i=1,2000 do redis.call('SET','{a}'..i,'x') end", "1", "{a}"},
		words("CLUSTER MIGRATESLOTS SLOTSRANGE 15495 15495 NODE %s", second))
	slots := []engine.SlotRange{{From: 15495, To: 15495}}
	var export, imported engine.SlotMigration
	until(t, "both ends tell of the job", func() bool {
		var told bool
		export, imported, told = snapshotting(jobs(t, pool, to["first"]), jobs(t, pool, to["second"]))
		return told
	})
	want := engine.SlotMigration{Name: export.Name, Export: true, Slots: slots, SourceID: first, TargetID: second, State: "snapshotting"}
	changing := cmpopts.IgnoreFields(engine.SlotMigration{}, "Updated")
	if diff := cmp.Diff(want, export, changing); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want.Export, want.State = false, imported.State
	if diff := cmp.Diff(want, imported, changing); diff != "" || !export.Open() || !imported.Open() {
		t.Errorf("the target says (-want +got):\n%s", diff)
	}
	if export.Updated.Before(began) || export.Updated.After(time.Now()) {
		t.Errorf("updated at %s, begun after %s", export.Updated, began)
	}

	onto.Kill()
	until(t, "the job has failed", func() bool {
		found := jobs(t, pool, to["first"])
		return len(found) == 1 && found[0].State == "failed" && found[0].Message != "" && found[0].Name == export.Name
	})
}

// snapshotting is the one job of both ends, once its snapshot is on its way.
func snapshotting(exports, imports []engine.SlotMigration) (export, imported engine.SlotMigration, told bool) {
	if len(exports) != 1 || len(imports) != 1 || exports[0].State != "snapshotting" {
		return export, imported, false
	}
	return exports[0], imports[0], true
}

func jobs(t *testing.T, pool *valkey.Pool, to valkey.Target) []engine.SlotMigration {
	t.Helper()
	s, err := pool.Ask(context.Background(), to, access, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s.Migrations
}

func holds(t *testing.T, pool *valkey.Pool, to valkey.Target, slot int) bool {
	t.Helper()
	s, err := pool.Ask(context.Background(), to, access, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range s.Peers {
		for _, r := range p.Slots {
			if p.Myself && r.From <= slot && slot <= r.To {
				return true
			}
		}
	}
	return false
}

func TestAServerBeforeTheJobsIsAskedForThemOnce(t *testing.T) {
	s := valkeytest.Start(t, "8.1")
	pool, _, _ := newPool(t)
	for range 3 {
		if got := eventually(t, pool, target(s.Address()), access, ""); got.Migrations != nil {
			t.Errorf("jobs: %+v", got.Migrations)
		}
	}
	servers := pool.Servers(map[string]valkey.Target{"n": target(s.Address())}, access)
	text := do(t, servers, "n", words("INFO errorstats"))[0].Text
	if want := "# Errorstats\r\nerrorstat_ERR:count=1\r\n"; text != want {
		t.Errorf("%q, want %q", text, want)
	}
}
