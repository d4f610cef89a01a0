package actions_test

import (
	"fmt"
	"slices"
	"testing"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/engine"
)

func unmarking(id string) *actions.UnmarkSlots {
	return &actions.UnmarkSlots{Unmarkings: []engine.Unmarking{{Node: "a", ID: id, Slots: []int{5, 6}}}}
}

func TestUnmarkSlots(t *testing.T) {
	leaving := line("id-a", "myself,master", "-", 1, "connected", "0-5460", "[5->-id-c]", "[6->-id-c]")
	expected := line("id-a", "myself,master", "-", 1, "connected", "0-5460", "[7-<-id-b]", "[5-<-id-c]")
	stable := func(slots ...int) []string {
		var told []string
		for _, s := range slots {
			told = append(told, fmt.Sprintf("a: CLUSTER SETSLOT %d STABLE", s))
		}
		return told
	}
	cases := map[string]struct {
		line   string
		id     string
		slots  []int
		change func(*shop)
		told   []string
	}{
		"on their way to a server that does not know of it": {line: leaving, told: stable(5, 6)},
		"both ends know of one of them": {
			line: leaving, told: stable(6),
			change: func(s *shop) { s.sees("c", line("id-c", "myself,master", "-", 3, "connected", "[5-<-id-a]")) },
		},
		"keys have arrived at the other end": {
			line: leaving, change: func(s *shop) { s.servers["c"].says["CLUSTER COUNTKEYSINSLOT 6"] = "3" }, told: stable(5),
		},
		"the other end owns them": {
			line: leaving, told: stable(5, 6),
			change: func(s *shop) {
				s.sees("c", line("id-c", "myself,master", "-", 3, "connected", "5-6"))
				s.servers["c"].says["CLUSTER COUNTKEYSINSLOT 6"] = "3"
			},
		},
		"the other end does not answer": {line: leaving, change: func(s *shop) { s.servers["c"].down = true }},
		"the other end is gone": {
			line: leaving, told: stable(5, 6),
			change: func(s *shop) { s.servers["c"].down = true; s.Snapshot.Nodes[2].Pod = nil },
		},
		"expected, and its own by now": {line: expected, told: stable(5)},
		"expected, and keys have arrived": {
			line:   line("id-a", "myself,master", "-", 1, "connected", "[5-<-id-c]", "[6-<-id-c]"),
			change: func(s *shop) { s.servers["a"].says["CLUSTER COUNTKEYSINSLOT 5"] = "1" },
			told:   stable(6),
		},
		"expected of an owner that has no mark, and keys have arrived": {
			line: line("id-a", "myself,master", "-", 1, "connected", "[5461-<-id-b]"), slots: []int{5461},
			change: func(s *shop) { s.servers["a"].says["CLUSTER COUNTKEYSINSLOT 5461"] = "1" },
			told:   []string{"b: CLUSTER SETSLOT 5461 MIGRATING id-a"},
		},
		"it has become a replica": {line: line("id-a", "myself,slave", "id-d", 1, "connected", "[5->-id-c]")},
		"there are no marks":      {line: line("id-a", "myself,master", "-", 1, "connected", "0-5460")},
		"another server answers":  {line: leaving, id: "id-x"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, nil)
			s.sees("a", c.line)
			if c.change != nil {
				c.change(s)
			}
			if c.id == "" {
				c.id = "id-a"
			}
			plan := unmarking(c.id)
			if c.slots != nil {
				plan.Unmarkings[0].Slots = c.slots
			}
			s.run(t, plan)
			same(t, "told", s.servers.told(), c.told)
		})
	}
}

func TestUnmarkSlotsOfRealServers(t *testing.T) {
	for _, version := range legacy {
		t.Run(version, func(t *testing.T) {
			f := form(t, version, 6)
			f.do(t, "a", "CLUSTER", "SETSLOT", "5", "MIGRATING", f.ids["b"])
			f.do(t, "a", "CLUSTER", "SETSLOT", "6", "MIGRATING", f.ids["b"])
			f.do(t, "b", "CLUSTER", "SETSLOT", "6", "IMPORTING", f.ids["a"])
			f.do(t, "c", "CLUSTER", "SETSLOT", "7", "IMPORTING", f.ids["a"])
			key := keysIn(engine.SlotRange{From: 7, To: 7}, 1)[0]
			f.pipeline(t, "c", [][]string{{"ASKING"}, {"SET", key, "x"}})
			all := &actions.UnmarkSlots{}
			for _, name := range []string{"a", "b", "c"} {
				all.Unmarkings = append(all.Unmarkings, engine.Unmarking{Node: name, ID: f.ids[name], Slots: []int{5, 6, 7}})
			}
			f.until(t, all, func() bool {
				return f.marked(t, map[string][]int{"a": {6, 7}, "b": {6}, "c": {7}, "d": {6, 7}, "e": {6}, "f": {7}})
			})
			f.run(t, carrying(f.migration("a", "c", engine.SlotRange{From: 7, To: 7})))
			if !f.holds(t, "c", engine.SlotRange{From: 7, To: 7}) {
				t.Error("the slot was not carried to its end")
			}
		})
	}
}

// marked says that just these slots are marked; replicas have the marks of their primaries.
func (f *formation) marked(t *testing.T, want map[string][]int) bool {
	t.Helper()
	for _, name := range f.names {
		var have []int
		for _, m := range f.ask(t, name).Marks {
			have = append(have, m.Slot)
		}
		if !slices.Equal(have, want[name]) {
			return false
		}
	}
	return true
}
