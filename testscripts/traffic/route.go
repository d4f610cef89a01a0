package traffic

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/valkey-io/valkey-go"
)

const (
	// detourTime is how long a lane finds its own way after a command got no reply. The library asks for the new
	// topology after a random part of a second, more time than a failover takes; after this long it has done so.
	detourTime = 2 * time.Second
	// shunTime is how long a server that gave no reply is asked last.
	shunTime = time.Second
	// maxHops is how many servers one command may be sent to: each names another as the owner, but for the last.
	maxHops = 6
)

// A router sends the commands of one lane. They go through the cluster client, as an application's do, but for a
// while after a command that got no reply: then any other server is asked, and says by MOVED who owns the slot now. So
// what is measured is how long the cluster takes, not how long a client sleeps before it looks.
type router struct {
	client valkey.Client
	// timeout is the time of one command at one server.
	timeout time.Duration
	shunned *shunned
	until   time.Time         // the end of the detour
	owners  map[string]string // by tag, as told by MOVED during a detour
}

// send sends the command for keys of the tag. It is built anew for each server, since the library recycles what it has sent.
func (r *router) send(ctx context.Context, tag string, command func() valkey.Completed) valkey.ValkeyResult {
	if time.Now().Before(r.until) {
		return r.detour(ctx, tag, command)
	}
	return r.ordinary(ctx, command())
}

// ordinary sends the command as the library does. When there is no reply, a detour begins.
func (r *router) ordinary(ctx context.Context, command valkey.Completed) valkey.ValkeyResult {
	timed, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	result := r.client.Do(timed, command)
	if unanswered(result.Error()) {
		r.until, r.owners = time.Now().Add(detourTime), map[string]string{}
	}
	return result
}

// unanswered says that a command got no reply from a server, so that it may have been carried out or not.
func unanswered(err error) bool {
	var said *valkey.ValkeyError
	return err != nil && !errors.As(err, &said)
}

// detour asks one server after the other until one does not name another. A server that has come since the library last
// looked can be reached by the library only, which follows a redirection to any address.
func (r *router) detour(ctx context.Context, tag string, command func() valkey.Completed) valkey.ValkeyResult {
	nodes := r.client.Nodes()
	address := r.owners[tag]
	asking := false
	var result valkey.ValkeyResult
	for range maxHops {
		if nodes[address] == nil {
			address = r.shunned.pick(slices.Sorted(maps.Keys(nodes)))
		}
		if address == "" { // nobody that is known answers: only the library can find others
			return r.ordinary(ctx, command())
		}
		result = r.ask(ctx, nodes[address], command(), asking)
		err := result.Error()
		if unanswered(err) {
			r.shunned.add(address)
			delete(r.owners, tag)
			r.until = time.Now().Add(detourTime)
			return result
		}
		next, moved := redirection(err)
		switch {
		case next == "":
			return result
		case nodes[next] == nil:
			return r.ordinary(ctx, command())
		}
		if asking = !moved; moved {
			r.owners[tag] = next
		}
		address = next
	}
	return result
}

func (r *router) ask(ctx context.Context, node valkey.Client, command valkey.Completed, asking bool) valkey.ValkeyResult {
	timed, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	if asking {
		return node.DoMulti(timed, node.B().Asking().Build(), command)[1]
	}
	return node.Do(timed, command)
}

// redirection is where an error reply sends the client, "" for nowhere.
func redirection(err error) (address string, moved bool) {
	var said *valkey.ValkeyError
	if !errors.As(err, &said) {
		return "", false
	}
	if address, moved = said.IsMoved(); moved {
		return address, true
	}
	address, _ = said.IsAsk()
	return address, false
}

// shunned are the servers that gave no reply lately; all lanes share what one has found out.
type shunned struct {
	mu    sync.Mutex
	since map[string]time.Time
	turn  int
}

func (s *shunned) add(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since == nil {
		s.since = map[string]time.Time{}
	}
	s.since[address] = time.Now()
}

// pick takes turns among the addresses that are not shunned; "" when there are none.
func (s *shunned) pick(addresses []string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn++
	var good []string
	for _, a := range addresses {
		if time.Since(s.since[a]) > shunTime {
			good = append(good, a)
		}
	}
	if len(good) == 0 {
		return ""
	}
	return good[s.turn%len(good)]
}

// notWritten says of an error that the command was certainly not carried out: a server said so, or none was reached.
func notWritten(err error) bool {
	var op *net.OpError
	return !unanswered(err) || errors.Is(err, valkey.ErrNoSlot) || errors.As(err, &op) && op.Op == "dial"
}

// get reads a key; no value reads as "".
func (r *router) get(ctx context.Context, t tag, key string) (string, error) {
	value, err := r.send(ctx, t.text, func() valkey.Completed { return r.client.B().Get().Key(key).Build() }).ToString()
	if valkey.IsValkeyNil(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("get: %w", err)
	}
	return value, nil
}

// set writes a key and returns what it replaced.
func (r *router) set(ctx context.Context, t tag, key, value string) (string, error) {
	replaced, err := r.send(ctx, t.text, func() valkey.Completed {
		return r.client.B().Set().Key(key).Value(value).Get().Build()
	}).ToString()
	if valkey.IsValkeyNil(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("set: %w", err)
	}
	return replaced, nil
}
