package actions_test

import (
	"strings"
	"testing"
	"time"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/engine"
)

// library is a function that all shards are to have.
const library = "#!lua name=lib\nserver.register_function('one', function() return 'one' end)"

// toC is the plan to hand a hundred slots from a to c.
var toC = engine.Move{From: "a", FromID: "id-a", To: "c", ToID: "id-c", Slots: []engine.SlotRange{{From: 0, To: 99}}}

const (
	dumpOfNothing = "P\x00........"
	dumpOfOne     = "function one P\x00........"
)

// job is a slot migration as a server tells of it.
func job(state string) []string {
	return []string{
		"name", "4ca85fa6ac6e6faddeb2b4d28bc9662a0d077feb", "operation", "EXPORT", "slot_ranges", "0-99",
		"target_node", "id-c", "source_node", "id-a", "create_time", "1", "last_update_time", "1", "last_ack_time", "1",
		"state", state, "message", "", "cow_size", "0", "remaining_repl_size", "0",
	}
}

// newMarket is a shop whose servers have no functions.
func newMarket(t *testing.T, lines func(map[string]string)) *shop {
	t.Helper()
	s := newShop(t, lines)
	for _, one := range s.servers {
		one.says["FUNCTION DUMP"] = dumpOfNothing
	}
	return s
}

func TestMoveSlots(t *testing.T) {
	const order = "a: CLUSTER MIGRATESLOTS SLOTSRANGE 0 99 NODE id-c"
	empty := func(l map[string]string) { l["id-c"] = line("id-c", "master", "-", 3, "connected") }
	cases := map[string]struct {
		lines  func(map[string]string)
		change func(*shop)
		plan   func(*engine.Move)
		told   []string
	}{
		"all is well":                  {told: []string{order}},
		"the first slots of a primary": {lines: empty, told: []string{order}},
		"the first slots of a primary, and functions": {
			lines: empty, change: func(s *shop) { s.servers["a"].says["FUNCTION DUMP"] = dumpOfOne },
			told: []string{order, "c: FUNCTION RESTORE " + dumpOfOne + " REPLACE"},
		},
		"the target has them already": {
			lines: empty, change: func(s *shop) {
				s.servers["a"].says["FUNCTION DUMP"], s.servers["c"].says["FUNCTION DUMP"] = dumpOfOne, dumpOfOne
			}, told: []string{order},
		},
		"an earlier job was cancelled": {
			change: func(s *shop) { s.servers["a"].jobs = job("cancelled") }, told: []string{order},
		},
		"a job is open": {
			change: func(s *shop) { s.servers["a"].jobs = job("snapshotting") },
		},
		"another server answers for the source": {plan: func(m *engine.Move) { m.FromID = "id-x" }},
		"another server answers for the target": {plan: func(m *engine.Move) { m.ToID = "id-x" }},
		"there are no slots":                    {plan: func(m *engine.Move) { m.Slots = nil }},
		"the source lacks one of the slots":     {plan: func(m *engine.Move) { m.Slots[0].To = 5461 }},
		"the target is a replica":               {plan: func(m *engine.Move) { m.To, m.ToID = "d", "id-d" }},
		"the source takes the target for a replica": {
			change: func(s *shop) { s.sees("a", line("id-c", "slave", "id-b", 3, "connected")) },
		},
		"the source suspects the target": {
			change: func(s *shop) { s.sees("a", line("id-c", "master,fail?", "-", 3, "connected", "10923-16383")) },
		},
		"the source has no link to the target": {
			change: func(s *shop) { s.sees("a", line("id-c", "master", "-", 3, "disconnected", "10923-16383")) },
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, plan := newMarket(t, c.lines), toC
			plan.Slots = []engine.SlotRange{toC.Slots[0]}
			if c.change != nil {
				c.change(s)
			}
			if c.plan != nil {
				c.plan(&plan)
			}
			s.run(t, &actions.MoveSlots{Moves: []engine.Move{plan}})
			same(t, "told", s.servers.told(), c.told)
		})
	}
}

func TestMoveSlotsSaysWhyItCannot(t *testing.T) {
	s := newMarket(t, nil)
	s.servers["a"].refuses = map[string]string{"CLUSTER MIGRATESLOTS": "ERR Slots are being manually migrated"}
	s.fails(t, &actions.MoveSlots{Moves: []engine.Move{toC}}, "a: CLUSTER MIGRATESLOTS: ERR Slots are being")
	s.servers["c"].down = true
	s.fails(t, &actions.MoveSlots{Moves: []engine.Move{toC}}, "c: connection refused")
}

