package model

import (
	"slices"
	"strings"
	"time"

	"valkey.gomomento.com/operator/engine"
)

// A peer is what one server knows of another.
type peer struct {
	of      *Server
	id, ip  string
	primary string
	shard   string // the shard id that it last told
	epoch   int64
	offset  int64
	// next is when it is pinged next; asked is when it was pinged without an answer so far, zero when it owes none.
	next, asked time.Time
	pfail, fail bool
	failedAt    time.Time
	// reports are the times at which voters said that they do not reach it.
	reports map[string]time.Time
	// learned are the versions of both sides at the last exchange, and met those at the last one after which all whom the
	// other knows were known.
	learned, met [2]int
}

// unknown stands for the primary of a replica that is only known by gossip.
const unknown = "-"

func byPeerID(p *peer, id string) int { return strings.Compare(p.id, id) }

// peer is what the server knows of the id, nil when nothing.
func (s *Server) peer(id string) *peer {
	if other := s.cluster.byID(id); other != nil {
		return s.known(other)
	}
	return nil
}

// knownOrNone is known of another that may be nil.
func (s *Server) knownOrNone(other *Server) *peer {
	if other == nil {
		return nil
	}
	return s.known(other)
}

// known is what the server knows of another, nil when nothing.
func (s *Server) known(other *Server) *peer {
	if other.n < len(s.byNumber) {
		return s.byNumber[other.n]
	}
	return nil
}

// tend is what a server does at every tick.
func (s *Server) tend() {
	now := s.cluster.Line.Now()
	s.meeting = slices.DeleteFunc(s.meeting, func(m meeting) bool { return now.After(m.until) })
	for _, p := range s.peers {
		s.ping(p, now)
	}
	s.judge(now)
	s.updateState(now)
	s.stand(now)
}

// ping exchanges views with a peer when it is time to.
func (s *Server) ping(p *peer, now time.Time) {
	early := now.Before(p.next) && !s.unlinked(p)
	if early && p.asked.IsZero() {
		return
	}
	other := p.of
	answers := other.IP == p.ip && s.talksTo(other)
	if early && answers || s.known(other) != p {
		return
	}
	// Every second a random one is pinged, and each at the latest after half the node timeout.
	p.next = now.Add(min(s.timeout()/2, s.cluster.Line.Between(300*time.Millisecond, 1500*time.Millisecond, s.ID, p.id)))
	if !answers {
		if p.asked.IsZero() {
			p.asked = now
		}
		return
	}
	other.receive(s)
	s.receive(other)
	p.asked, p.pfail = time.Time{}, false
	s.absolve(p, now)
}

// unlinked says that the server knows its link to the peer to be broken: nobody listens there.
func (s *Server) unlinked(p *peer) bool {
	other := p.of
	return other.refuses() && other.IP == p.ip && !s.cluster.Net.Cut(s.Name, other.Name)
}

// broadcast sends the server's view to all that it reaches.
func (s *Server) broadcast() {
	for _, p := range slices.Clone(s.peers) {
		if p.of.IP == p.ip && s.reaches(p.of) {
			p.of.receive(s)
		}
	}
}

// receive takes in what another says of itself and of others. One that is not known is not listened to.
func (s *Server) receive(from *Server) {
	p := s.known(from)
	if p == nil || p.ip != from.IP {
		return
	}
	s.current = max(s.current, from.current)
	if p.primary == "" && from.primary != "" && s.stepsDown(p, from) {
		return
	}
	if p.primary != from.primary || p.epoch != from.epoch {
		p.primary, p.epoch = from.primary, from.epoch
		s.version++
		s.shortenChain()
	}
	p.offset, p.shard = from.copy.offset, from.shard
	if seen := [2]int{from.version, s.version}; p.learned != seen {
		s.learnSlots(from)
		s.collide(from)
		p.learned = [2]int{from.version, s.version}
	}
	if seen := [2]int{from.version, s.version}; p.met != seen && s.acquaint(from) {
		p.met = [2]int{from.version, s.version}
	}
	s.hearReports(from)
	s.hearBans(from)
}

