// Package timeline is the one order in which all happens in a simulated world, and its clock.
//
// Nothing in the world has a goroutine of its own: what is to happen is put on the line, and happens when somebody who
// has come to that time, or later, takes hold of the world. So what many goroutines see at one time does not depend on
// which of them was first.
package timeline

import (
	"container/heap"
	"strconv"
	"sync"
	"time"
)

// A Line holds what is to happen. Make it with New.
type Line struct {
	mu     sync.Mutex
	seeded uint64 // the hash of the seed
	now    time.Time
	events events
	made   int
}

// New is an empty line. All chance in the world comes from the seed.
func New(seed uint64) *Line {
	return &Line{seeded: fnv(fnvOffset, strconv.FormatUint(seed, 16)), now: time.Now()}
}

// Hold takes hold of the world as it is now: all that is due has happened. The caller must let it go.
func (l *Line) Hold() {
	l.mu.Lock()
	l.until(time.Now())
}

// LetGo ends a Hold.
func (l *Line) LetGo() { l.mu.Unlock() }

// until lets happen what is due; each thing at its own time.
func (l *Line) until(now time.Time) {
	for len(l.events) > 0 && !l.events[0].at.After(now) {
		next, ok := heap.Pop(&l.events).(event)
		if !ok {
			return
		}
		l.now = next.at
		next.do()
	}
	l.now = now
}

// Now is the time in the world, which must be held.
func (l *Line) Now() time.Time { return l.now }

// After puts on the line what is to happen after a while. The world must be held.
func (l *Line) After(d time.Duration, do func()) { l.At(l.now.Add(d), do) }

// At puts on the line what is to happen at a time. The world must be held.
func (l *Line) At(at time.Time, do func()) {
	l.made++
	heap.Push(&l.events, event{at: at, made: l.made, do: do})
}

// Next is when something is to happen next, the zero time when nothing is. The world must not be held.
func (l *Line) Next() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.events) == 0 {
		return time.Time{}
	}
	return l.events[0].at
}

// Chance is a number from 0 on and below 1 that belongs to these words at this time. It needs no hold, and does not
// depend on who else has asked: the same words at the same time have the same chance in every run of a seed.
func (l *Line) Chance(words ...string) float64 {
	var digits [20]byte
	h := fnv(l.seeded, string(strconv.AppendInt(digits[:0], time.Now().UnixNano(), 16)))
	for _, w := range words {
		h = fnv(fnv(h, "\x00"), w)
	}
	return float64(mix(h)>>11) / (1 << 53)
}

// fnvOffset and fnvPrime are those of FNV-1a with 64 bits.
const (
	fnvOffset uint64 = 14695981039346656037
	fnvPrime  uint64 = 1099511628211
)

// fnv goes on with a hash (FNV-1a): chance is asked for at every ping, and the words are short.
func fnv(h uint64, text string) uint64 {
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * fnvPrime
	}
	return h
}

// Between is a time from one to the other by chance.
func (l *Line) Between(least, most time.Duration, words ...string) time.Duration {
	return least + time.Duration(l.Chance(words...)*float64(most-least))
}

// mix spreads what FNV leaves in the low bits over all of them (the finalizer of MurmurHash3).
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// An event is one thing that is to happen.
type event struct {
	at   time.Time
	made int
	do   func()
}

// events are a heap: the earliest first and, of one time, the first made.
type events []event

func (e events) Len() int { return len(e) }

func (e events) Less(i, j int) bool {
	if !e[i].at.Equal(e[j].at) {
		return e[i].at.Before(e[j].at)
	}
	return e[i].made < e[j].made
}

func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

// Push implements heap.Interface.
func (e *events) Push(x any) {
	if one, ok := x.(event); ok {
		*e = append(*e, one)
	}
}

// Pop implements heap.Interface.
func (e *events) Pop() any {
	last := len(*e) - 1
	one := (*e)[last]
	(*e)[last] = event{}
	*e = (*e)[:last]
	return one
}
