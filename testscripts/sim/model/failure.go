package model

import (
	"time"
)

// hearReports takes in whom another does not reach. Only the word of voters counts.
func (s *Server) hearReports(from *Server) {
	if !from.isVoter() {
		return
	}
	now := s.cluster.Line.Now()
	for _, theirs := range from.peers {
		mine := s.known(theirs.of)
		switch {
		case mine == nil:
		case theirs.pfail || theirs.fail:
			mine.reports[from.ID] = now
		case len(mine.reports) > 0:
			delete(mine.reports, from.ID)
		}
	}
}

// judge marks peers that do not answer, and those that most voters do not reach as failed.
func (s *Server) judge(now time.Time) {
	for _, p := range s.peers {
		if !p.asked.IsZero() && now.Sub(p.asked) > s.timeout() {
			p.pfail = true
		}
		if p.pfail && !p.fail && s.reported(p, now) {
			s.markFailed(p, now)
			for _, q := range s.peers {
				if theirs := q.of.known(p.of); theirs != nil && s.reaches(q.of) {
					q.of.markFailed(theirs, now)
				}
			}
		}
	}
}

func (s *Server) markFailed(p *peer, now time.Time) {
	if !p.fail {
		p.fail, p.failedAt = true, now
	}
}

// reported says that a majority of the voters do not reach the peer.
func (s *Server) reported(p *peer, now time.Time) bool {
	voters, reports := s.voters(), 0
	for _, v := range voters {
		at, said := p.reports[v.id]
		if v.id == s.ID || said && now.Sub(at) < 2*s.timeout() {
			reports++
		}
	}
	return reports >= len(voters)/2+1
}

// absolve takes the mark off a peer that answers again: at once if it has no slots, otherwise when there was time to
// replace it and nobody has.
func (s *Server) absolve(p *peer, now time.Time) {
	if p.fail && (p.primary != "" || len(s.slotsOf(p.id)) == 0 || now.Sub(p.failedAt) > 2*s.timeout()) {
		p.fail = false
	}
}

const (
	// writableDelay is how long a primary that has just started serves nobody.
	writableDelay = 2 * time.Second
	// leastRejoin and mostRejoin bound how long a server waits that was among a minority.
	leastRejoin = 500 * time.Millisecond
	mostRejoin  = 5 * time.Second
)

// updateState says whether the server serves clients (clusterUpdateState), which does not take all slots here.
func (s *Server) updateState(now time.Time) {
	if !s.ok && s.primary == "" && now.Sub(s.Born) < writableDelay {
		return
	}
	voters, reachable := s.voters(), 0
	for _, v := range voters {
		if v.of == s {
			reachable++
		} else if p := s.knownOrNone(v.of); p != nil && !p.pfail && !p.fail {
			reachable++
		}
	}
	switch {
	case reachable < len(voters)/2+1:
		s.ok = false
		s.minorityUntil = now.Add(min(max(s.timeout(), leastRejoin), mostRejoin))
	case s.ok || s.primary != "" || !now.Before(s.minorityUntil):
		s.ok = true
	}
}
