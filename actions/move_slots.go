package actions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/replies"
	"valkey.gomomento.com/operator/engine/topology"
)

const (
	// movePatience is how long a slot migration is watched after it was asked for,
	// so that one job can follow the other without a timer between them. A job of
	// empty slots takes a tenth of a second; one that takes longer goes on by itself.
	movePatience = time.Second
	// moveInterval is how often the source is asked meanwhile.
	moveInterval = 15 * time.Millisecond
)

// MoveSlots hands slots with their keys from primaries to others, by the slot
// migration jobs of Valkey 9.0. Clients of the source wait for as long as the end
// of a job takes, so a source has one job at a time.
//
// Functions do not travel with slots. A primary gets them before its first slot.
type MoveSlots struct {
	Moves []engine.Move `expr:"moves"`
}

// String implements Action.
func (a *MoveSlots) String() string { return describeMoves(a.Moves) }

// describeMoves is "120 slots (0…) from a to b, 7 slots (9000…) from c to b". The
// first slot tells a step from the one before, which was as large and between the same two.
func describeMoves(moves []engine.Move) string {
	texts := make([]string, 0, len(moves))
	for _, m := range moves {
		first := 0
		if len(m.Slots) > 0 {
			first = m.Slots[0].From
		}
		texts = append(texts, fmt.Sprintf("%s (%d…) from %s to %s", count(topology.Count(m.Slots), "slot"), first, m.From, m.To))
	}
	return list(texts)
}

// Execute implements Action.
func (a *MoveSlots) Execute(ctx context.Context, env Env) error {
	return eachSource(ctx, a.Moves, func(ctx context.Context, m engine.Move) (bool, error) {
		return move(ctx, env, m)
	})
}

// eachSource does the moves of each source one after the other, until one is not
// done, and those of different sources at the same time.
func eachSource(ctx context.Context, moves []engine.Move, do func(context.Context, engine.Move) (bool, error)) error {
	bySource := map[string][]engine.Move{}
	var sources []string
	for _, m := range moves {
		if bySource[m.From] == nil {
			sources = append(sources, m.From)
		}
		bySource[m.From] = append(bySource[m.From], m)
	}
	return each(ctx, sources, func(ctx context.Context, source string) error {
		for _, m := range bySource[source] {
			if done, err := do(ctx, m); err != nil || !done {
				return err
			}
		}
		return nil
	})
}

// move begins one job and watches it for a moment. It says whether the next of its
// source may begin.
func move(ctx context.Context, env Env, m engine.Move) (bool, error) {
	source, said, err := look(ctx, env, m.From, command("CLUSTER GETSLOTMIGRATIONS"))
	if err != nil {
		return false, err
	}
	jobs, err := replies.Migrations(said[0].Items)
	if err != nil {
		return false, fmt.Errorf("%s: %w", m.From, err)
	}
	target, _, err := look(ctx, env, m.To)
	if err != nil || !mayMove(source, target, m) || slices.ContainsFunc(jobs, engine.SlotMigration.Open) {
		return false, err
	}
	if len(target.self().Slots) == 0 {
		if err := copyFunctions(ctx, env, m); err != nil {
			return false, err
		}
	}
	if _, err := ask(ctx, env, m.From, migrateSlots(m)); err != nil {
		return false, err
	}
	return watch(ctx, env, m)
}

// migrateSlots is the command of the job.
func migrateSlots(m engine.Move) []string {
	return append(command("CLUSTER MIGRATESLOTS SLOTSRANGE", bounds(m.Slots)...), "NODE", m.ToID)
}

// mayMove says that both are the servers of the plan and primaries, that the
// source has all the slots, and that it sees nothing wrong with the target:
// Valkey takes a job to a replica or to a server that is gone, and fails it later.
func mayMove(source, target view, m engine.Move) bool {
	return len(m.Slots) > 0 && mayReceive(source, target, m) && holdsAll(source.self(), m.Slots)
}

// mayReceive is mayMove without regard to who has the slots.
func mayReceive(source, target view, m engine.Move) bool {
	known, _ := source.member(m.ToID)
	return source.id == m.FromID && source.isPrimary() &&
		target.id == m.ToID && target.isPrimary() &&
		known.Role == engine.Primary && known.Reachable() && !known.Handshake
}

// holdsAll says that all the slots are the member's.
func holdsAll(m engine.Peer, ranges []engine.SlotRange) bool {
	var set topology.Set
	set.Add(ranges...)
	set.Remove(m.Slots...)
	return set.Count() == 0
}

// watch watches the job for a moment, and says whether it has ended.
func watch(ctx context.Context, env Env, m engine.Move) (bool, error) {
	var job engine.SlotMigration
	err := poll(ctx, movePatience, moveInterval, func() (bool, error) {
		said, err := converse(ctx, env, m.From, command("CLUSTER GETSLOTMIGRATIONS"))
		if err != nil {
			return false, err
		}
		jobs, err := replies.Migrations(said[0].Items)
		if err != nil {
			return false, fmt.Errorf("%s: %w", m.From, err)
		}
		job = newestTo(jobs, m.ToID)
		return job.Name != "" && !job.Open(), nil
	})
	switch {
	case err != nil:
		return false, err
	case job.State == "failed":
		return false, fmt.Errorf("%s: %w", describeMoves([]engine.Move{m}), errors.New(job.Message))
	case job.State == "success":
		return true, awaitOwner(ctx, env, m)
	default:
		return job.State == "cancelled", nil
	}
}

// newestTo is the newest export to the target; the zero job when there is none.
func newestTo(jobs []engine.SlotMigration, target string) engine.SlotMigration {
	i := slices.IndexFunc(jobs, func(m engine.SlotMigration) bool { return m.Export && m.TargetID == target })
	if i < 0 {
		return engine.SlotMigration{}
	}
	return jobs[i]
}

// awaitOwner waits for a moment until all see the slots with the target, so that
// the next look does not find views that differ.
func awaitOwner(ctx context.Context, env Env, m engine.Move) error {
	return poll(ctx, promotionPatience, moveInterval, func() (bool, error) {
		heard, _ := canvass(ctx, env, "server")
		return !slices.ContainsFunc(heard, func(v voice) bool {
			owner, _ := v.member(m.ToID)
			return !holdsAll(owner, m.Slots)
		}), nil
	})
}

// emptyDump is the length of a FUNCTION DUMP of no functions: a version and a checksum.
const emptyDump = 10

// copyFunctions gives the target the source's functions. Its replicas get them
// from it.
func copyFunctions(ctx context.Context, env Env, m engine.Move) error {
	theirs, err := ask(ctx, env, m.From, command("FUNCTION DUMP"))
	if err != nil {
		return err
	}
	has, err := ask(ctx, env, m.To, command("FUNCTION DUMP"))
	if err != nil || len(theirs[0]) <= emptyDump || theirs[0] == has[0] {
		return err
	}
	_, err = ask(ctx, env, m.To, command("FUNCTION RESTORE", theirs[0], "REPLACE"))
	return err
}
