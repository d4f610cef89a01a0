package copies

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/topology"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(round int) time.Time { return start.Add(time.Duration(round) * Every) }

func primary(id string, epoch int64, slots ...engine.SlotRange) *engine.Server {
	return &engine.Server{ID: id, Role: engine.Primary, Peers: []engine.Peer{
		{ID: "somebody", Epoch: 99, Slots: []engine.SlotRange{{From: 0, To: 16383}}}, // what it says of others is not believed
		{ID: id, Myself: true, Role: engine.Primary, Epoch: epoch, Slots: slots},
	}}
}

func replica(id, of string, synced bool) *engine.Server {
	return &engine.Server{ID: id, Role: engine.Replica, PrimaryID: of, LinkUp: synced, Peers: []engine.Peer{{ID: id, Myself: true, Role: engine.Replica}}}
}

var low, high = engine.SlotRange{From: 0, To: 8191}, engine.SlotRange{From: 8192, To: 16383}

func lasted(from, to, rounds int) Spell {
	return Spell{Length: at(to).Sub(at(from)), From: at(from), Rounds: rounds}
}

func TestWhatTheRoundsShow(t *testing.T) {
	whole := []*engine.Server{primary("a", 1, low), replica("b", "a", true), primary("c", 2, high), replica("d", "c", true)}
	both := []topology.Range{{From: 0, To: 16383}}
	lower, upper := []topology.Range{{From: 0, To: 8191}}, []topology.Range{{From: 8192, To: 16383}}
	cases := map[string]struct {
		rounds [][]*engine.Server
		want   []Group
	}{
		"nothing happens": {
			rounds: [][]*engine.Server{whole, whole},
			want:   []Group{{both, Fate{Least: 2}}},
		},
		"a replica resyncs for two rounds": {
			rounds: [][]*engine.Server{
				whole,
				{whole[0], replica("b", "a", false), whole[2], whole[3]},
				{whole[0], replica("b", "a", false), whole[2], whole[3]},
				whole,
			},
			want: []Group{{lower, Fate{Least: 1, Below: lasted(1, 3, 2)}}, {upper, Fate{Least: 2}}},
		},
		"a replica is away until the end": {
			rounds: [][]*engine.Server{whole, whole[:3]},
			want:   []Group{{lower, Fate{Least: 2}}, {upper, Fate{Least: 1, Below: lasted(1, 2, 1)}}},
		},
		"a replica follows another shard now": {
			rounds: [][]*engine.Server{{whole[0], whole[1], whole[2], replica("d", "a", true)}},
			want:   []Group{{lower, Fate{Least: 3}}, {upper, Fate{Least: 1, Below: lasted(0, 1, 1)}}},
		},
		"a hand-over that the questions straddle": {
			rounds: [][]*engine.Server{
				whole,
				{replica("a", "b", false), replica("b", "a", true), whole[2], whole[3]},
				{replica("a", "b", true), primary("b", 3, low), whole[2], whole[3]},
			},
			want: []Group{
				{lower, Fate{Least: 2, Headless: lasted(1, 2, 1), Failovers: 1}}, {upper, Fate{Least: 2}},
			},
		},
		"an old primary that has not heard of its end": {
			rounds: [][]*engine.Server{
				whole,
				{whole[0], primary("b", 3, low), whole[2], whole[3]},
				{replica("a", "b", true), primary("b", 3, low), whole[2], whole[3]},
			},
			want: []Group{
				{lower, Fate{Least: 1, Below: lasted(1, 2, 1), Failovers: 1}}, {upper, Fate{Least: 2}},
			},
		},
		"slots move to another shard": {
			rounds: [][]*engine.Server{
				whole,
				{primary("a", 3, low, high), whole[1], primary("c", 2), whole[3]},
			},
			want: []Group{{lower, Fate{Least: 2}}, {upper, Fate{Least: 2, Moves: 1}}},
		},
	}
	for name, c := range cases {
		b := newBook(2)
		for i, servers := range c.rounds {
			b.enter(at(i), servers, false)
		}
		if diff := cmp.Diff(c.want, b.report(at(len(c.rounds)), nil).Groups); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTheWorstIsToldOfAllShards(t *testing.T) {
	b := newBook(2)
	b.enter(at(0), []*engine.Server{primary("a", 1, low), replica("b", "a", true), primary("c", 2, high)}, false)
	b.enter(at(1), []*engine.Server{primary("b", 3, low), primary("c", 2, high), replica("d", "c", true)}, false)
	want := Fate{Least: 1, Below: lasted(0, 1, 1), Failovers: 1}
	got := b.report(at(2), nil)
	if diff := cmp.Diff(want, got.Worst); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAServerWhoseFirstAnswerIsAwaitedMayBeACopy(t *testing.T) {
	b := newBook(2)
	two := []*engine.Server{primary("a", 1, low, high), replica("b", "a", true)}
	b.enter(at(0), two, false)
	b.enter(at(1), two[:1], true)
	if got := b.report(at(2), nil).Worst; got.Least != 2 || got.Below.Rounds != 0 {
		t.Errorf("too few copies before the last server was heard: %+v", got)
	}
	if b.enter(at(2), two[:1], false); b.report(at(3), nil).Worst.Least != 1 {
		t.Error("one copy, and nobody else to hear from")
	}
	b.enter(at(3), two[:1], true)
	if got := b.report(at(4), nil).Worst; got.Below != lasted(2, 4, 2) {
		t.Errorf("a new server ended what lasts: %+v", got)
	}
}
