package actions

import (
	"context"
	"fmt"
	"strings"

	"valkey.gomomento.com/operator/engine"
)

// AttachReplicas makes servers without slots replicas.
//
// A server that becomes a replica throws away all it holds, so it must hold
// nothing.
type AttachReplicas struct {
	Attachments []engine.Attachment `expr:"attachments"`
}

// String implements Action.
func (a *AttachReplicas) String() string {
	names := make([]string, 0, len(a.Attachments))
	for _, at := range a.Attachments {
		names = append(names, at.Node)
	}
	return list(names)
}

// Execute implements Action.
func (a *AttachReplicas) Execute(ctx context.Context, env Env) error {
	return each(ctx, a.Attachments, func(ctx context.Context, at engine.Attachment) error {
		return attach(ctx, env, at)
	})
}

func attach(ctx context.Context, env Env, at engine.Attachment) error {
	v, said, err := look(ctx, env, at.Node, command("DBSIZE"))
	if err != nil {
		return err
	}
	if v.id != at.ID || !v.isPrimary() || len(v.self().Slots) > 0 || !primaryOf(v, at.PrimaryID) {
		return nil
	}
	if keys := strings.TrimSpace(said[0].Text); keys != "0" {
		return fmt.Errorf("%s holds no slots but %s keys, which a replica would lose", at.Node, keys)
	}
	_, err = ask(ctx, env, at.Node, command("CLUSTER REPLICATE", at.PrimaryID))
	return err
}

// primaryOf says that the server knows the primary to be, over a link that
// stands. Before that, others would see a replica in a shard they do not
// believe in. A shard that is being added has a primary without slots.
func primaryOf(v view, id string) bool {
	m, known := v.member(id)
	return known && m.Role == engine.Primary && m.Linked && !m.Handshake && !m.Failed
}
