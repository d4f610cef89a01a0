package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"valkey.gomomento.com/operator/engine"
)

// words for the answers, as the wire spells them.
const (
	wirePrimary = "master"
	wireReplica = "slave"
)

// linked is what CLUSTER NODES says of the link to a peer: that there is one, even while it is being opened, which to an
// address that is gone goes on for ever.
func (s *Server) linked(p *peer) bool { return !s.unlinked(p) }

// nodes is the answer to CLUSTER NODES.
func (s *Server) nodes() string {
	b := make([]byte, 0, 160*(1+len(s.peers)))
	role, primary := roleOf(s.primary)
	b = s.appendLine(b, s.ID, s.IP, "myself,"+role, primary, s.lineEpoch(), true)
	for _, p := range s.peers {
		flags, primary := roleOf(p.primary)
		switch {
		case p.fail:
			flags += ",fail"
		case p.pfail:
			flags += ",fail?"
		}
		b = s.appendLine(b, p.id, p.ip, flags, primary, s.epochOfLine(p), s.linked(p))
	}
	for _, m := range s.meeting {
		b = s.appendLine(b, handshakeID(m.ip), m.ip, "handshake", "-", 0, true)
	}
	return string(b)
}

// appendLine appends a line of CLUSTER NODES, of which there are as many as there are pairs of servers.
func (s *Server) appendLine(b []byte, id, ip, flags, primary string, epoch int64, linked bool) []byte {
	link := " connected"
	if !linked {
		link = " disconnected"
	}
	for _, word := range []string{id, " ", ip, ":6379@16379 ", flags, " ", primary, " 0 0 "} {
		b = append(b, word...)
	}
	b = append(strconv.AppendInt(b, epoch, 10), link...)
	return append(appendSlots(b, s.slotsOf(id)), '\n')
}

func roleOf(primary string) (role, named string) {
	if primary == "" {
		return wirePrimary, "-"
	}
	return wireReplica, primary
}

func handshakeID(ip string) string {
	sum := sha256.Sum256([]byte("handshake " + ip))
	return hex.EncodeToString(sum[:20])
}

// lineEpoch is the epoch that the server's line shows: a replica's is its primary's.
func (s *Server) lineEpoch() int64 {
	if s.primary != "" {
		return s.epochOf(s.primary)
	}
	return s.epoch
}

func (s *Server) epochOfLine(p *peer) int64 {
	if p.primary != "" && p.primary != unknown {
		return s.epochOf(p.primary)
	}
	return p.epoch
}

func slotText(ranges []engine.SlotRange) string { return string(appendSlots(nil, ranges)) }

func appendSlots(b []byte, ranges []engine.SlotRange) []byte {
	for _, r := range ranges {
		b = strconv.AppendInt(append(b, ' '), int64(r.From), 10)
		if r.From != r.To {
			b = strconv.AppendInt(append(b, '-'), int64(r.To), 10)
		}
	}
	return b
}

// info is the answer to INFO, all of the sections that are ever asked for.
func (s *Server) info() string {
	lines := []string{
		"valkey_version:" + s.Version, fmt.Sprintf("uptime_in_seconds:%d", int(s.cluster.Line.Now().Sub(s.Born).Seconds())),
		"loading:0", "paused_reason:" + s.pauseReason(),
	}
	if s.primary == "" {
		lines = append(lines, "role:master", fmt.Sprintf("master_repl_offset:%d", s.copy.offset))
	} else {
		up, syncing := "down", 0
		if s.copy.up {
			up = "up"
		} else if !s.copy.synced.IsZero() {
			syncing = 1
		}
		lines = append(lines, "role:slave", "master_link_status:"+up, fmt.Sprintf("master_sync_in_progress:%d", syncing),
			fmt.Sprintf("slave_repl_offset:%d", s.toldOffset()))
	}
	return strings.Join(lines, "\r\n") + "\r\n"
}

// toldOffset is the replication offset as INFO gives it: that of a replica which has never been in sync is 1.
func (s *Server) toldOffset() int64 {
	if s.primary == "" {
		return s.copy.offset
	}
	return max(1, s.copy.offset)
}

func (s *Server) pauseReason() string {
	if s.cluster.Line.Now().Before(s.pausedUntil) {
		return "failover_in_progress"
	}
	return "none"
}

