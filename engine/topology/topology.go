// Package topology is the arithmetic of slots: ranges, sets and even splits.
// It knows nothing of servers, Kubernetes or rules, and imports nothing.
package topology

import "math/bits"

// SlotCount is how many hash slots a Valkey cluster has; fixed by the cluster protocol.
const SlotCount = 16384

// A Range is the slots From to To, both included.
type Range struct {
	From, To int
}

// Len is how many slots the range holds.
func (r Range) Len() int { return r.To - r.From + 1 }

// Even splits all slots into contiguous ranges, one a shard, whose sizes differ
// by at most one. It returns nil for fewer than one shard.
func Even(shards int) []Range {
	if shards < 1 {
		return nil
	}
	out := make([]Range, shards)
	for i := range out {
		out[i] = Range{From: i * SlotCount / shards, To: (i+1)*SlotCount/shards - 1}
	}
	return out
}

// Count is how many slots the ranges hold together; they must not overlap.
func Count(ranges []Range) int {
	n := 0
	for _, r := range ranges {
		n += r.Len()
	}
	return n
}

// A Set is a set of slots. The zero value is empty.
type Set [SlotCount / 64]uint64

// All is the set of every slot.
func All() *Set {
	s := &Set{}
	s.Add(Range{0, SlotCount - 1})
	return s
}

// Add puts a range in. Slots outside 0 to 16383 are ignored.
func (s *Set) Add(ranges ...Range) {
	s.each(ranges, func(word *uint64, mask uint64) { *word |= mask })
}

// Remove takes a range out.
func (s *Set) Remove(ranges ...Range) {
	s.each(ranges, func(word *uint64, mask uint64) { *word &^= mask })
}

// each visits the words that the ranges touch with the mask of the slots touched.
func (s *Set) each(ranges []Range, visit func(word *uint64, mask uint64)) {
	for _, r := range ranges {
		from, to := max(r.From, 0), min(r.To, SlotCount-1)
		for w := from / 64; from <= to && w <= to/64; w++ {
			low, high := max(from-w*64, 0), min(to-w*64, 63)
			visit(&s[w], (^uint64(0)<<low)&(^uint64(0)>>(63-high)))
		}
	}
}

// Overlaps says whether any slot of the ranges is in the set.
func (s *Set) Overlaps(ranges ...Range) bool {
	hit := false
	s.each(ranges, func(word *uint64, mask uint64) { hit = hit || *word&mask != 0 })
	return hit
}

// Within returns the ranges of the set's slots that lie in r.
func (s *Set) Within(r Range) []Range {
	part := *s
	part.Remove(Range{0, r.From - 1}, Range{r.To + 1, SlotCount - 1})
	return part.Ranges()
}

// Count is how many slots the set holds.
func (s *Set) Count() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// Ranges returns the set as the fewest ranges, in order.
func (s *Set) Ranges() []Range {
	var out []Range
	for slot := 0; slot < SlotCount; {
		slot = s.next(slot, true)
		if slot == SlotCount {
			break
		}
		end := s.next(slot, false)
		out = append(out, Range{slot, end - 1})
		slot = end
	}
	return out
}

// next is the first slot from `from` on that is in the set, or is not, as asked;
// SlotCount when there is none.
func (s *Set) next(from int, in bool) int {
	for w := from / 64; w < len(s); w++ {
		word := s[w]
		if !in {
			word = ^word
		}
		if w == from/64 {
			word &= ^uint64(0) << (from % 64)
		}
		if word != 0 {
			return w*64 + bits.TrailingZeros64(word)
		}
	}
	return SlotCount
}
