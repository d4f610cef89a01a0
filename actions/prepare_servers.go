package actions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"valkey.gomomento.com/operator/engine"
)

// PrepareServers gives servers that have met nobody their config epochs, and
// the primaries to be their slots.
type PrepareServers struct {
	Preparations []engine.Preparation `expr:"preparations"`
}

// String implements Action.
func (a *PrepareServers) String() string {
	primaries := 0
	for _, p := range a.Preparations {
		if len(p.Slots) > 0 {
			primaries++
		}
	}
	return fmt.Sprintf("%s, %d with slots", count(len(a.Preparations), "server"), primaries)
}

// Execute implements Action.
func (a *PrepareServers) Execute(ctx context.Context, env Env) error {
	return each(ctx, a.Preparations, func(ctx context.Context, p engine.Preparation) error {
		return prepare(ctx, env, p)
	})
}

// prepare does nothing when another server answers than the plan was made
// for, when that has become a replica, or when someone else has the slots.
func prepare(ctx context.Context, env Env, p engine.Preparation) error {
	v, _, err := look(ctx, env, p.Node)
	if err != nil {
		return err
	}
	missing, free := missingSlots(v, p.Slots)
	if v.id != p.ID || !v.isPrimary() || !free {
		return nil
	}
	if p.Epoch > 0 && v.self().Epoch == 0 && !v.alone() {
		return nil // Valkey would refuse the epoch, and without one the server must not get slots.
	}
	commands := preparation(v, p, missing)
	if len(commands) == 0 {
		return nil
	}
	_, err = ask(ctx, env, p.Node, commands...)
	return err
}

// preparation is what is still to be done, in order: settings first, since they
// pace the rest, and the epoch BEFORE the slots, which spread under it.
func preparation(v view, p engine.Preparation, missing []engine.SlotRange) [][]string {
	var commands [][]string
	if len(p.Settings) > 0 {
		commands = append(commands, command("CONFIG SET", pairs(p.Settings)...))
	}
	if p.Epoch > 0 && v.self().Epoch == 0 {
		commands = append(commands, command("CLUSTER SET-CONFIG-EPOCH", strconv.FormatInt(p.Epoch, 10)))
	}
	if len(missing) > 0 {
		commands = append(commands, command("CLUSTER ADDSLOTSRANGE", bounds(missing)...))
	}
	return commands
}

// missingSlots are the wanted slots that the server does not hold; free says
// that nobody else it knows of holds one of them.
func missingSlots(v view, wanted []engine.SlotRange) (missing []engine.SlotRange, free bool) {
	self := v.self()
	for _, r := range wanted {
		for slot := r.From; slot <= r.To; slot++ {
			if self.Holds(slot) {
				continue
			}
			if slices.ContainsFunc(v.members, func(m engine.Peer) bool { return m.Holds(slot) }) {
				return nil, false
			}
			missing = appendSlot(missing, slot)
		}
	}
	return missing, true
}

// appendSlot lengthens the last range by the slot, or begins another.
func appendSlot(ranges []engine.SlotRange, slot int) []engine.SlotRange {
	if last := len(ranges) - 1; last >= 0 && ranges[last].To == slot-1 {
		ranges[last].To = slot
		return ranges
	}
	return append(ranges, engine.SlotRange{From: slot, To: slot})
}

// bounds are the ranges as ADDSLOTSRANGE takes them: "0 5460 10923 16383".
func bounds(ranges []engine.SlotRange) []string {
	args := make([]string, 0, 2*len(ranges))
	for _, r := range ranges {
		args = append(args, strconv.Itoa(r.From), strconv.Itoa(r.To))
	}
	return args
}

// pairs are the settings as CONFIG SET takes them, sorted by name.
func pairs(settings map[string]string) []string {
	args := make([]string, 0, 2*len(settings))
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, name, settings[name])
	}
	return args
}
