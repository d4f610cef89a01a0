package copies

import "time"

// A Spell is the longest time for which something lasted, with its number of rounds. None is the zero Spell.
type Spell struct {
	Length time.Duration
	From   time.Time
	Rounds int
}

// A spell measures how long something lasts, from the first round that sees it to the first that does not.
type spell struct {
	since   time.Time // zero while it does not last
	rounds  int
	longest Spell
}

// lasts says that it was so in the last round.
func (s *spell) lasts() bool { return !s.since.IsZero() }

// note enters a round.
func (s *spell) note(at time.Time, so bool) {
	if so && !s.lasts() {
		s.since, s.rounds = at, 0
	}
	if so {
		s.rounds++
	} else if s.lasts() {
		s.longest = s.sum(at)
		s.since = time.Time{}
	}
}

// sum is the longest spell, the one that lasts included.
func (s *spell) sum(at time.Time) Spell {
	if !s.lasts() {
		return s.longest
	}
	return longer(s.longest, Spell{Length: at.Sub(s.since), From: s.since, Rounds: s.rounds})
}
