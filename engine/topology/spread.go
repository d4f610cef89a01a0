package topology

import (
	"cmp"
	"slices"
)

// Spread picks one of each item's options, so that none is picked more often than
// it must be. An item without options gets "". Of those that are picked least so
// far the first is preferred.
func Spread(options [][]string) []string {
	for room := 1; ; room++ {
		s := spread{options: options, room: room, picked: make([]string, len(options)), holders: map[string][]int{}}
		if s.all() {
			return s.picked
		}
	}
}

// A spread is one attempt: no option may be picked more than room times.
type spread struct {
	options [][]string
	room    int
	picked  []string
	holders map[string][]int
}

func (s *spread) all() bool {
	for item := range s.options {
		if len(s.options[item]) > 0 && !s.place(item, map[string]bool{}) {
			return false
		}
	}
	return true
}

// place picks an option for the item and, where all of its own are taken, moves
// others along to make room for it (augmenting paths of bipartite matching).
func (s *spread) place(item int, tried map[string]bool) bool {
	options := slices.Clone(s.options[item])
	slices.SortStableFunc(options, func(a, b string) int { return cmp.Compare(len(s.holders[a]), len(s.holders[b])) })
	for _, option := range options {
		if !tried[option] && len(s.holders[option]) < s.room {
			s.pick(item, option)
			return true
		}
	}
	for _, option := range options {
		if tried[option] {
			continue
		}
		tried[option] = true
		for at, other := range s.holders[option] {
			if s.place(other, tried) {
				s.holders[option] = append(s.holders[option][:at], s.holders[option][at+1:]...)
				s.pick(item, option)
				return true
			}
		}
	}
	return false
}

func (s *spread) pick(item int, option string) {
	s.picked[item] = option
	s.holders[option] = append(s.holders[option], item)
}
