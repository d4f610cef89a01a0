// Package replies reads what servers reply to CLUSTER NODES and to CLUSTER GETSLOTMIGRATIONS. Who observes and who acts
// both read it here, so that they cannot take the same reply for two things. It speaks to no server and decides nothing.
package replies

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/topology"
)

// Nodes reads the reply to CLUSTER NODES, one member a line:
//
//	id ip:port@bus[,hostname[,name=value…]] flags primary ping-sent pong-received epoch link-state slot…
//
// The peers are sorted by id, the marks by slot. The marks are of the server that was asked.
func Nodes(text string) ([]engine.Peer, []engine.SlotMark, error) {
	var peers []engine.Peer
	var marks []engine.SlotMark
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		p, err := parsePeer(fields)
		if err == nil && p.Myself {
			marks, err = parseMarks(fields[8:])
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read CLUSTER NODES: %w in %q", err, strings.TrimSpace(line))
		}
		peers = append(peers, p)
	}
	slices.SortFunc(peers, func(a, b engine.Peer) int { return cmp.Compare(a.ID, b.ID) })
	return peers, marks, nil
}

func parsePeer(fields []string) (engine.Peer, error) {
	if len(fields) < 8 {
		return engine.Peer{}, fmt.Errorf("%d fields instead of 8 or more", len(fields))
	}
	p := engine.Peer{ID: fields[0], IP: peerIP(fields[1]), Linked: fields[7] == "connected"}
	for flag := range strings.SplitSeq(fields[2], ",") {
		setFlag(&p, flag)
	}
	if fields[3] != "-" {
		p.PrimaryID = fields[3]
	}
	var err error
	if p.Epoch, err = strconv.ParseInt(fields[6], 10, 64); err != nil {
		return p, fmt.Errorf("config epoch: %w", err)
	}
	p.Slots, err = parseSlots(fields[8:])
	return p, err
}

// setFlag sets what one flag says. Flags that say nothing to the operator (nofailover, noflags) are passed over,
// and so are those of releases to come.
func setFlag(p *engine.Peer, flag string) {
	switch flag {
	case "myself":
		p.Myself = true
	case "master":
		p.Role = engine.Primary
	case "slave":
		p.Role = engine.Replica
	case "fail?":
		p.Suspected = true
	case "fail":
		p.Failed = true
	case "handshake":
		p.Handshake = true
	case "noaddr":
		p.IP = ""
	}
}

// peerIP is the IP of an address as CLUSTER NODES prints it; the hostname and what else may follow a comma, the
// bus port behind @ and the port behind the last colon are cut off, for an IPv6 address has colons of its own.
func peerIP(address string) string {
	address, _, _ = strings.Cut(address, ",")
	address, _, _ = strings.Cut(address, "@")
	if colon := strings.LastIndexByte(address, ':'); colon >= 0 {
		address = address[:colon]
	}
	return strings.Trim(address, "[]")
}

// parseSlots reads single slots and ranges. Entries in brackets are slots on the move, see parseMarks; they are
// among their holder's slots besides.
func parseSlots(fields []string) ([]engine.SlotRange, error) {
	var ranges []engine.SlotRange
	for _, field := range fields {
		if strings.HasPrefix(field, "[") {
			continue
		}
		r, err := parseRange(field)
		if err != nil {
			return nil, err
		}
		ranges = append(ranges, r)
	}
	slices.SortFunc(ranges, func(a, b engine.SlotRange) int { return cmp.Compare(a.From, b.From) })
	return ranges, nil
}

// parseMarks reads the slots on the move, which only a server's own line names: [93->-id] is on its way to id,
// [77-<-id] is expected from it.
func parseMarks(fields []string) ([]engine.SlotMark, error) {
	var marks []engine.SlotMark
	for _, field := range fields {
		inner, marked := strings.CutPrefix(field, "[")
		if !marked {
			continue
		}
		m, err := parseMark(strings.TrimSuffix(inner, "]"))
		if err != nil {
			return nil, err
		}
		marks = append(marks, m)
	}
	slices.SortFunc(marks, func(a, b engine.SlotMark) int { return cmp.Compare(a.Slot, b.Slot) })
	return marks, nil
}

func parseMark(text string) (engine.SlotMark, error) {
	slot, peer, found := strings.Cut(text, "->-")
	importing := !found
	if importing {
		slot, peer, found = strings.Cut(text, "-<-")
	}
	if !found || peer == "" {
		return engine.SlotMark{}, fmt.Errorf("slot on the move [%s]", text)
	}
	r, err := parseRange(slot)
	return engine.SlotMark{Slot: r.From, Importing: importing, PeerID: peer}, err
}

func parseRange(field string) (engine.SlotRange, error) {
	first, last, ranged := strings.Cut(field, "-")
	if !ranged {
		last = first
	}
	from, err := strconv.Atoi(first)
	if err != nil {
		return engine.SlotRange{}, fmt.Errorf("slot: %w", err)
	}
	to, err := strconv.Atoi(last)
	if err != nil {
		return engine.SlotRange{}, fmt.Errorf("slot: %w", err)
	}
	if from < 0 || to < from || to >= topology.SlotCount {
		return engine.SlotRange{}, fmt.Errorf("slots %s out of range", field)
	}
	return engine.SlotRange{From: from, To: to}, nil
}
