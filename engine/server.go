package engine

import "slices"

// Self is the server's own line of CLUSTER NODES; nil when it is missing.
func (s *Server) Self() *Peer {
	for i := range s.Peers {
		if s.Peers[i].Myself {
			return &s.Peers[i]
		}
	}
	return nil
}

// Peer is the server's line about a member; nil when it does not know it.
func (s *Server) Peer(id string) *Peer {
	i, found := slices.BinarySearchFunc(s.Peers, id, func(p Peer, id string) int { return compareText(p.ID, id) })
	if !found {
		return nil
	}
	return &s.Peers[i]
}

// besides are the server's lines about members other than the known ones, which are sorted by server id as its lines are.
func (s *Server) besides(known []*Node) []*Peer {
	var others []*Peer
	next := 0
	for i := range s.Peers {
		p := &s.Peers[i]
		for next < len(known) && known[next].Server.ID < p.ID {
			next++
		}
		if next == len(known) || known[next].Server.ID != p.ID {
			others = append(others, p)
		}
	}
	return others
}

// Alone says that the server knows of no other, nor is about to.
func (s *Server) Alone() bool { return len(s.Peers) <= 1 }

// Epoch is the server's own config epoch.
func (s *Server) Epoch() int64 {
	if me := s.Self(); me != nil {
		return me.Epoch
	}
	return 0
}

// meeting says that a handshake with the address is under way.
func (s *Server) meeting(ip string) bool {
	return slices.ContainsFunc(s.Peers, func(p Peer) bool { return p.Handshake && p.IP == ip })
}

// Reachable says that the server has a bus link to the member and does not suspect
// it. A link that is still being opened, to an address that is gone, counts as one for Valkey.
func (p Peer) Reachable() bool { return p.Linked && !p.Suspected && !p.Failed }

// Holds says that the slot is the member's.
func (p Peer) Holds(slot int) bool {
	return slices.ContainsFunc(p.Slots, func(r SlotRange) bool { return r.From <= slot && slot <= r.To })
}
