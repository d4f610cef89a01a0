package actions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"valkey.gomomento.com/operator/engine"
)

// ForgetMembers removes departed members from the memory of the servers that
// still know them.
//
// To forget a member that lives is worse than to remember one that left: it
// comes back by gossip, and meanwhile its slots are dropped. So no id is
// forgotten that a server of ours bears, that a node which does not answer may
// bear, that anyone reaches, or that a replica may yet succeed.
type ForgetMembers struct {
	Departed []engine.Oblivion `expr:"departed"`
}

// String implements Action.
func (a *ForgetMembers) String() string {
	names := make([]string, 0, len(a.Departed))
	for _, d := range a.Departed {
		names = append(names, shortID(d.ID))
	}
	return list(names)
}

// Execute implements Action.
func (a *ForgetMembers) Execute(ctx context.Context, env Env) error {
	alive := living(ctx, env)
	return each(ctx, a.Departed, func(ctx context.Context, d engine.Oblivion) error {
		if alive[d.ID] {
			return nil
		}
		return forget(ctx, env, d, alive)
	})
}

// living are the ids that servers of the cluster bear, and those that servers
// which do not answer bore when last seen.
func living(ctx context.Context, env Env) map[string]bool {
	nodes := reachable(env)
	// One that cannot be asked is in the error, and counts by its last id below.
	ids, err := identities(ctx, env, nodes)
	alive := make(map[string]bool, len(nodes))
	for id := range maps.Values(ids) {
		alive[id] = true
	}
	if err == nil {
		return alive
	}
	for _, n := range env.Snapshot.Nodes {
		if _, answered := ids[n.Name]; !answered && n.LastID != "" && slices.Contains(nodes, n.Name) {
			alive[n.LastID] = true
		}
	}
	return alive
}

// forget asks every server first, and then all of them to forget.
func forget(ctx context.Context, env Env, d engine.Oblivion, alive map[string]bool) error {
	if needed, err := stillNeeded(ctx, env, d, alive); needed || err != nil {
		return err
	}
	return forgetAtOnce(ctx, env, d)
}

// forgetAtOnce is for a member that is known not to be needed.
func forgetAtOnce(ctx context.Context, env Env, d engine.Oblivion) error {
	return each(ctx, d.By, func(ctx context.Context, node string) error {
		_, err := ask(ctx, env, node, command("CLUSTER FORGET", d.ID))
		if err != nil && strings.Contains(err.Error(), "Unknown node") {
			return nil
		}
		return err
	})
}

// errNeeded stops a forget; it never leaves this file.
var errNeeded = errors.New("the member lives, or is needed for an election")

// stillNeeded says that one of the servers is connected to the member or knows
// a replica of it: voters who have forgotten a primary elect nobody in its
// place. A server that cannot be asked may know better: that is the error.
func stillNeeded(ctx context.Context, env Env, d engine.Oblivion, alive map[string]bool) (bool, error) {
	err := each(ctx, d.By, func(ctx context.Context, node string) error {
		v, _, err := look(ctx, env, node)
		if err != nil {
			return fmt.Errorf("before forgetting %s: %w", shortID(d.ID), err)
		}
		if v.needs(d.ID, alive) {
			return errNeeded
		}
		return nil
	})
	if errors.Is(err, errNeeded) {
		return true, nil
	}
	return false, err
}

// needs says that the server reaches the member, or knows a replica of it that has
// not failed or is among those that may be alive. A link to a failed member does
// not count: it is called connected while it is being opened, for ever so to an
// address that is gone.
func (v view) needs(id string, alive map[string]bool) bool {
	if m, known := v.member(id); known && m.Linked && !m.Failed {
		return true
	}
	return slices.ContainsFunc(v.members, func(m engine.Peer) bool { return m.PrimaryID == id && (!m.Failed || alive[m.ID]) })
}

// shortID is as much of an id as people compare.
func shortID(id string) string {
	const enough = 8
	if len(id) <= enough {
		return id
	}
	return id[:enough]
}
