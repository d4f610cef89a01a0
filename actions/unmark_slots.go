package actions

import (
	"context"
	"strconv"

	"valkey.gomomento.com/operator/engine"
)

// UnmarkSlots takes marks off slots that are on the move to or from nobody.
type UnmarkSlots struct {
	Unmarkings []engine.Unmarking `expr:"unmarkings"`
}

// String implements Action.
func (a *UnmarkSlots) String() string {
	names := make([]string, 0, len(a.Unmarkings))
	slots := 0
	for _, u := range a.Unmarkings {
		names = append(names, u.Node)
		slots += len(u.Slots)
	}
	return count(slots, "slot") + " on " + list(names)
}

// Execute implements Action.
func (a *UnmarkSlots) Execute(ctx context.Context, env Env) error {
	return each(ctx, a.Unmarkings, func(ctx context.Context, u engine.Unmarking) error {
		v, _, err := look(ctx, env, u.Node)
		if err != nil || v.id != u.ID || !v.self().isPrimary() {
			return err
		}
		commands := make([][]string, 0, len(u.Slots))
		for _, slot := range u.Slots {
			commands = append(commands, command("CLUSTER SETSLOT", strconv.Itoa(slot), "STABLE"))
		}
		_, err = ask(ctx, env, u.Node, commands...)
		return err
	})
}
