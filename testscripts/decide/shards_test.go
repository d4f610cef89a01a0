package decide

import (
	"fmt"
	"slices"

	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/topology"
)

// succeed makes the heir the primary, and all others of its shard follow it.
func (w *world) succeed(s engine.Succession) {
	heir := w.node(s.Node).Server
	me := heir.Self()
	me.Slots = heir.Peer(s.PrimaryID).Slots
	heir.Role, heir.PrimaryID, heir.LinkUp = engine.Primary, "", false
	me.Role, me.PrimaryID = engine.Primary, ""
	heir.CurrentEpoch++
	me.Epoch = heir.CurrentEpoch
	for i := range w.Nodes {
		other := w.Nodes[i].Server
		if other == nil || other == heir {
			continue
		}
		if p := other.Peer(s.PrimaryID); p != nil && !slices.Contains(w.deaf, w.Nodes[i].Name) {
			p.Slots = nil
		}
		if other.ID == s.PrimaryID || other.PrimaryID == s.PrimaryID {
			w.follow(other, heir.ID)
		}
	}
	if p := heir.Peer(s.PrimaryID); p != nil {
		p.Slots = nil
	}
}

// retire takes the node away and out of everybody's memory.
func (w *world) retire(r engine.Retirement) {
	w.Nodes = slices.DeleteFunc(w.Nodes, func(n engine.Node) bool { return n.Name == r.Node })
	w.forget(engine.Oblivion{ID: r.ID, By: r.By})
}

// move hands slots over at once.
func (w *world) move(moves []engine.Move) {
	for _, m := range moves {
		from, to := w.node(m.From).Server, w.node(m.To).Server
		var left, gained topology.Set
		left.Add(from.Self().Slots...)
		left.Remove(m.Slots...)
		gained.Add(to.Self().Slots...)
		gained.Add(m.Slots...)
		from.Self().Slots, to.Self().Slots = left.Ranges(), gained.Ranges()
		from.Marks, to.Marks = nil, nil
	}
}

// addJob lets a slot migration job be in a state between two nodes.
func (w *world) addJob(from, to, slots, state, message string) error {
	var r engine.SlotRange
	if _, err := fmt.Sscanf(slots, "%d-%d", &r.From, &r.To); err != nil {
		return fmt.Errorf("slots %s: %w", slots, err)
	}
	job := engine.SlotMigration{
		Name: "job", Slots: []engine.SlotRange{r}, SourceID: id(from), TargetID: id(to), State: state, Message: message, Updated: w.At,
	}
	into := w.node(to).Server
	into.Migrations = append(into.Migrations, job)
	job.Export = true
	out := w.node(from).Server
	out.Migrations = append(out.Migrations, job)
	return nil
}

// divert lets a job end at a server that has been replaced meanwhile: it is a primary beside its successor.
func (w *world) divert(from, to, slots string) error {
	var r engine.SlotRange
	if _, err := fmt.Sscanf(slots, "%d-%d", &r.From, &r.To); err != nil {
		return fmt.Errorf("slots %s: %w", slots, err)
	}
	s := w.node(to).Server
	me := s.Self()
	s.Role, s.PrimaryID, s.LinkUp = engine.Primary, "", false
	me.Role, me.PrimaryID = engine.Primary, ""
	w.move([]engine.Move{{From: from, To: to, Slots: []engine.SlotRange{r}}})
	w.gossip()
	return nil
}

// mark marks a slot as on the move at the source alone, as an operator that is killed between two commands leaves it.
func (w *world) mark(from, to string, slot int) {
	s := w.node(from).Server
	s.Marks = append(s.Marks, engine.SlotMark{Slot: slot, PeerID: id(to)})
}

// loseSight lets a server reach another one no longer, and hear no news until it gains them again.
func (w *world) loseSight(name, other string) {
	w.deaf = append(w.deaf, name)
	p := w.node(name).Server.Peer(w.node(other).Server.ID)
	p.Linked, p.Suspected = false, true
}