func (s *Server) clusterInfo() string {
	state := "fail"
	if s.ok {
		state = "ok"
	}
	return fmt.Sprintf("cluster_state:%s\r\ncluster_current_epoch:%d\r\n", state, s.current)
}

// jobText is the answer to CLUSTER GETSLOTMIGRATIONS, an element a line.
func (s *Server) jobText() string {
	var elements []string
	for _, j := range s.newestFirst() {
		elements = append(elements,
			"name", j.name, "operation", j.operation(s), "slot_ranges", strings.TrimSpace(slotText(j.ranges)),
			"target_node", j.target.ID, "source_node", j.source.ID, "last_update_time", strconv.FormatInt(j.updated.Unix(), 10),
			"state", j.state, "message", j.message)
	}
	return strings.Join(elements, "\n")
}

// look is all that a Snapshot holds of the server.
func (s *Server) look(settings []string) *engine.Server {
	now := s.cluster.Line.Now()
	e := &engine.Server{
		ID: s.ID, Version: s.Version, Role: engine.Primary, PrimaryID: s.primary, ClusterOK: s.ok, CurrentEpoch: s.current,
		LinkUp: s.copy.up, Offset: s.toldOffset(), Uptime: now.Sub(s.Born).Truncate(1e9), Keys: int64(len(s.copy.data)),
		UsedMemory: 1 << 20, Peers: s.lookAtPeers(), Settings: make(map[string]string, len(s.Settings)),
		Revision: s.revision(), ReplHash: s.passwordHash, ReplAccepts: s.accepts("_momento_repl"),
		Users: s.usersHash(),
	}
	if s.primary != "" {
		e.Role = engine.Replica
	}
	for _, name := range settings {
		if value, set := s.Settings[strings.ToLower(name)]; set {
			e.Settings[name] = value
		}
	}
	failed := false
	for _, j := range s.newestFirst() {
		newest := !failed && j.source == s && j.state == "failed"
		failed = failed || newest
		if newest || j.open() {
			e.Migrations = append(e.Migrations, engine.SlotMigration{
				Name: j.name, Export: j.source == s, Slots: j.ranges, SourceID: j.source.ID, TargetID: j.target.ID,
				State: j.state, Message: j.message, Updated: j.updated.Truncate(1e9),
			})
		}
	}
	return e
}

func (s *Server) lookAtPeers() []engine.Peer {
	all := make([]engine.Peer, 0, len(s.peers)+len(s.meeting)+1)
	owners := s.holdings() // in the order of the peers
	add := func(p engine.Peer) {
		if p.Role = engine.Primary; p.PrimaryID != "" {
			p.Role = engine.Replica
		}
		if p.PrimaryID == unknown {
			p.PrimaryID = ""
		}
		for len(owners) > 0 && owners[0].id < p.ID {
			owners = owners[1:]
		}
		if len(owners) > 0 && owners[0].id == p.ID {
			p.Slots = owners[0].ranges
		}
		all = append(all, p)
	}
	myself := engine.Peer{ID: s.ID, IP: s.IP, Myself: true, PrimaryID: s.primary, Epoch: s.lineEpoch(), Linked: true}
	at, _ := slices.BinarySearchFunc(s.peers, s.ID, byPeerID)
	for i, p := range s.peers {
		if i == at {
			add(myself)
		}
		add(engine.Peer{
			ID: p.id, IP: p.ip, PrimaryID: p.primary, Epoch: s.epochOfLine(p),
			Suspected: p.pfail && !p.fail, Failed: p.fail, Linked: s.linked(p),
		})
	}
	if at == len(s.peers) {
		add(myself)
	}
	for _, m := range s.meeting {
		all = append(all, engine.Peer{ID: handshakeID(m.ip), IP: m.ip, Handshake: true, Linked: true})
	}
	if len(s.meeting) > 0 {
		slices.SortFunc(all, func(a, b engine.Peer) int { return strings.Compare(a.ID, b.ID) })
	}
	return all
}

func sha(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// configText is the answer to CONFIG GET.
func (s *Server) configText(names []string) string {
	var lines []string
	if slices.Contains(names, "masterauth") {
		lines = append(lines, "masterauth", s.Password)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Settings)) {
		if slices.Contains(names, name) {
			lines = append(lines, name, s.Settings[name])
		}
	}
	return strings.Join(lines, "\n")
}
