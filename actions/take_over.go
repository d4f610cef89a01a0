package actions

import (
	"context"

	"valkey.gomomento.com/operator/engine"
)

// TakeOver makes a replica the primary without any vote, where too few primaries
// are left to elect one.
//
// Nobody else checks it: two primaries of one shard would both take writes, and
// those of one of them would be lost. So the old primary's server must have
// ended, by the word of the API server and not by silence; and the replica
// itself must have lost the majority, since it could be elected otherwise.
type TakeOver struct {
	Succession engine.Succession `expr:"succession"`
}

// String implements Action.
func (a *TakeOver) String() string { return describe(a.Succession) }

// Execute implements Action.
func (a *TakeOver) Execute(ctx context.Context, env Env) error {
	if a.Succession.Node == "" {
		return nil
	}
	heard, _ := canvass(ctx, env, "replication")
	replica := heard.heir(a.Succession)
	if replica == nil || replica.hasQuorum() {
		return nil
	}
	ended, err := serverEnded(ctx, env, a.Succession.Primary)
	if err != nil || !ended {
		return err
	}
	return succeed(ctx, env, a.Succession, "TAKEOVER")
}

// hasQuorum says that the server has links to a majority of the voters.
func (v view) hasQuorum() bool {
	voters, reached := v.voters(), 0
	for _, m := range voters {
		if m.linked && !m.is("fail") {
			reached++
		}
	}
	return reached > len(voters)/2
}
