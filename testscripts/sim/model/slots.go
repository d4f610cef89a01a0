package model

import (
	"slices"
	"strings"

	"valkey.gomomento.com/operator/engine"
)

// A table says who owns which slots, in one server's view: ranges in their order, no two of which overlap.
type table []segment

type segment struct {
	engine.SlotRange
	id string
}

// of are the slots that the table gives to the id.
func (t table) of(id string) []engine.SlotRange {
	var ranges []engine.SlotRange
	for _, seg := range t {
		if seg.id == id {
			ranges = append(ranges, seg.SlotRange)
		}
	}
	return ranges
}

func (t table) count(id string) int {
	n := 0
	for _, seg := range t {
		if seg.id == id {
			n += seg.Len()
		}
	}
	return n
}

// owner is whose a slot is, "" when nobody's.
func (t table) owner(slot int) string {
	for _, seg := range t {
		if seg.From <= slot && slot <= seg.To {
			return seg.id
		}
	}
	return ""
}

// owners are all ids that own slots, sorted.
func (t table) owners() []string {
	var ids []string
	for _, seg := range t {
		if !slices.Contains(ids, seg.id) {
			ids = append(ids, seg.id)
		}
	}
	slices.Sort(ids)
	return ids
}

// within are the parts of a range by their owner, "" for what is nobody's.
func (t table) within(r engine.SlotRange) table {
	var parts table
	next := r.From
	for _, seg := range t {
		if seg.To < r.From || seg.From > r.To {
			continue
		}
		from, to := max(seg.From, r.From), min(seg.To, r.To)
		if from > next {
			parts = append(parts, segment{engine.SlotRange{From: next, To: from - 1}, ""})
		}
		parts = append(parts, segment{engine.SlotRange{From: from, To: to}, seg.id})
		next = to + 1
	}
	if next <= r.To {
		parts = append(parts, segment{engine.SlotRange{From: next, To: r.To}, ""})
	}
	return parts
}

// assign is the table with the range given to the id, or to nobody.
func (t table) assign(r engine.SlotRange, id string) table {
	out := make(table, 0, len(t)+2)
	for _, seg := range t {
		if seg.To < r.From || seg.From > r.To {
			out = append(out, seg)
			continue
		}
		if seg.From < r.From {
			out = append(out, segment{engine.SlotRange{From: seg.From, To: r.From - 1}, seg.id})
		}
		if seg.To > r.To {
			out = append(out, segment{engine.SlotRange{From: r.To + 1, To: seg.To}, seg.id})
		}
	}
	if id != "" {
		out = append(out, segment{r, id})
	}
	slices.SortFunc(out, func(a, b segment) int { return a.From - b.From })
	return out.joined()
}

// joined is the table with neighbours of one owner made one.
func (t table) joined() table {
	out := t[:0]
	for _, seg := range t {
		if last := len(out) - 1; last >= 0 && out[last].id == seg.id && out[last].To+1 == seg.From {
			out[last].To = seg.To
			continue
		}
		out = append(out, seg)
	}
	return out
}

// give changes the server's view of who owns slots.
func (s *Server) give(id string, ranges ...engine.SlotRange) {
	for _, r := range ranges {
		s.slots = s.slots.assign(r, id)
	}
	s.version++
}

// A holding is an owner of slots in a server's view.
type holding struct {
	id     string
	of     *Server // nil when no server has ever had the id
	ranges []engine.SlotRange
}

// holdings are the owners of slots in the server's view, sorted by id: until the view changes they are computed once. They
// must not be changed.
func (s *Server) holdings() []holding {
	if s.ownersAt != s.version {
		s.owners, s.ownersAt = nil, s.version
		for _, id := range s.slots.owners() {
			s.owners = append(s.owners, holding{id: id, of: s.cluster.byID(id), ranges: s.slots.of(id)})
		}
	}
	return s.owners
}

// slotsOf are the slots of an id in the server's view. They must not be changed.
func (s *Server) slotsOf(id string) []engine.SlotRange {
	all := s.holdings()
	i, found := slices.BinarySearchFunc(all, id, func(h holding, id string) int { return strings.Compare(h.id, id) })
	if !found {
		return nil
	}
	return all[i].ranges
}

// voters are those who may vote, in the server's view: primaries that have slots. They must not be changed.
func (s *Server) voters() []holding { return s.holdings() }

// isVoter says that the server itself may vote.
func (s *Server) isVoter() bool { return s.primary == "" && len(s.slotsOf(s.ID)) > 0 }
