package traffic

import (
	"fmt"
	"strconv"
	"strings"
)

// An entry is one key with what was written to it. The numbers of a key count from 1; each is sent once.
type entry struct {
	key string
	// sent is the last number sent, acked the last one acknowledged, 0 for none. Between the two are numbers that
	// servers refused, and, once doubt is set, the one of which nobody knows whether it was written.
	sent, acked uint64
	doubt       bool
	// blamed is the acknowledged number whose absence a read has shown and which has been counted.
	blamed uint64
}

// write is the next value to send.
func (e *entry) write() string {
	e.sent++
	return valueOf(e.key, e.sent)
}

// valueOf holds the key, so that a value that strays to another key is recognised.
func valueOf(key string, number uint64) string { return key + "=" + strconv.FormatUint(number, 10) }

// A verdict is what a reading says of the writes before it.
type verdict int

const (
	right verdict = iota
	// older is a value from before the last acknowledged write, or none at all.
	older
	// alien is a value that was never sent to this key.
	alien
)

// judge compares what was read, "" for no value, with what must be there.
func (e *entry) judge(value string) verdict {
	if value == "" {
		if e.acked == 0 {
			return right
		}
		return older
	}
	digits, ours := strings.CutPrefix(value, e.key+"=")
	number, err := strconv.ParseUint(digits, 10, 64)
	switch {
	case !ours || err != nil || number == 0 || number > e.sent:
		return alien
	case number < e.acked:
		return older
	default:
		return right
	}
}

// A ledger is the book of one lane. Nobody else writes to its keys.
type ledger struct {
	name string // of the run, part of every key
	tags []tag
	// open are the entries in use, a ring that is written round and round; retired are those that ended in doubt.
	open    []*entry
	retired []*entry
	next    int
	fresh   int // how many keys were made
	lost    int
	wrong   int
	faults  []string
}

// newLedger makes a ledger of as many keys per tag.
func newLedger(name string, tags []tag, keysPerTag int) *ledger {
	l := &ledger{name: name, tags: tags}
	for range keysPerTag {
		for i := range tags {
			l.open = append(l.open, l.make(i))
		}
	}
	return l
}

func (l *ledger) make(tag int) *entry {
	l.fresh++
	return &entry{key: fmt.Sprintf("traffic:%s:{%s}:%d", l.name, l.tags[tag].text, l.fresh)}
}

// turn is the next entry to write to, with its tag. Neighbours on the ring have different tags.
func (l *ledger) turn() (place int, t tag) {
	place = l.next
	l.next = (l.next + 1) % len(l.open)
	return place, l.tags[place%len(l.tags)]
}

// acknowledged records an acknowledged write and judges the value it replaced: an overwrite must not hide that the
// write before it was lost.
func (l *ledger) acknowledged(place int, replaced string) {
	e := l.open[place]
	l.settle(e, replaced)
	e.acked = e.sent
}

// unknown records a write of which nobody knows whether it took place, or will yet: it may lie in the buffers of a
// server that hangs and be carried out after a later one. Its key is never written again, and a new one takes its place.
func (l *ledger) unknown(place int) {
	e := l.open[place]
	e.doubt = true
	l.retired = append(l.retired, e)
	l.open[place] = l.make(place % len(l.tags))
}

// read judges a reading in the middle of the run. A value from the past is a wrong read here, whether or not it is
// still in the past at the end, when it counts as lost.
func (l *ledger) read(place int, value string) {
	e := l.open[place]
	switch e.judge(value) {
	case older:
		if e.blamed != e.acked {
			e.blamed = e.acked
			l.wrong++
			l.blame("read went back", e, value)
		}
	case alien:
		l.wrong++
		l.blame("read", e, value)
	case right:
	}
}

// settle judges the last reading of what an entry holds.
func (l *ledger) settle(e *entry, value string) {
	switch e.judge(value) {
	case older:
		l.lost++
		l.blame("lost", e, value)
	case alien:
		l.wrong++
		l.blame("wrong", e, value)
	case right:
	}
}

// maxFaults is how many faults are told in words; they are alike after that.
const maxFaults = 5

func (l *ledger) blame(what string, e *entry, value string) {
	if len(l.faults) < maxFaults {
		l.faults = append(l.faults, fmt.Sprintf("%s: %s holds %q, number %d was acknowledged", what, e.key, value, e.acked))
	}
}

// written are all entries that were ever sent anything.
func (l *ledger) written() []*entry {
	all := l.retired[:len(l.retired):len(l.retired)]
	for _, e := range l.open {
		if e.sent > 0 {
			all = append(all, e)
		}
	}
	return all
}
