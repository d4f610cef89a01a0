package actions_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/topology"
	"valkey.gomomento.com/operator/testscripts/traffic"
)

// legacy are the versions without slot migration jobs.
var legacy = []string{"8.1", "8.0"}

// carrying is the plan to carry slots.
func carrying(moves ...engine.Move) *actions.CarrySlots { return &actions.CarrySlots{Moves: moves} }

// carryAll repeats the action as the loop does, until the target has all the
// slots, and says how long it took in how many passes.
func (f *formation) carryAll(t *testing.T, m engine.Move) (time.Duration, int) {
	t.Helper()
	started := time.Now()
	for passes := 1; passes < 1000; passes++ {
		f.run(t, carrying(m))
		if f.holds(t, m.To, m.Slots[0]) {
			return time.Since(started), passes
		}
	}
	t.Fatal("the slots never changed hands")
	return 0, 0
}

// unmarked checks that no slot is on the move any more.
func (f *formation) unmarked(t *testing.T) {
	t.Helper()
	f.await(t, "no slot is on the move", f.names, func(_ string, s *engine.Server) bool { return len(s.Marks) == 0 })
}

// traffic writes through a cluster client until it is stopped, and reads all of it back.
func (f *formation) traffic(t *testing.T) (stop func()) {
	t.Helper()
	a := traffic.Access{Username: shopper, Password: shopperPassword}
	for _, name := range f.names {
		a.Seeds = append(a.Seeds, f.servers[name].Address())
	}
	run, err := traffic.Start(t.Context(), traffic.Options{Access: a})
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		report, err := run.Stop(ctx)
		t.Log("\n" + report.String())
		if err != nil || report.Lost+report.Wrong > 0 {
			t.Errorf("%d writes lost, %d readings wrong: %v", report.Lost, report.Wrong, err)
		}
	}
}

func TestCarrySlotsOfRealServers(t *testing.T) {
	for _, version := range legacy {
		t.Run(version, func(t *testing.T) {
			f := form(t, version, 6, "f")
			f.takeUsers(t, version)
			some, rest := engine.SlotRange{From: 0, To: 1399}, engine.SlotRange{From: 1400, To: 5460}
			carried, stayed := keysIn(some, 5000), keysIn(rest, 1000)
			f.fill(t, "a", append(carried, stayed...))
			f.pipeline(t, "a", [][]string{{"FUNCTION", "LOAD", library}, {"EXPIRE", carried[0], "1000"}})
			stop := f.traffic(t)
			took, passes := f.carryAll(t, f.migration("a", "f", some))
			stop()
			t.Logf("1400 slots with 5000 keys carried in %v, %d passes", took, passes)
			if !f.holds(t, "a", rest) {
				t.Error("other slots have changed hands")
			}
			f.has(t, "f", carried)
			f.has(t, "a", stayed)
			f.unmarked(t)
			if ttl := f.pipeline(t, "f", [][]string{{"TTL", carried[0]}})[0]; ttl == "-1" || len(ttl) > 4 {
				t.Errorf("time to live is %s", ttl)
			}
			if one := f.pipeline(t, "f", [][]string{{"FCALL", "one", "0"}})[0]; one != "one" {
				t.Errorf("the function says %s", one)
			}
			f.carryMuchOfOneSlot(t)
			f.carryHalf(t)
			f.idleCarries(t)
		})
	}
}

// carryMuchOfOneSlot carries a slot that takes several passes to a primary with a replica.
func (f *formation) carryMuchOfOneSlot(t *testing.T) {
	t.Helper()
	slot := topology.SlotOf("{big}")
	from := f.owner(t, slot)
	to := map[string]string{"a": "b", "b": "a", "c": "b", "f": "b"}[from]
	var commands [][]string
	for i := range 100_000 {
		commands = append(commands, []string{"SET", fmt.Sprintf("{big}%d\r\n%%", i), strings.Repeat("x", 100)})
	}
	for i := range 30 {
		commands = append(commands, []string{"SET", fmt.Sprintf("{big}large%d", i), strings.Repeat("x", 1<<20)})
	}
	commands = append(commands, []string{"EVAL", "for i = 1, 50000 do redis.call('HSET', KEYS[1], i, string.rep('x', 100)) end", "1", "{big}hash"})
	f.pipeline(t, from, commands)
	took, passes := f.carryAll(t, f.migration(from, to, engine.SlotRange{From: slot, To: slot}))
	t.Logf("one slot with %d keys and 50 MB carried in %v, %d passes", len(commands), took, passes)
	if passes < 2 {
		t.Error("one execution took it all, however long")
	}
	if n := f.do(t, to, "CLUSTER", "COUNTKEYSINSLOT", fmt.Sprint(slot)); n != fmt.Sprint(len(commands)) {
		t.Errorf("%s keys have arrived of %d", n, len(commands))
	}
	if n := f.pipeline(t, to, [][]string{{"HLEN", "{big}hash"}})[0]; n != "50000" {
		t.Errorf("the hash has %s fields", n)
	}
}

// owner is the primary that holds the slot.
func (f *formation) owner(t *testing.T, slot int) string {
	t.Helper()
	for _, name := range f.names {
		if f.holds(t, name, engine.SlotRange{From: slot, To: slot}) {
			return name
		}
	}
	t.Fatalf("nobody holds slot %d", slot)
	return ""
}