// A replica tells of its primary's imports in words of its own, and must be understood all the same.
func TestAReplicaIsHeardWhileSlotsMove(t *testing.T) {
	f := form(t, "9.1", 6)
	f.run(t, &actions.MoveSlots{Moves: []engine.Move{f.migration("a", "b", engine.SlotRange{From: 0, To: 99})}})
	if !f.holds(t, "b", engine.SlotRange{From: 0, To: 99}) {
		t.Fatal("the slots have not changed hands")
	}
	for _, node := range []string{"a", "b", "d", "e"} {
		f.ask(t, node)
	}
	if said := f.do(t, "e", "CLUSTER", "GETSLOTMIGRATIONS"); !strings.Contains(said, "IMPORT") {
		t.Errorf("the replica says %q of the import", said)
	}
}

func TestMoveSlotsOfRealServers(t *testing.T) {
	f := form(t, "9.1", 6, "f")
	some, rest := engine.SlotRange{From: 0, To: 1399}, engine.SlotRange{From: 1400, To: 5460}
	moved, stayed := keysIn(some, 5000), keysIn(rest, 1000)
	f.fill(t, "a", append(moved, stayed...))
	f.do(t, "a", "FUNCTION", "LOAD", library)
	f.do(t, "a", "EXPIRE", moved[0], "1000")

	started := time.Now()
	f.run(t, &actions.MoveSlots{Moves: []engine.Move{f.migration("a", "f", some)}})
	t.Logf("1400 slots with 5000 keys moved in %v", time.Since(started))
	if !f.holds(t, "f", some) || !f.holds(t, "a", rest) {
		t.Fatal("the slots have not changed hands")
	}
	f.has(t, "f", moved)
	f.has(t, "a", stayed)
	if ttl := f.do(t, "f", "TTL", moved[0]); ttl == "-1" || len(ttl) > 4 {
		t.Errorf("time to live is %s", ttl)
	}
	if one := f.do(t, "f", "FCALL", "one", "0"); one != "one" {
		t.Errorf("the function says %s", one)
	}
	f.idleMoves(t, some)
	f.openMove(t, rest)
	f.failedMove(t, rest)
}

// idleMoves are plans that no longer fit.
func (f *formation) idleMoves(t *testing.T, gone engine.SlotRange) {
	t.Helper()
	for what, m := range map[string]engine.Move{
		"slots that have moved": f.migration("a", "b", gone),
		"to a replica":          f.migration("a", "d", engine.SlotRange{From: 1400, To: 1500}),
		"from a replica":        f.migration("d", "b", engine.SlotRange{From: 1400, To: 1500}),
	} {
		f.run(t, &actions.MoveSlots{Moves: []engine.Move{m}})
		if jobs := f.do(t, "a", "CLUSTER", "GETSLOTMIGRATIONS"); strings.Count(jobs, "operation") != 1 {
			t.Errorf("%s: %s", what, jobs)
		}
	}
}

// openMove is a job whose target hangs: no other begins, and it can be recalled.
func (f *formation) openMove(t *testing.T, r engine.SlotRange) {
	t.Helper()
	recall := &actions.RecallMoves{Recalls: []engine.Recall{{Node: "a", ID: f.ids["a"]}}}
	f.twice(t, recall)
	f.servers["f"].Stop(t)
	f.do(t, "a", "CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", "1400", "5460", "NODE", f.ids["f"])
	f.run(t, &actions.MoveSlots{Moves: []engine.Move{f.migration("a", "b", r)}})
	f.run(t, &actions.RecallMoves{Recalls: []engine.Recall{{Node: "a", ID: f.ids["b"]}}})
	jobs := f.do(t, "a", "CLUSTER", "GETSLOTMIGRATIONS")
	if strings.Count(jobs, "operation") != 2 || strings.Contains(jobs, "cancelled") {
		t.Errorf("beside an open job: %s", jobs)
	}
	f.twice(t, recall)
	if jobs := f.do(t, "a", "CLUSTER", "GETSLOTMIGRATIONS"); !strings.Contains(jobs, "cancelled") {
		t.Errorf("recalled: %s", jobs)
	}
	f.servers["f"].Continue(t)
	f.awaitInSync(t)
}

// failedMove is a job whose target has no room.
func (f *formation) failedMove(t *testing.T, r engine.SlotRange) {
	t.Helper()
	f.run(t, &actions.SetSettings{Changes: []engine.SettingChange{{Node: "f", Settings: map[string]string{"maxmemory": "1"}}}})
	f.fails(t, &actions.MoveSlots{Moves: []engine.Move{f.migration("a", "f", r)}}, "4061 slots (1400…) from a to f: ")
	if !f.holds(t, "a", r) {
		t.Error("the slots have changed hands")
	}
}
