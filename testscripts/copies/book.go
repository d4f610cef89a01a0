package copies

import (
	"time"

	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/topology"
)

// A record is what was seen of one slot.
type record struct {
	owner     string // the id of the primary that answered for it last
	least     int    // the fewest copies
	below     spell  // fewer copies than the target
	headless  spell  // no primary that answers
	failovers int    // the owner changed to a server that was its replica, or new
	moves     int    // the owner changed to another primary
}

// A book holds a record for every slot. Slots that fared alike are told together, so that shards need no name that
// outlasts their members.
type book struct {
	target  int
	began   time.Time
	rounds  int
	slots   [topology.SlotCount]record
	primary map[string]bool // who was a primary in the round before, by id
}

func newBook(target int) *book { return &book{target: target} }

// A holder is a primary as it describes itself.
type holder struct {
	id     string
	epoch  int64
	copies int
}

// enter records one round: what all servers that answer said of themselves, and whether others may be copies too, for
// their first answer is awaited. It says whether a slot has fewer copies
// than the target, and than it ever had.
func (b *book) enter(at time.Time, servers []*engine.Server, awaited bool) (fewer bool) {
	if b.rounds++; b.rounds == 1 {
		b.began = at
	}
	followers, primaries := map[string]int{}, map[string]bool{}
	for _, s := range servers {
		if s.Role == engine.Replica && s.LinkUp {
			followers[s.PrimaryID]++
		}
		if s.Role == engine.Primary {
			primaries[s.ID] = true
		}
	}
	owners := holders(servers, followers)
	for i := range b.slots {
		r := &b.slots[i]
		before, first := r.least, r.owner == ""
		b.note(at, r, owners[i], awaited)
		fewer = fewer || r.owner != "" && r.least < b.target && (first || r.least < before)
	}
	b.primary = primaries
	return fewer
}

// holders finds for each slot the primary that says it is its own. Of two, for a moment after a failover, it is the
// one with the higher epoch, as for Valkey itself.
func holders(servers []*engine.Server, followers map[string]int) [topology.SlotCount]*holder {
	var owners [topology.SlotCount]*holder
	for _, s := range servers {
		if s.Role != engine.Primary || s.Loading {
			continue
		}
		own := &holder{id: s.ID, copies: 1 + followers[s.ID]}
		for _, p := range s.Peers {
			if !p.Myself {
				continue
			}
			own.epoch = p.Epoch
			for _, r := range p.Slots {
				for slot := r.From; slot <= r.To; slot++ {
					if other := owners[slot]; other == nil || other.epoch < own.epoch {
						owners[slot] = own
					}
				}
			}
		}
	}
	return owners
}

// note enters what was seen of one slot. While no primary answers for it its copies are not counted: in a round during
// a hand-over the new primary may be asked a moment before it takes over, and the old one a moment after. Nor are
// they found too few while there may be more.
func (b *book) note(at time.Time, r *record, owner *holder, awaited bool) {
	r.headless.note(at, owner == nil)
	if owner == nil {
		r.below.note(at, r.below.lasts())
		return
	}
	first, few := r.owner == "", owner.copies < b.target
	if few && awaited && !first {
		few = r.below.lasts()
	} else if first || owner.copies < r.least {
		r.least = owner.copies
	}
	r.below.note(at, few)
	if !first && r.owner != owner.id {
		if b.primary[owner.id] {
			r.moves++
		} else {
			r.failovers++
		}
	}
	r.owner = owner.id
}
