package actions

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/engine"
)

// IntroduceServers lets servers meet.
//
// An address alone is no proof of who lives there: a Pod of another cluster
// may have got it, and two clusters that meet become one. So every server is
// asked for its id before the first MEET.
type IntroduceServers struct {
	Introductions []engine.Introduction `expr:"introductions"`
}

// String implements Action.
func (a *IntroduceServers) String() string {
	meetings := 0
	for _, i := range a.Introductions {
		meetings += len(i.Meets)
	}
	return fmt.Sprintf("%s by %s", count(meetings, "meeting"), count(len(a.Introductions), "server"))
}

// Execute implements Action.
func (a *IntroduceServers) Execute(ctx context.Context, env Env) error {
	ids, err := identities(ctx, env, a.guests())
	meet := each(ctx, a.Introductions, func(ctx context.Context, i engine.Introduction) error {
		return introduce(ctx, env, i, ids)
	})
	if err != nil {
		return fmt.Errorf("ask servers who they are: %w", err)
	}
	return meet
}

// guests are all nodes that meet or are met, sorted.
func (a *IntroduceServers) guests() []string {
	var names []string
	for _, i := range a.Introductions {
		names = append(names, i.Node)
		for _, m := range i.Meets {
			names = append(names, m.Node)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// introduce leaves out whoever is not, or cannot be asked whether it is, the
// server it was when the plan was made.
func introduce(ctx context.Context, env Env, i engine.Introduction, ids map[string]string) error {
	if ids[i.Node] != i.ID {
		return nil
	}
	var commands [][]string
	for _, m := range i.Meets {
		if ids[m.Node] == m.ID {
			commands = append(commands, command("CLUSTER MEET", m.IP, strconv.Itoa(objects.ClientPort)))
		}
	}
	if len(commands) == 0 {
		return nil
	}
	_, err := ask(ctx, env, i.Node, commands...)
	return err
}

// identities are the ids of the nodes' servers; one that does not answer has
// none, and is in the error.
func identities(ctx context.Context, env Env, nodes []string) (map[string]string, error) {
	var guard sync.Mutex
	ids := make(map[string]string, len(nodes))
	err := each(ctx, nodes, func(ctx context.Context, node string) error {
		texts, err := ask(ctx, env, node, command("CLUSTER MYID"))
		if err != nil {
			return err
		}
		guard.Lock()
		defer guard.Unlock()
		ids[node] = strings.TrimSpace(texts[0])
		return nil
	})
	return ids, err
}
