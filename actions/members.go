package actions

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/replies"
)

// A view is what one server says it is, whom it knows, and which slots it has marked as on the move, by slot.
type view struct {
	id      string
	members []engine.Peer
	marks   map[int]engine.SlotMark
}

// look asks the node's server who it is and whom it knows, and the further
// commands with it; the replies to these are returned as they are.
func look(ctx context.Context, env Env, node string, further ...[]string) (view, []Reply, error) {
	commands := append([][]string{command("CLUSTER MYID"), command("CLUSTER NODES")}, further...)
	said, err := converse(ctx, env, node, commands...)
	if err != nil {
		return view{}, nil, err
	}
	members, marks, err := replies.Nodes(said[1].Text)
	if err != nil {
		return view{}, nil, fmt.Errorf("%s: %w", node, err)
	}
	v := view{id: strings.TrimSpace(said[0].Text), members: members, marks: make(map[int]engine.SlotMark, len(marks))}
	for _, m := range marks {
		v.marks[m.Slot] = m
	}
	return v, said[2:], nil
}

// self is the server's own line, the zero Peer if it is missing.
func (v view) self() engine.Peer {
	m, _ := v.member(v.id)
	return m
}

// member is the line about the id.
func (v view) member(id string) (engine.Peer, bool) {
	i := slices.IndexFunc(v.members, func(m engine.Peer) bool { return m.ID == id })
	if i < 0 {
		return engine.Peer{}, false
	}
	return v.members[i], true
}

// alone says that the server knows nobody else, nor is about to.
func (v view) alone() bool { return len(v.members) == 1 && v.members[0].ID == v.id }

// isPrimary says that the server calls itself a primary.
func (v view) isPrimary() bool { return v.self().Role == engine.Primary }
