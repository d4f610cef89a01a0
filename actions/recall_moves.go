package actions

import (
	"context"
	"strings"

	"valkey.gomomento.com/operator/engine"
)

// RecallMoves cancels the slot migrations of servers. What has arrived at a
// target is dropped there; the source still has it.
type RecallMoves struct {
	Recalls []engine.Recall `expr:"recalls"`
}

// String implements Action.
func (a *RecallMoves) String() string {
	names := make([]string, 0, len(a.Recalls))
	for _, r := range a.Recalls {
		names = append(names, r.Node)
	}
	return list(names)
}

// Execute implements Action.
func (a *RecallMoves) Execute(ctx context.Context, env Env) error {
	return each(ctx, a.Recalls, func(ctx context.Context, r engine.Recall) error {
		texts, err := ask(ctx, env, r.Node, command("CLUSTER MYID"))
		if err != nil || strings.TrimSpace(texts[0]) != r.ID {
			return err
		}
		_, err = ask(ctx, env, r.Node, command("CLUSTER CANCELSLOTMIGRATIONS"))
		if err != nil && strings.Contains(err.Error(), "No migrations ongoing") {
			return nil
		}
		return err
	})
}
