package model

import (
	"fmt"
	"slices"
	"time"
)

// A strike is a time in which a fault was on a server.
type strike struct {
	from, to time.Time // to is zero while it lasts
	// deleted says that it was told to go, with time to hand over.
	deleted bool
}

// Struck notes that a fault begins on the server.
func (s *Server) Struck() { s.struck = append(s.struck, strike{from: s.cluster.Line.Now()}) }

// Deleted notes that somebody has deleted the server's Pod.
func (s *Server) Deleted() {
	s.struck = append(s.struck, strike{from: s.cluster.Line.Now(), deleted: true})
}

// Attached notes that somebody has attached the server to another primary by hand: what it held is thrown away, and it may
// be elected before it has a copy of what that one holds.
func (s *Server) Attached() {
	s.Struck()
	s.attached = true
}

// Recovered notes that all faults on the server have ended.
func (s *Server) Recovered() {
	for i := range s.struck {
		if s.alive && !s.struck[i].deleted && s.struck[i].to.IsZero() {
			s.struck[i].to = s.cluster.Line.Now()
		}
	}
}

// Hurt says that a fault was on the server in the time since.
func (s *Server) Hurt(since time.Time) bool {
	return slices.ContainsFunc(s.struck, func(x strike) bool { return x.to.IsZero() || x.to.After(since) })
}

// Kill ends the process at once. What it has sent is delivered by its machine.
func (s *Server) Kill() { s.end(137) }

func (s *Server) end(code int32) {
	if !s.alive {
		return
	}
	for _, r := range s.cluster.servers {
		if r.runs() && r.copy.up && r.copy.stream == s.copy.stream && r != s && s.primary == "" && s.talksWhileEnding(r) {
			r.copy.drain(r)
		}
	}
	s.alive, s.hung = false, false
	s.cluster.Broke(s)
	s.cluster.Ended(s, code)
}

func (s *Server) talksWhileEnding(r *Server) bool { return s.reaches(r) }

// Vanish ends the process without a packet: its machine has lost power.
func (s *Server) Vanish() { s.alive, s.hung, s.dark = false, false, true }

// Unplug takes the address away.
func (s *Server) Unplug() { s.plugged = false }

// Hang stops the process, Resume lets it go on.
func (s *Server) Hang() { s.hung = s.alive }

// Resume lets a process that hangs go on.
func (s *Server) Resume() { s.hung = false }

// endDelay is how long a server that is told to end takes.
const endDelay = 40 * time.Millisecond

// Terminate asks the server to end. A primary with shutdown-on-sigterm failover hands its slots to a replica first.
func (s *Server) Terminate() {
	if !s.runs() {
		return
	}
	delay := endDelay
	if heir := s.bestReplica(); s.Settings["shutdown-on-sigterm"] == "failover" && heir != nil && s.Slots() > 0 {
		delay = time.Second
		s.pausedUntil = s.cluster.Line.Now().Add(manualTimeout)
		begin := func() {
			if s.runs() && heir.runs() && heir.primary == s.ID {
				heir.copy.drain(heir)
				heir.forceFailover()
			}
		}
		wait := max(0, heir.copy.flows.Sub(s.cluster.Line.Now()))
		delay += wait
		s.cluster.Line.After(wait, begin)
	}
	s.cluster.Line.After(delay, func() { s.end(0) })
}

// bestReplica is the replica in sync that has most of the data.
func (s *Server) bestReplica() *Server {
	var best *Server
	for _, r := range s.cluster.servers {
		if r.runs() && r.primary == s.ID && r.copy.up && s.talksTo(r) && (best == nil || r.copy.offset > best.copy.offset) {
			best = r
		}
	}
	return best
}

// Lost are acknowledged writes that no server serves any more although no fault can have cost them: the server that took one
// in was well then, and one that had it lives and has been well since. Whether an operator may end a server is judged when
// it does.
func (c *Cluster) Lost() []string {
	var lost []string
	for _, key := range c.Keys {
		kept := map[*entry]bool{}
		if s := c.Server(key.Slot); s != nil {
			for e := s.copy.data[key]; e != nil; e = e.prev {
				kept[e] = true
			}
		}
		missing := slices.DeleteFunc(slices.Clone(key.acked), func(e *entry) bool { return kept[e] || c.excused(e) })
		if n := len(missing); n > 0 && !c.ofAMoment(missing) {
			lost = append(lost, fmt.Sprintf("%d writes to slot %d, from number %d, which %s took in, to %d", n, key.Slot, missing[0].n, missing[0].by.Name, missing[n-1].n))
		}
	}
	return lost
}

// ofAMoment says that the writes are no more than the replication lag of one of the failovers that Valkey itself brings about
// after a fault on the shard.
func (c *Cluster) ofAMoment(lost []*entry) bool {
	first, last := lost[0], lost[len(lost)-1]
	return last.at.Sub(first.at) < excuse && slices.ContainsFunc(c.servers, func(s *Server) bool {
		return s.shard == first.by.shard && s.Hurt(first.at.Add(-doubt))
	})
}

// Writes counts the acknowledged writes and those of them that are lost, excused or not.
func (c *Cluster) Writes() (acked, lost int) {
	for _, key := range c.Keys {
		acked += len(key.acked)
		s := c.Server(key.Slot)
		if s == nil {
			lost += len(key.acked)
			continue
		}
		kept := 0
		for e := s.copy.data[key]; e != nil; e = e.prev {
			kept++
		}
		lost += len(key.acked) - kept
	}
	return acked, lost
}

// Server is the primary that serves the slot by its own word, the one with the highest epoch; nil when there is none.
func (c *Cluster) Server(slot int) *Server {
	var best *Server
	for _, s := range c.servers {
		if s.runs() && s.primary == "" && s.slots.owner(slot) == s.ID && (best == nil || s.epoch > best.epoch) {
			best = s
		}
	}
	return best
}

// excuse is how long before a fault on the server that took it in a write may be lost with it: the replication lag. doubt is
// how long after a partition or a hang others may still replace it: voters believe in its failure for two node timeouts.
const (
	excuse = time.Second
	doubt  = 12 * time.Second
)

func (c *Cluster) excused(e *entry) bool {
	if e.at.Before(c.spoilt[e.by.shard]) {
		return true
	}
	for _, x := range e.by.struck {
		if !x.deleted && !e.at.Before(x.from.Add(-excuse-e.by.Lag)) && (x.to.IsZero() || !e.at.After(x.to.Add(doubt))) {
			return true
		}
	}
	return !slices.ContainsFunc(e.holders, func(s *Server) bool { return s.alive && !s.Hurt(e.at) })
}
