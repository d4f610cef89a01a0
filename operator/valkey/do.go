package valkey

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	valkeygo "github.com/valkey-io/valkey-go"

	"valkey.gomomento.com/operator/actions"
)

// Servers are the servers of one cluster by their node's name, as actions speak to them.
type Servers struct {
	pool   *Pool
	access Access
	byNode map[string]Target
}

var _ actions.Servers = Servers{}

// Servers are the given servers, by their node's name, with the access they ask for.
func (p *Pool) Servers(byNode map[string]Target, a Access) actions.Servers {
	return Servers{pool: p, access: a, byNode: byNode}
}

// Do sends the commands to one node's server in one round trip; see actions.Valkey.
func (s Servers) Do(ctx context.Context, node string, commands ...[]string) ([]actions.Reply, error) {
	t, found := s.byNode[node]
	if !found {
		return nil, fmt.Errorf("server of %s: no Pod with an address", node)
	}
	results, err := s.pool.send(ctx, t, s.access, commands)
	if err != nil {
		return nil, fmt.Errorf("server of %s: %w", node, err)
	}
	replies := make([]actions.Reply, len(results))
	for i := range results {
		replies[i] = reply(results[i])
	}
	return replies, nil
}

// send sends the commands in one round trip. The error is for a server that was not reached.
func (p *Pool) send(ctx context.Context, t Target, a Access, commands [][]string) ([]valkeygo.ValkeyResult, error) {
	if len(commands) == 0 {
		return nil, nil
	}
	c, err := p.connected(ctx, t, a)
	if err != nil {
		return nil, err
	}
	return p.exchange(ctx, c, commands)
}

// exchange sends the commands on a connection that stands.
func (p *Pool) exchange(ctx context.Context, c *connection, commands [][]string) ([]valkeygo.ValkeyResult, error) {
	c.used.Store(time.Now().Unix())
	timed, cancel := context.WithTimeout(ctx, patience(c.user))
	defer cancel()
	results := c.client.DoMulti(timed, c.build(commands)...)
	for i := range results {
		if err := results[i].NonValkeyError(); err != nil {
			return nil, p.unreached(ctx, c, err)
		}
	}
	return results, nil
}

// unreached gives up a connection on which a command got no reply, unless it was the caller who gave up.
func (p *Pool) unreached(ctx context.Context, c *connection, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		p.silent(c, err)
	default:
		p.discard(c)
	}
	return err
}

func (c *connection) build(commands [][]string) []valkeygo.Completed {
	built := make([]valkeygo.Completed, len(commands))
	for i, words := range commands {
		built[i] = c.client.B().Arbitrary(words...).Build()
	}
	return built
}

func reply(r valkeygo.ValkeyResult) actions.Reply {
	m, err := r.ToMessage()
	if err != nil && !valkeygo.IsValkeyNil(err) {
		return actions.Reply{Err: err}
	}
	items := lines(m, nil)
	return actions.Reply{Text: strings.Join(items, "\n"), Items: items}
}

// lines are the strings and numbers of a reply in their order, those of nested arrays included.
func lines(m valkeygo.ValkeyMessage, to []string) []string {
	if entries, err := m.ToArray(); err == nil {
		for _, entry := range entries {
			to = lines(entry, to)
		}
		return to
	}
	if n, err := m.ToInt64(); err == nil {
		return append(to, strconv.FormatInt(n, 10))
	}
	if text, err := m.ToString(); err == nil {
		return append(to, text)
	}
	return to
}
