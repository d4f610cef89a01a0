package actions

import (
	"context"

	"valkey.gomomento.com/operator/engine"
)

// ReturnReplicas lets replicas of another shard's primary, or of one that died
// before it got a slot, follow their own shard's.
//
// What such a server holds is thrown away, so it must be what somebody else
// holds: that of a primary which it still follows and can reach. What one
// without a slot had is nobody's.
type ReturnReplicas struct {
	Attachments []engine.Attachment `expr:"attachments"`
}

// String implements Action.
func (a *ReturnReplicas) String() string {
	return (&AttachReplicas{Attachments: a.Attachments}).String()
}

// Execute implements Action.
func (a *ReturnReplicas) Execute(ctx context.Context, env Env) error {
	return each(ctx, a.Attachments, func(ctx context.Context, at engine.Attachment) error {
		v, _, err := look(ctx, env, at.Node)
		if err != nil {
			return err
		}
		followed := v.self().PrimaryID
		if v.id != at.ID || followed == "" || followed == at.PrimaryID || !primaryOf(v, at.PrimaryID) {
			return nil
		}
		if !primaryOf(v, followed) && !deadAndEmpty(v, followed) {
			return nil
		}
		_, err = ask(ctx, env, at.Node, command("CLUSTER REPLICATE", at.PrimaryID))
		return err
	})
}

// deadAndEmpty says that the server has lost touch with a primary without slots.
func deadAndEmpty(v view, id string) bool {
	m, known := v.member(id)
	return known && m.Role == engine.Primary && !m.Reachable() && len(m.Slots) == 0
}
