package actions

import (
	"context"

	"valkey.gomomento.com/operator/engine"
)

// FailOver hands a shard from its primary to a replica in sync, without losing a
// write: the primary lets writes wait until the replica has all of them and is
// elected.
//
// Writes wait for seconds if the election fails. So nothing is begun unless
// primary and replica are well, the replica is sent what is written, all voters can
// reach the replica, and no other failover is under way.
type FailOver struct {
	Succession engine.Succession `expr:"succession"`
}

// String implements Action.
func (a *FailOver) String() string { return describe(a.Succession) }

// Execute implements Action.
func (a *FailOver) Execute(ctx context.Context, env Env) error {
	if a.Succession.Node == "" || a.Succession.Primary == "" {
		return nil
	}
	if !a.may(ctx, env) {
		return nil
	}
	if following, err := follows(ctx, env, a.Succession.Node, a.Succession.Primary); !following {
		return err
	}
	if !a.may(ctx, env) { // what it waited for may have taken a while
		return nil
	}
	return succeed(ctx, env, a.Succession)
}

func (a *FailOver) may(ctx context.Context, env Env) bool {
	heard, _ := canvass(ctx, env, "replication clients")
	return mayFailOver(heard, a.Succession)
}

func mayFailOver(heard voices, s engine.Succession) bool {
	replica, primary := heard.of(s.ID), heard.of(s.PrimaryID)
	if replica == nil || primary == nil || replica.node != s.Node {
		return false
	}
	return replica.inShard(s) && replica.inSync() && replica.trusts(s.PrimaryID) &&
		primary.isPrimary() && len(primary.self().Slots) > 0 && !primary.handingOver() &&
		heard.electable(replica)
}

// inSync says that the replica's link to its primary stands and no sync runs.
func (v *voice) inSync() bool {
	return infoField(v.info, "role") == "slave" && infoField(v.info, "master_link_status") == "up" &&
		infoField(v.info, "master_sync_in_progress") == "0"
}

// trusts says that the server has a bus link to the member and does not suspect
// it: over that link the primary is asked to let writes wait.
func (v *voice) trusts(id string) bool {
	m, known := v.member(id)
	return known && m.Reachable()
}

// handingOver says that the server lets writes wait for a failover that is under
// way, for the end of a slot migration, or because it is about to stop. A pause
// that a client asked for is none of those.
func (v *voice) handingOver() bool {
	switch infoField(v.info, "paused_reason") {
	case "", "none", "client_pause":
		return false
	default:
		return true
	}
}