// carryHalf goes on from where others stopped: a key was carried and the answer
// lost, and another came to be at the target only.
func (f *formation) carryHalf(t *testing.T) {
	t.Helper()
	slot := topology.SlotOf("{half}")
	from := f.owner(t, slot)
	to := map[string]string{"a": "b", "b": "c", "c": "b", "f": "b"}[from]
	number := fmt.Sprint(slot)
	f.pipeline(t, from, [][]string{{"SET", "{half}both", "older"}})
	f.do(t, to, "CLUSTER", "SETSLOT", number, "IMPORTING", f.ids[from])
	f.do(t, from, "CLUSTER", "SETSLOT", number, "MIGRATING", f.ids[to])
	dump := f.pipeline(t, from, [][]string{{"DUMP", "{half}both"}})[0]
	f.pipeline(t, to, [][]string{{"ASKING"}, {"RESTORE", "{half}both", "0", dump}, {"ASKING"}, {"SET", "{half}new", "new"}})
	f.pipeline(t, from, [][]string{{"SET", "{half}both", "newer"}})
	f.carryAll(t, f.migration(from, to, engine.SlotRange{From: slot, To: slot}))
	got := f.pipeline(t, to, [][]string{{"GET", "{half}both"}, {"GET", "{half}new"}})
	same(t, "values", got, []string{"newer", "new"})
	f.unmarked(t)
}

// idleCarries are plans that no longer fit.
func (f *formation) idleCarries(t *testing.T) {
	t.Helper()
	some := engine.SlotRange{From: 2000, To: 2001}
	elsewhere := engine.SlotRange{From: 2002, To: 2002}
	another, stranger := f.migration("a", "b", some), f.migration("a", "b", some)
	another.ToID, stranger.FromID = f.ids["c"], f.ids["c"]
	for what, m := range map[string]engine.Move{
		"to a replica": f.migration("a", "e", some), "from a replica": f.migration("d", "b", some),
		"slots of another": f.migration("b", "c", some), "another target answers": another, "another source answers": stranger,
	} {
		f.run(t, carrying(m))
		if !f.holds(t, "a", some) {
			t.Errorf("%s: the slots have changed hands", what)
		}
	}
	f.unmarked(t)
	f.do(t, "a", "CLUSTER", "SETSLOT", "2002", "MIGRATING", f.ids["c"])
	f.run(t, carrying(f.migration("a", "b", elsewhere)))
	if marks := f.ask(t, "a").Marks; len(marks) != 1 || marks[0].PeerID != f.ids["c"] {
		t.Errorf("a slot on its way to somebody else: %v", marks)
	}
}

// A breakdown is a carrier that breaks down now and then, on the way or before the answer.
type breakdown struct {
	actions.Carrier
	loads atomic.Int64
}

var errBreakdown = errors.New("a breakdown")

func (b *breakdown) Carry(ctx context.Context, from, to string, keys [][]string, timeout time.Duration) error {
	switch b.loads.Add(1) % 5 {
	case 1:
		return errBreakdown
	case 3:
		return errors.Join(b.Carrier.Carry(ctx, from, to, keys, timeout), errBreakdown)
	default:
		return b.Carrier.Carry(ctx, from, to, keys, timeout)
	}
}

// TestCarrySlotsBrokenOff ends executions at any moment, as the death of the
// operator or of a connection does, under writes.
func TestCarrySlotsBrokenOff(t *testing.T) {
	f := form(t, "8.1", 6)
	f.takeUsers(t, "8.1")
	some := engine.SlotRange{From: 0, To: 399}
	f.fill(t, "a", keysIn(some, 4000))
	stop := f.traffic(t)
	f.Carrier = &breakdown{Carrier: f.Carrier}
	broken := 0
	for i := 0; !f.holds(t, "b", some); i++ {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(5+13*i%97)*time.Millisecond)
		if err := carrying(f.migration("a", "b", some)).Execute(ctx, f.Env); err != nil {
			broken++
		}
		cancel()
		if i > 2000 {
			t.Fatal("the slots never changed hands")
		}
	}
	stop()
	t.Logf("broken off %d times", broken)
	f.has(t, "b", keysIn(some, 4000))
	f.unmarked(t)
}

// TestCarrySlotsHandsOverNothingThatHasKeys: Valkey would delete them.
func TestCarrySlotsHandsOverNothingThatHasKeys(t *testing.T) {
	f := form(t, "8.1", 4, "c", "d")
	keys := keysIn(engine.SlotRange{From: 0, To: 9}, 100)
	f.fill(t, "a", keys)
	f.Carrier = nothing{}
	f.run(t, carrying(f.migration("a", "b", engine.SlotRange{From: 0, To: 9})))
	f.has(t, "a", keys)
	if !f.holds(t, "a", engine.SlotRange{From: 0, To: 9}) {
		t.Error("slots with keys have changed hands")
	}
}

// nothing is a carrier that says it has carried, and has not.
type nothing struct{}

func (nothing) Sizes(_ context.Context, _ string, keys []string) ([]int64, error) {
	return make([]int64, len(keys)), nil
}

func (nothing) Carry(context.Context, string, string, [][]string, time.Duration) error { return nil }

// TestCarrySlotsOfServersThatSendToEachOther: each would wait for the other.
func TestCarrySlotsOfServersThatSendToEachOther(t *testing.T) {
	s := newShop(t, nil)
	there := engine.Move{From: "a", FromID: "id-a", To: "b", ToID: "id-b", Slots: []engine.SlotRange{{From: 0, To: 0}}}
	back := engine.Move{From: "b", FromID: "id-b", To: "a", ToID: "id-a", Slots: []engine.SlotRange{{From: 5461, To: 5461}}}
	s.run(t, carrying(there, back))
	same(t, "told", s.servers.told(), []string{"a: CLUSTER SETSLOT 0 MIGRATING id-b", "b: CLUSTER SETSLOT 0 IMPORTING id-a"})
}
