package actions

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"valkey.gomomento.com/operator/engine"
)

// A view is what one server says it is and whom it knows.
type view struct {
	id      string
	members []member
}

// A member is one line of CLUSTER NODES.
type member struct {
	id      string
	flags   []string
	primary string // "" for a primary
	epoch   int64
	linked  bool
	slots   []engine.SlotRange
	// marks are its slots on the move; only a server's own line has them.
	marks map[int]mark
}

// A mark says that a slot is on the move: on its way to the peer, or expected from it.
type mark struct {
	importing bool
	peer      string
}

// look asks the node's server who it is and whom it knows, and the further
// commands with it; their replies are returned as they are.
func look(ctx context.Context, env Env, node string, further ...[]string) (view, []string, error) {
	commands := append([][]string{command("CLUSTER MYID"), command("CLUSTER NODES")}, further...)
	texts, err := ask(ctx, env, node, commands...)
	if err != nil {
		return view{}, nil, err
	}
	v := view{id: strings.TrimSpace(texts[0])}
	v.members, err = parseMembers(texts[1])
	if err != nil {
		return view{}, nil, fmt.Errorf("%s: %w", node, err)
	}
	return v, texts[2:], nil
}

// self is the server's own line, the zero member if it is missing.
func (v view) self() member {
	m, _ := v.member(v.id)
	return m
}

// member is the line about the id.
func (v view) member(id string) (member, bool) {
	i := slices.IndexFunc(v.members, func(m member) bool { return m.id == id })
	if i < 0 {
		return member{}, false
	}
	return v.members[i], true
}

// alone says that the server knows nobody else, nor is about to.
func (v view) alone() bool { return len(v.members) == 1 && v.members[0].id == v.id }

// is says whether the member has the flag of CLUSTER NODES.
func (m member) is(flag string) bool { return slices.Contains(m.flags, flag) }

// reachable says that there is a link to the member and no doubt about it. A link
// that is still being opened, to an address that is gone, counts as one for Valkey.
func (m member) reachable() bool { return m.linked && !m.is("fail") && !m.is("fail?") }

// isPrimary says that it is a primary; the wire says master in every version.
func (m member) isPrimary() bool { return m.is("master") }

// holds says that the slot is its.
func (m member) holds(slot int) bool {
	return slices.ContainsFunc(m.slots, func(r engine.SlotRange) bool { return r.From <= slot && slot <= r.To })
}

func parseMembers(text string) ([]member, error) {
	var members []member
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		m, err := parseMember(strings.Fields(line))
		if err != nil {
			return nil, fmt.Errorf("line %q of CLUSTER NODES: %w", line, err)
		}
		members = append(members, m)
	}
	return members, nil
}

// parseMember reads "id address flags primary ping pong epoch link slot…".
func parseMember(fields []string) (member, error) {
	const fixed = 8
	if len(fields) < fixed {
		return member{}, fmt.Errorf("%d fields, want at least %d", len(fields), fixed)
	}
	epoch, err := strconv.ParseInt(fields[6], 10, 64)
	if err != nil {
		return member{}, fmt.Errorf("config epoch: %w", err)
	}
	m := member{id: fields[0], flags: strings.Split(fields[2], ","), epoch: epoch, linked: fields[7] == "connected"}
	if fields[3] != "-" {
		m.primary = fields[3]
	}
	m.marks = parseMarks(fields[fixed:])
	m.slots, err = parseSlots(fields[fixed:])
	return m, err
}

// parseMarks reads "[93->-id]", on its way to id, and "[77-<-id]", expected from it.
func parseMarks(fields []string) map[int]mark {
	marks := map[int]mark{}
	for _, f := range fields {
		inner, marked := strings.CutPrefix(strings.TrimSuffix(f, "]"), "[")
		if !marked {
			continue
		}
		slot, peer, leaving := strings.Cut(inner, "->-")
		if !leaving {
			slot, peer, _ = strings.Cut(inner, "-<-")
		}
		if n, err := strconv.Atoi(slot); err == nil {
			marks[n] = mark{importing: !leaving, peer: peer}
		}
	}
	return marks
}

// parseSlots reads "0-5460" and "7"; slots on the move, in brackets, are left out.
func parseSlots(fields []string) ([]engine.SlotRange, error) {
	var slots []engine.SlotRange
	for _, f := range fields {
		if strings.HasPrefix(f, "[") {
			continue
		}
		first, last, found := strings.Cut(f, "-")
		if !found {
			last = first
		}
		from, err := strconv.Atoi(first)
		if err != nil {
			return nil, fmt.Errorf("slot %q: %w", f, err)
		}
		to, err := strconv.Atoi(last)
		if err != nil {
			return nil, fmt.Errorf("slot %q: %w", f, err)
		}
		slots = append(slots, engine.SlotRange{From: from, To: to})
	}
	return slots, nil
}
