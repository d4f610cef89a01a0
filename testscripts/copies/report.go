package copies

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"valkey.gomomento.com/operator/engine/topology"
)

// A Fate is how some slots fared.
type Fate struct {
	// Least is the fewest synced copies that there ever were, Below the longest time with fewer than the target.
	Least int
	Below Spell
	// Headless is the longest time for which no primary answered.
	Headless Spell
	// Failovers is how often the owner changed to a replica, Moves how often to another primary.
	Failovers, Moves int
}

// A Group is all slots of one fate: a shard's, or those that moved between the same two.
type Group struct {
	Ranges []topology.Range
	Fate
}

// A Report is what a watch has seen.
type Report struct {
	Began          time.Time
	Rounds, Target int
	// Worst is the worst of all groups in each respect.
	Worst  Fate
	Groups []Group
	// Lows are what servers said in rounds in which slots had fewer copies than the target, and than ever before.
	Lows []string
	// Err is why the servers were not known at times; then there were no rounds.
	Err error
}

func (b *book) report(at time.Time, errs []error) Report {
	rep := Report{Began: b.began, Rounds: b.rounds, Target: b.target, Err: errors.Join(errs...)}
	places := map[Fate]int{}
	for slot := range b.slots {
		fate := b.slots[slot].fate(at)
		place, found := places[fate]
		if !found {
			place = len(rep.Groups)
			places[fate] = place
			rep.Groups = append(rep.Groups, Group{Fate: fate})
		}
		rep.Groups[place].add(slot)
	}
	rep.Worst = rep.Groups[0].Fate
	for _, g := range rep.Groups[1:] {
		rep.Worst = worse(rep.Worst, g.Fate)
	}
	return rep
}

func (r *record) fate(at time.Time) Fate {
	return Fate{Least: r.least, Below: r.below.sum(at), Headless: r.headless.sum(at), Failovers: r.failovers, Moves: r.moves}
}

func (g *Group) add(slot int) {
	if n := len(g.Ranges); n > 0 && g.Ranges[n-1].To == slot-1 {
		g.Ranges[n-1].To = slot
		return
	}
	g.Ranges = append(g.Ranges, topology.Range{From: slot, To: slot})
}

func worse(a, b Fate) Fate {
	return Fate{
		Least: min(a.Least, b.Least), Below: longer(a.Below, b.Below), Headless: longer(a.Headless, b.Headless),
		Failovers: max(a.Failovers, b.Failovers), Moves: max(a.Moves, b.Moves),
	}
}

// longer is the longer spell, the earlier one of two that are alike.
func longer(a, b Spell) Spell {
	if a.Rounds == 0 || b.Rounds > 0 && (b.Length > a.Length || b.Length == a.Length && b.From.Before(a.From)) {
		return b
	}
	return a
}

// String tells the report, a group of slots a line.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d rounds, %d copies of every slot wanted\n", r.Rounds, r.Target)
	for _, g := range r.Groups {
		for _, s := range g.Ranges {
			fmt.Fprintf(&b, "%d-%d ", s.From, s.To)
		}
		fmt.Fprintf(&b, "at least %d copies; too few for %s; no primary for %s; %d failovers, %d moves\n",
			g.Least, r.tell(g.Below), r.tell(g.Headless), g.Failovers, g.Moves)
	}
	for _, low := range r.Lows {
		b.WriteString(low)
	}
	if r.Err != nil {
		fmt.Fprintf(&b, "servers not known: %v\n", r.Err)
	}
	return b.String()
}

// tellLow is what every server said in a round, a server a line.
func tellLow(since time.Duration, heard map[string]answer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "fewer copies than ever at +%.1fs:\n", since.Seconds())
	for _, name := range slices.Sorted(maps.Keys(heard)) {
		a := heard[name]
		fmt.Fprintf(&b, "  %s %s, a %s of %q, linked %t, asked at %s, stream %+v\n",
			name, a.server.ID, a.server.Role, a.server.PrimaryID, a.server.LinkUp, a.at.Format("05.000"), a.stream)
	}
	return b.String()
}

func (r Report) tell(s Spell) string {
	if s.Rounds == 0 {
		return "0ms"
	}
	return fmt.Sprintf("%dms (%d rounds from +%.1fs)", s.Length.Milliseconds(), s.Rounds, s.From.Sub(r.Began).Seconds())
}
