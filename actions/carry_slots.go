package actions

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"valkey.gomomento.com/operator/engine"
)

const (
	// carryBudget is about how long one execution works: long enough that looking
	// and deciding costs little beside it, and short enough to be a step.
	carryBudget = time.Second
	// slotsAtOnce is how many slots are marked at once and handed over at once. A
	// mark costs its server a write to disk and a wait for its replicas, 1 to 3 ms
	// each, and no server may be at it for as long as the operator waits for an
	// answer, busy machine or not.
	slotsAtOnce = 16
)

// CarrySlots hands slots from primaries to others before Valkey 9.0: it marks
// slots as on the move, carries their keys over, and declares the target their
// owner.
//
// A slot that changes hands while its old owner has a key of it loses that key:
// so nothing changes hands whose old owner was not just asked, and found to have
// none, under a mark that lets it take in no new ones.
//
// Where an execution ends does not matter, by its time or by a kill: the marks on
// the servers say what is under way, and the next one goes on with that.
type CarrySlots struct {
	Moves []engine.Move `expr:"moves"`
}

// String implements Action.
func (a *CarrySlots) String() string { return describeMoves(a.Moves) }

// Execute implements Action.
func (a *CarrySlots) Execute(ctx context.Context, env Env) error {
	end := time.Now().Add(carryBudget)
	return eachSource(ctx, disentangle(a.Moves), func(ctx context.Context, m engine.Move) (bool, error) {
		return carry(ctx, env, m, end)
	})
}

// disentangle leaves out moves to a server that others leave. A server that sends
// keys does nothing else until the other has taken them: two that send to each
// other would wait for each other.
func disentangle(moves []engine.Move) []engine.Move {
	var kept []engine.Move
	for _, m := range moves {
		if !slices.ContainsFunc(kept, func(k engine.Move) bool { return k.From == m.To || k.To == m.From }) {
			kept = append(kept, m)
		}
	}
	return kept
}

// carry works on one move until it is done or the time is up, and says whether it is done.
func carry(ctx context.Context, env Env, m engine.Move, end time.Time) (bool, error) {
	c := carriage{env: env, move: m, end: end}
	if begun, err := c.begin(ctx); err != nil || !begun {
		return false, err
	}
	for batch := range slices.Chunk(c.slots(), slotsAtOnce) {
		if done, err := c.carry(ctx, batch); err != nil || !done {
			return false, err
		}
	}
	return true, awaitOwner(ctx, env, m)
}

// A carriage is one move under way.
type carriage struct {
	env            Env
	move           engine.Move
	end            time.Time
	source, target view
}

// begin looks at both ends, and says whether the move may go on.
func (c *carriage) begin(ctx context.Context) (bool, error) {
	var err error
	if c.source, _, err = look(ctx, c.env, c.move.From); err != nil {
		return false, err
	}
	if c.target, _, err = look(ctx, c.env, c.move.To); err != nil {
		return false, err
	}
	if !mayReceive(c.source, c.target, c.move) {
		return false, nil
	}
	if len(c.target.self().Slots) == 0 {
		return true, copyFunctions(ctx, c.env, c.move)
	}
	return true, nil
}

// slots are those that the source still has, first those that are on the move
// already. One that is on its way to somebody else has left keys there: that way
// it has to go.
func (c *carriage) slots() []int {
	self, marks := c.source.self(), c.source.marks
	var begun, rest []int
	for _, r := range c.move.Slots {
		for slot := r.From; slot <= r.To; slot++ {
			on, marked := marks[slot]
			switch {
			case !self.Holds(slot) || marked && on != c.leaving(slot):
			case marked:
				begun = append(begun, slot)
			default:
				rest = append(rest, slot)
			}
		}
	}
	return append(begun, rest...)
}

// leaving and arriving are the marks of a slot at the source and at the target.
func (c *carriage) leaving(slot int) engine.SlotMark {
	return engine.SlotMark{Slot: slot, PeerID: c.move.ToID}
}

func (c *carriage) arriving(slot int) engine.SlotMark {
	return engine.SlotMark{Slot: slot, Importing: true, PeerID: c.move.FromID}
}

// carry marks some slots, empties them, and hands over those that are empty. It
// says whether all of them are, and there is time for more.
func (c *carriage) carry(ctx context.Context, slots []int) (bool, error) {
	if err := c.mark(ctx, slots); err != nil {
		return false, err
	}
	emptied, err := c.empty(ctx, slots)
	if err != nil {
		return false, err
	}
	handed, err := c.handOver(ctx, slots)
	return emptied && handed == len(slots) && time.Now().Before(c.end), err
}

// mark marks the slots at the target BEFORE the source: a source that has marked
// a slot sends clients on, and the target must know to serve them.
func (c *carriage) mark(ctx context.Context, slots []int) error {
	own := c.target.self()
	arrive := setSlots(slots, func(slot int) bool { return !own.Holds(slot) && c.target.marks[slot] != c.arriving(slot) }, "IMPORTING", c.move.FromID)
	if err := tell(ctx, c.env, c.move.To, arrive); err != nil {
		return err
	}
	leave := setSlots(slots, func(slot int) bool { return c.source.marks[slot] != c.leaving(slot) }, "MIGRATING", c.move.ToID)
	return tell(ctx, c.env, c.move.From, leave)
}

// setSlots are the SETSLOT commands of those of the slots that need one.
func setSlots(slots []int, needs func(int) bool, words ...string) [][]string {
	var commands [][]string
	for _, slot := range slots {
		if needs(slot) {
			commands = append(commands, command("CLUSTER SETSLOT", append([]string{strconv.Itoa(slot)}, words...)...))
		}
	}
	return commands
}

// tell sends commands that have no answer of interest, if there are any.
func tell(ctx context.Context, env Env, node string, commands [][]string) error {
	if len(commands) == 0 {
		return nil
	}
	_, err := ask(ctx, env, node, commands...)
	return err
}

// handOver makes the target the owner of those of the slots that are empty and
// marked at both ends, and counts them. Everyone learns of it from the target,
// which tells all others at once, and has got a config epoch that outdoes the
// source's: to tell the source and each other primary as well would only cost them
// another write to disk a slot.
func (c *carriage) handOver(ctx context.Context, slots []int) (int, error) {
	ready, err := c.ready(ctx, slots)
	if err != nil {
		return 0, err
	}
	commands := setSlots(slots, func(slot int) bool { return ready[slot] }, "NODE", c.move.ToID)
	return len(commands), tell(ctx, c.env, c.move.To, commands)
}

// ready are the slots that may change hands: each is the source's still, marked at
// both ends, and without keys at the source. A target without the mark would become
// owner without a new config epoch, and nobody would believe it.
func (c *carriage) ready(ctx context.Context, slots []int) (map[int]bool, error) {
	target, _, err := look(ctx, c.env, c.move.To)
	if err != nil {
		return nil, err
	}
	source, counts, err := look(ctx, c.env, c.move.From, countKeys(slots)...)
	if err != nil || !mayReceive(source, target, c.move) {
		return nil, err
	}
	ready := map[int]bool{}
	for i, slot := range slots {
		ready[slot] = strings.TrimSpace(counts[i].Text) == "0" && source.self().Holds(slot) &&
			source.marks[slot] == c.leaving(slot) && target.marks[slot] == c.arriving(slot)
	}
	return ready, nil
}

// countKeys asks how many keys each of the slots has.
func countKeys(slots []int) [][]string {
	commands := make([][]string, 0, len(slots))
	for _, slot := range slots {
		commands = append(commands, command("CLUSTER COUNTKEYSINSLOT", strconv.Itoa(slot)))
	}
	return commands
}