// stepsDown takes in that a primary has become a replica, and with it that its new primary is one, whose own word may come
// later. It says whether the message is older than what is known.
func (s *Server) stepsDown(p *peer, from *Server) (stale bool) {
	head := s.peer(from.primary)
	switch {
	case head == nil:
	case p.shard != head.shard:
		s.give("", s.slots.of(p.id)...)
	case max(p.epoch, s.epochOfLine(head)) > from.lineEpoch():
		return true
	case head.primary != "":
		s.give(head.id, s.slots.of(p.id)...)
		head.primary, head.epoch = "", from.lineEpoch()
	}
	return false
}

// shortenChain lets a replica of a replica follow whom that one follows ("I'm a sub-replica!" in clusterProcessPacket).
func (s *Server) shortenChain() {
	head := s.peer(s.primary)
	if head == nil {
		return
	}
	if next := s.peer(head.primary); next != nil && next.primary == "" {
		s.follow(next.id)
	}
}

// learnSlots takes in the claims of a primary. What another holds by a higher epoch stays, and the one who claims it is told.
func (s *Server) learnSlots(from *Server) {
	if from.primary != "" {
		return
	}
	for _, better := range s.learn(from.ID, from.epoch, from.slots.of(from.ID)) {
		s.tellUpdate(from, better)
	}
}

// tellUpdate lets another know who owns slots by a higher epoch than it says (clusterSendUpdate).
func (s *Server) tellUpdate(other *Server, owner string) {
	if s.reaches(other) && (owner == s.ID || s.peer(owner) != nil) {
		other.update(owner, s.epochOf(owner), s.slots.of(owner))
	}
}

// update takes in what a third has said of who owns slots by a higher epoch.
func (s *Server) update(id string, epoch int64, slots []engine.SlotRange) {
	p := s.peer(id)
	if p == nil || p.epoch >= epoch && len(s.slots.of(id)) > 0 {
		return
	}
	p.primary, p.epoch = "", max(p.epoch, epoch)
	s.learn(id, epoch, slots)
}

// learn takes in claims and returns the ids of those who hold some of the slots by a higher epoch. A server that has lost
// its last slot to one of its own shard, or to one that has got nothing else, becomes its replica, and so do its replicas
// (clusterUpdateSlotsConfigWith).
func (s *Server) learn(id string, epoch int64, claims []engine.SlotRange) (better []string) {
	head := s.ID
	if s.primary != "" {
		head = s.primary
	}
	had, lost := s.slots.count(head), 0
	for _, part := range s.partsOf(claims) {
		switch {
		case part.id == id:
		case part.id != "" && s.epochOf(part.id) >= epoch:
			better = append(better, part.id)
		default:
			if part.id == head {
				lost += part.Len()
			}
			s.give(id, part.SlotRange)
		}
	}
	slices.Sort(better)
	better = slices.Compact(better)
	switch {
	case lost == 0:
	case lost == had && (s.slots.count(id) == lost || s.inShardOf(id)):
		s.follow(id)
	case s.primary == "":
		s.dropDirty()
	}
	return better
}

// partsOf are ranges by their owners in the server's view.
func (s *Server) partsOf(ranges []engine.SlotRange) table {
	var parts table
	for _, r := range ranges {
		parts = append(parts, s.slots.within(r)...)
	}
	return parts
}

// inShardOf says that the server has the shard id of the other.
func (s *Server) inShardOf(id string) bool {
	other := s.cluster.byID(id)
	return other != nil && other.shard == s.shard
}

// dropDirty throws away the keys of slots that are not its any more.
func (s *Server) dropDirty() {
	for key := range s.copy.data {
		if s.slots.owner(key.Slot) != s.ID {
			delete(s.copy.data, key)
		}
	}
}

// epochOf is the config epoch of an id in the server's view.
func (s *Server) epochOf(id string) int64 {
	if id == s.ID {
		return s.epoch
	}
	if p := s.peer(id); p != nil {
		return p.epoch
	}
	return 0
}

// collide gives one of two primaries with one epoch another.
func (s *Server) collide(from *Server) {
	if s.primary == "" && from.primary == "" && s.epoch == from.epoch && from.ID > s.ID {
		s.current++
		s.epoch = s.current
		s.version++
	}
}
