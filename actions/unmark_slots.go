package actions

import (
	"context"
	"slices"
	"strings"

	"valkey.gomomento.com/operator/engine"
)

// UnmarkSlots takes marks of slots on the move off servers that lead nowhere: the
// other end is gone, or does not know of it.
//
// A mark may be all that keeps keys in reach: those that have arrived at a server
// which does not own their slot yet are found only through it. Where there are
// such keys the mark stays, and the slot's owner is told again where it is to go,
// so that it can be carried to the end.
type UnmarkSlots struct {
	Unmarkings []engine.Unmarking `expr:"unmarkings"`
}

// String implements Action.
func (a *UnmarkSlots) String() string {
	names := make([]string, 0, len(a.Unmarkings))
	slots := 0
	for _, u := range a.Unmarkings {
		names = append(names, u.Node)
		slots += len(u.Slots)
	}
	return count(slots, "slot") + " on " + list(names)
}

// Execute implements Action.
func (a *UnmarkSlots) Execute(ctx context.Context, env Env) error {
	if len(a.Unmarkings) == 0 {
		return nil
	}
	heard, _ := canvass(ctx, env, "server")
	return each(ctx, a.Unmarkings, func(ctx context.Context, u engine.Unmarking) error {
		return unmark(ctx, env, u, heard)
	})
}

func unmark(ctx context.Context, env Env, u engine.Unmarking, heard voices) error {
	me := heard.of(u.ID)
	if me == nil || me.node != u.Node || !me.isPrimary() {
		return nil
	}
	var idle []int
	byHolder := map[*voice][]int{}
	for _, slot := range u.Slots {
		if _, marked := me.marks[slot]; !marked || !leadsNowhere(env, heard, me, slot) {
			continue
		}
		if holder := holderOf(heard, me, slot); holder != nil {
			byHolder[holder] = append(byHolder[holder], slot)
		} else {
			idle = append(idle, slot)
		}
	}
	for holder, slots := range byHolder {
		empty, full, err := sortByKeys(ctx, env, holder.node, slots)
		if err != nil {
			return err
		}
		idle = append(idle, empty...)
		if err := resume(ctx, env, heard, holder, full); err != nil {
			return err
		}
	}
	return stabilize(ctx, env, u.Node, idle)
}

// leadsNowhere says that the other end of the move is gone for certain, or has no
// mark that leads here. A move whose both ends know of it is under way.
func leadsNowhere(env Env, heard voices, me *voice, slot int) bool {
	on := me.marks[slot]
	peer := heard.of(on.PeerID)
	if peer == nil {
		return !mayLive(env, on.PeerID)
	}
	return peer.marks[slot] != engine.SlotMark{Slot: slot, Importing: !on.Importing, PeerID: me.id}
}

// mayLive says that a server which is not heard may bear the id: one of our nodes
// did when last seen, and its Pod has not ended.
func mayLive(env Env, id string) bool {
	return slices.ContainsFunc(env.Snapshot.Nodes, func(n engine.Node) bool {
		bore := n.LastID == id || n.Server != nil && n.Server.ID == id
		return bore && n.Pod != nil && !n.Pod.Ended()
	})
}

// holderOf is the server at which keys of the slot may be in reach by the mark
// only, nil when there is none: the end that expects the slot and does not own it.
func holderOf(heard voices, me *voice, slot int) *voice {
	end, on := me, me.marks[slot]
	if !on.Importing {
		end = heard.of(on.PeerID)
	}
	if end == nil || end.self().Holds(slot) {
		return nil
	}
	return end
}

// sortByKeys tells the slots of which the node's server has no keys from those of
// which it has some.
func sortByKeys(ctx context.Context, env Env, node string, slots []int) (empty, full []int, err error) {
	counts, err := ask(ctx, env, node, countKeys(slots)...)
	if err != nil {
		return nil, nil, err
	}
	for i, slot := range slots {
		if strings.TrimSpace(counts[i]) == "0" {
			empty = append(empty, slot)
		} else {
			full = append(full, slot)
		}
	}
	return empty, full, nil
}

// resume marks slots at their owners as on the way to the server that expects
// them and has keys of them. One that does not expect them is left as it is.
func resume(ctx context.Context, env Env, heard voices, to *voice, slots []int) error {
	for _, owner := range heard {
		needs := func(slot int) bool {
			return owner.isPrimary() && owner.self().Holds(slot) && to.marks[slot].Importing
		}
		if err := tell(ctx, env, owner.node, setSlots(slots, needs, "MIGRATING", to.id)); err != nil {
			return err
		}
	}
	return nil
}

// stabilize takes the marks off, some at a time: each costs the server a write to disk.
func stabilize(ctx context.Context, env Env, node string, slots []int) error {
	slices.Sort(slots)
	for some := range slices.Chunk(slots, slotsAtOnce) {
		all := func(int) bool { return true }
		if err := tell(ctx, env, node, setSlots(some, all, "STABLE")); err != nil {
			return err
		}
	}
	return nil
}
