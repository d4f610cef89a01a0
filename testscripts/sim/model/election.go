package model

import (
	"slices"
	"time"
)

const (
	// mostWait is how long a replica waits at most before it stands for election, and as much again by chance; waitPart is
	// how many times shorter than the node timeout it is (since 9.0).
	mostWait = 500 * time.Millisecond
	waitPart = 30
	// rankWait is how much longer for each other replica that has more of the data.
	rankWait = time.Second
	// manualTimeout is how long a primary lets writes wait for a manual failover.
	manualTimeout = 5 * time.Second
	// voteTime is how long votes are on their way.
	voteTime = 8 * time.Millisecond
)

// An election is a replica's wish to be primary.
type election struct {
	at    time.Time
	epoch int64
	asked bool
	// forced says that voters need not think that the primary has failed.
	forced bool
	// agreed says that the primary has let writes wait for it.
	agreed bool
	until  time.Time
}

// stand begins, holds or gives up an election when it is time to (clusterHandleReplicaFailover).
func (s *Server) stand(now time.Time) {
	if s.primary == "" {
		s.election = nil
		return
	}
	if e := s.election; e != nil {
		if now.After(e.until) {
			s.election = nil
		} else if !e.asked && !now.Before(e.at) {
			s.askForVotes(e)
		}
		return
	}
	p := s.peer(s.primary)
	if p == nil || !p.fail || s.slots.count(p.id) == 0 {
		return
	}
	least := min(mostWait, s.timeout()/waitPart)
	wait := s.cluster.Line.Between(least, 2*least, "election", s.ID) + time.Duration(s.rank())*rankWait
	patience := max(2*s.timeout(), 2*time.Second)
	s.election = &election{at: now.Add(wait), until: now.Add(wait + 2*patience)}
}

// rank counts the other replicas of its primary that have more of the data.
func (s *Server) rank() int {
	n := 0
	for _, p := range s.peers {
		if p.primary == s.primary && p.offset > s.copy.offset {
			n++
		}
	}
	return n
}

// askForVotes holds an election. An automatic one needs a failed primary still.
func (s *Server) askForVotes(e *election) {
	p := s.peer(s.primary)
	if p == nil || !e.forced && !p.fail {
		s.election = nil
		return
	}
	e.asked = true
	s.current++
	e.epoch = s.current
	votes, voters := 0, s.voters()
	for _, h := range voters {
		if v := h.of; v != nil && s.talksTo(v) && v.vote(s, e) {
			votes++
		}
	}
	if votes < len(voters)/2+1 {
		return
	}
	s.cluster.Line.After(voteTime, func() {
		if s.runs() && s.election == e && s.primary != "" {
			s.cluster.Succeeded(s, e.agreed)
			s.spoils(e)
			s.promote(e.epoch)
		}
	})
}

// spoils notes that a server which somebody attached by hand is elected, by nobody's order, before it has a copy of what its
// shard holds: Valkey compares offsets, and its is of the stream that it followed before.
func (s *Server) spoils(e *election) {
	if old := s.cluster.byID(s.primary); s.attached && !e.forced && s.copy.stream.of != old {
		s.cluster.spoilt[s.shard] = s.cluster.Line.Now()
	}
}

// vote says whether the server votes for a replica (clusterSendFailoverAuthIfNeeded). It knows itself not to have failed.
func (s *Server) vote(r *Server, e *election) bool {
	if e.epoch < s.current {
		return false
	}
	s.current = e.epoch
	candidate := s.peer(r.ID)
	if !s.isVoter() || candidate == nil || candidate.primary == "" || s.voted == s.current {
		return false
	}
	old := s.peer(candidate.primary)
	if !e.forced && (old == nil || !old.fail) || old == nil && candidate.primary != s.ID {
		return false
	}
	if better := s.knowsBetter(r); better != "" {
		s.tellUpdate(r, better)
		return false
	}
	s.voted = e.epoch
	return true
}

// knowsBetter is an owner of slots of the replica's with a higher epoch than its primary had, "" when there is none.
func (s *Server) knowsBetter(r *Server) string {
	for _, part := range s.partsOf(r.slots.of(r.primary)) {
		if part.id != "" && s.epochOf(part.id) > r.epochOf(r.primary) {
			return part.id
		}
	}
	return ""
}

// promote makes the replica primary in the place of its primary.
func (s *Server) promote(epoch int64) {
	old := s.primary
	s.primary, s.epoch, s.election = "", epoch, nil
	s.current = max(s.current, epoch)
	s.copy.keepUp(s, s.cluster.byID(old)) // what has come since the last tick
	s.copy.lead(s)
	s.give(s.ID, s.slots.of(old)...)
	s.dropDirty()
	s.ok = true
	s.broadcast()
}

// takeOver promotes without any vote (CLUSTER FAILOVER TAKEOVER).
func (s *Server) takeOver() {
	s.bumpEpoch()
	s.promote(s.epoch)
	s.updateState(s.cluster.Line.Now())
}

// bumpEpoch gives the server an epoch above all that it knows, without asking anyone.
func (s *Server) bumpEpoch() {
	highest := max(s.current, s.epoch)
	for _, p := range s.peers {
		highest = max(highest, p.epoch)
	}
	if s.epoch == 0 || s.epoch != highest {
		s.current = highest + 1
		s.epoch = s.current
		s.version++
	}
}

// handOver is the coordinated failover to the replica: its primary lets writes wait until the replica has all of them.
func (s *Server) handOver() {
	now := s.cluster.Line.Now()
	old := s.cluster.byID(s.primary)
	s.election = &election{at: now.Add(manualTimeout), until: now.Add(manualTimeout), forced: true}
	if !s.talksTo(old) || old.primary != "" {
		return
	}
	e := s.election
	old.pausedUntil = now.Add(manualTimeout)
	s.cluster.Line.After(2*time.Millisecond+s.Lag, func() { s.caughtUp(old, e) })
}

// caughtUp holds the election of a coordinated failover once nothing is missing.
func (s *Server) caughtUp(old *Server, e *election) {
	if s.election != e || !s.runs() || !s.copy.up || !s.talksTo(old) || s.copy.stream != old.copy.stream {
		return
	}
	if now := s.cluster.Line.Now(); now.Before(s.copy.flows) {
		s.cluster.Line.At(s.copy.flows, func() { s.caughtUp(old, e) })
		return
	}
	s.copy.drain(s)
	e.agreed = true
	s.askForVotes(e)
}

// forceFailover stands for election at once (CLUSTER FAILOVER FORCE).
func (s *Server) forceFailover() {
	now := s.cluster.Line.Now()
	s.election = &election{at: now, until: now.Add(manualTimeout), forced: true}
	s.askForVotes(s.election)
}

// follow makes the server a replica of another.
func (s *Server) follow(id string) {
	s.give("", s.slots.of(s.ID)...)
	s.primary, s.election, s.pausedUntil = id, nil, time.Time{}
	s.copy.lose()
	if other := s.cluster.byID(id); other != nil {
		s.shard = other.shard
	}
	s.jobs = slices.DeleteFunc(s.jobs, func(j *job) bool { return j.open() && j.target == s })
	s.version++
	s.broadcast()
}
