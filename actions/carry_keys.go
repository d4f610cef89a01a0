package actions

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// keysAtOnce and bytesAtOnce bound one load, during which a server does nothing
	// else: both come to some milliseconds. One key alone may be larger.
	keysAtOnce  = 100
	bytesAtOnce = 1 << 20
	// keysAsked is how many keys the source is asked for at once, and weighs: a
	// millisecond's work for it.
	keysAsked = 1000
	// sizeUnknown is what a key counts for of which the server does not say how
	// large it is, since its users are of an earlier release of the operator.
	sizeUnknown = bytesAtOnce / 10
	// silence is how long the target may say nothing during a MIGRATE, and
	// bytesPerMillisecond how much longer for a large key, which it has to read as
	// a whole before it says anything: a tenth of what it manages on an idle machine.
	silence             = time.Second
	bytesPerMillisecond = 10_000
)

// A cargo is one key to carry.
type cargo struct {
	slot int
	key  string
	size int64
}

// empty carries the keys of the slots over, until there are none left or the time
// is up, and says whether there are none left.
//
// A key that is at both ends was carried before, and the answer was lost. The
// source's is the right one: it serves the key as long as it has it, and sends
// clients to the target only for keys it does not have. So each key replaces what
// the target has under its name.
func (c *carriage) empty(ctx context.Context, slots []int) (bool, error) {
	for ctx.Err() == nil {
		keys, err := c.keys(ctx, slots)
		if err != nil || len(keys) == 0 {
			return err == nil, err
		}
		for len(keys) > 0 {
			if !time.Now().Before(c.end) {
				return false, nil
			}
			n, size := load(keys)
			patience := silence + time.Duration(size/bytesPerMillisecond)*time.Millisecond
			if err := c.env.Carrier.Carry(ctx, c.move.From, c.move.To, bySlot(keys[:n]), patience); err != nil {
				return false, fmt.Errorf("keys of %s: %w", c.move.From, err)
			}
			keys = keys[n:]
		}
	}
	return false, ctx.Err()
}

// keys are some keys of the slots, slot by slot, with their sizes; there are none
// when the slots have none.
func (c *carriage) keys(ctx context.Context, slots []int) ([]cargo, error) {
	full, err := c.full(ctx, slots)
	if err != nil || len(full) == 0 {
		return nil, err
	}
	var commands [][]string
	share := strconv.Itoa(keysAsked/len(full) + 1)
	for _, slot := range full {
		commands = append(commands, command("CLUSTER GETKEYSINSLOT", strconv.Itoa(slot), share))
	}
	replies, err := c.env.Valkey.Do(ctx, c.move.From, commands...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.move.From, err)
	}
	var keys []cargo
	for i, r := range replies {
		if r.Err != nil {
			return nil, fmt.Errorf("%s: %s: %w", c.move.From, spoken(commands[i]), r.Err)
		}
		for _, key := range r.Items {
			keys = append(keys, cargo{slot: full[i], key: key})
		}
	}
	return keys, c.weigh(ctx, keys)
}

// full are those of the slots that have keys at the source.
func (c *carriage) full(ctx context.Context, slots []int) ([]int, error) {
	counts, err := ask(ctx, c.env, c.move.From, countKeys(slots)...)
	if err != nil {
		return nil, err
	}
	var full []int
	for i, slot := range slots {
		if strings.TrimSpace(counts[i]) != "0" {
			full = append(full, slot)
		}
	}
	return full, nil
}

// weigh finds out how large the keys are.
func (c *carriage) weigh(ctx context.Context, keys []cargo) error {
	names := make([]string, 0, len(keys))
	for _, k := range keys {
		names = append(names, k.key)
	}
	sizes, err := c.env.Carrier.Sizes(ctx, c.move.From, names)
	if err != nil {
		return fmt.Errorf("sizes of keys of %s: %w", c.move.From, err)
	}
	for i, size := range sizes {
		if keys[i].size = size; size < 0 {
			keys[i].size = sizeUnknown
		}
	}
	return nil
}

// load is how many of the first keys go together, at least one, and their size.
func load(keys []cargo) (n int, size int64) {
	for n < min(len(keys), keysAtOnce) && (n == 0 || size+keys[n].size <= bytesAtOnce) {
		size += keys[n].size
		n++
	}
	return n, size
}

// bySlot are the keys in one list a slot; they come slot by slot.
func bySlot(keys []cargo) [][]string {
	var lists [][]string
	for i, k := range keys {
		if i == 0 || keys[i-1].slot != k.slot {
			lists = append(lists, nil)
		}
		lists[len(lists)-1] = append(lists[len(lists)-1], k.key)
	}
	return lists
}
