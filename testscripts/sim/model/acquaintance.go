package model

import (
	"slices"
	"time"
)

// acquaint makes those known whom another knows, in the state in which it sees them. Gossip tells neither an epoch nor whom a
// replica follows nor who holds which slots: that is for each to say of itself, and of the dead nobody does. It says whether
// all are known now, and none is banned.
func (s *Server) acquaint(from *Server) (all bool) {
	all = true
	for _, p := range from.peers {
		switch {
		case p.of == s || s.known(p.of) != nil:
		case s.bans(p.id):
			all = false
		default:
			primary := p.primary
			if primary != "" {
				primary = unknown
			}
			s.add(&peer{of: p.of, id: p.id, ip: p.ip, primary: primary, pfail: p.pfail, fail: p.fail})
		}
	}
	return all
}

func (s *Server) bans(id string) bool { return s.cluster.Line.Now().Before(s.banned[id]) }

// meet begins a handshake with whoever is at the address.
func (s *Server) meet(ip string) {
	if slices.ContainsFunc(s.meeting, func(m meeting) bool { return m.ip == ip }) {
		return
	}
	now := s.cluster.Line.Now()
	s.meeting = append(s.meeting, meeting{ip: ip, until: now.Add(max(s.timeout(), time.Second))})
	s.cluster.Line.After(s.cluster.Line.Between(5*time.Millisecond, 120*time.Millisecond, s.ID, ip), func() {
		other := s.cluster.at(ip)
		if other == nil || other == s || !s.runs() || !s.talksTo(other) {
			return
		}
		s.meeting = slices.DeleteFunc(s.meeting, func(m meeting) bool { return m.ip == ip })
		s.admit(other) // whoever is introduced is let in although he is banned, until he is spoken of again
		other.admit(s)
		s.receive(other)
		other.receive(s)
	})
}

// admit makes another known.
func (s *Server) admit(other *Server) {
	if p := s.known(other); p != nil {
		p.ip = other.IP
		return
	}
	s.add(&peer{of: other, id: other.ID, ip: other.IP, primary: other.primary, epoch: other.epoch})
}

func (s *Server) add(p *peer) {
	p.reports = map[string]time.Time{}
	at, _ := slices.BinarySearchFunc(s.peers, p.id, byPeerID)
	s.peers = slices.Insert(s.peers, at, p)
	if more := p.of.n + 1 - len(s.byNumber); more > 0 {
		s.byNumber = append(s.byNumber, make([]*peer, more)...)
	}
	s.byNumber[p.of.n] = p
	s.version++
}

// hearBans forgets those whom another has been told to, which it says with every ping until their time is over
// (writePingExtensions). So a living member that somebody had forgotten comes and goes for as long as it is banned.
func (s *Server) hearBans(from *Server) {
	now := s.cluster.Line.Now()
	var told []string
	for id, until := range from.banned {
		if s.peer(id) != nil && now.Before(until) {
			told = append(told, id)
		}
	}
	slices.Sort(told)
	for _, id := range told {
		s.drop(id, from.banned[id].Sub(now))
	}
}

// forget drops a peer for a while, and lets the others do the same.
func (s *Server) forget(id string, ttl time.Duration) {
	if !s.drop(id, ttl) {
		return
	}
	for _, p := range slices.Clone(s.peers) {
		if s.reaches(p.of) {
			p.of.forget(id, ttl)
		}
	}
}

// drop forgets a peer, and says whether it knew it.
func (s *Server) drop(id string, ttl time.Duration) bool {
	i, found := slices.BinarySearchFunc(s.peers, id, byPeerID)
	if !found || s.primary == id {
		return false
	}
	s.byNumber[s.peers[i].of.n] = nil
	s.peers = append(s.peers[:i:i], s.peers[i+1:]...) // a new one, since the old one may be gone through just now
	s.banned[id] = s.cluster.Line.Now().Add(ttl)
	s.give("", s.slots.of(id)...)
	return true
}
