package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/operator/valkey"
)

// The times after which an operator gives up, those of valkey.Pool.
const (
	dialPatience   = 200 * time.Millisecond
	commandTimeout = time.Second
	redialDelay    = time.Second
)

// A Pool is one operator's way to the servers.
type Pool struct {
	Cluster *Cluster
	// Name is the operator's in the network.
	Name string
	// Trip is how long a command is on its way to a server, and Lose says whether it or its reply gets lost.
	Trip func(server string, command []string) time.Duration
	Lose func(server string, command []string) (request, reply bool)
	// Dead says that the operator is.
	Dead func() bool

	mu       sync.Mutex
	aside    map[string]time.Time // by the server's name: not asked again before
	accepted string
	hashes   map[string]string // of passwords
}

var errDead = errors.New("the operator is dead")

// errSilent is no answer in time, as valkey.Silence tells it.
type errSilent struct{}

func (errSilent) Error() string { return "i/o timeout" }

// Timeout implements net.Error.
func (errSilent) Timeout() bool { return true }

// Temporary implements net.Error.
func (errSilent) Temporary() bool { return true }

var _ net.Error = errSilent{}

// Keep implements observe.Pool.
func (p *Pool) Keep(types.NamespacedName, ...valkey.Target) {}

// Accepted implements observe.Pool.
func (p *Pool) Accepted(types.NamespacedName) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// login says whether the server lets the operator in. A real one asks only at the beginning of a connection.
func (p *Pool) login(s *Server, a valkey.Access) error {
	known := s.accepts("_momento_operator")
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, password := range append(append([]string{a.Password}, a.Others...), a.LastResort) {
		if password != "" && slices.Contains(known, p.hashOf(password)) {
			p.accepted = password
			return nil
		}
	}
	return refusal("WRONGPASS invalid username-password pair or user is disabled.")
}

// hashOf is the hash of a password, which is always one of a few. The Pool must be locked.
func (p *Pool) hashOf(password string) string {
	hash, known := p.hashes[password]
	if !known {
		if p.hashes == nil {
			p.hashes = map[string]string{}
		}
		hash = sha(password)
		p.hashes[password] = hash
	}
	return hash
}

// Forget implements observe.Pool.
func (p *Pool) Forget(types.NamespacedName) {}

// Ask implements observe.Pool.
func (p *Pool) Ask(ctx context.Context, t valkey.Target, a valkey.Access, settings []string) (*engine.Server, error) {
	var seen *engine.Server
	err := p.reach(ctx, t, a, []string{"ASK"}, func(s *Server) error {
		seen = s.look(settings)
		return nil
	})
	return seen, err
}

// Servers implements observe.Pool.
func (p *Pool) Servers(byNode map[string]valkey.Target, a valkey.Access) actions.Servers {
	return servers{pool: p, byNode: byNode, access: a}
}

// reach speaks to the server at the target, which takes as long as it takes.
func (p *Pool) reach(ctx context.Context, t valkey.Target, a valkey.Access, command []string, speak func(*Server) error) error {
	c := p.Cluster
	name := t.PodUID
	if p.setAside(name) {
		return errSilent{}
	}
	if err := sleep(ctx, p.Trip(name, command)); err != nil {
		return err
	}
	request, reply := p.Lose(name, command)
	c.Line.Hold()
	s := c.Find(types.UID(t.PodUID))
	silent, err := p.way(s, t)
	switch {
	case p.Dead():
		c.Line.LetGo()
		return errDead
	case err != nil:
		c.Line.LetGo()
		return err
	case silent > 0 || request:
		c.Line.LetGo()
		return p.giveUp(ctx, name, max(silent, dialPatience))
	}
	if err = p.login(s, a); err == nil {
		err = speak(s)
	}
	lost := reply || c.Net.Cut(s.Name, p.Name) || p.Dead()
	c.Line.LetGo()
	if lost {
		return p.giveUp(ctx, name, commandTimeout)
	}
	return err
}

// way says how long a server that cannot be heard is waited for, or what its machine says in its place.
func (p *Pool) way(s *Server, t valkey.Target) (time.Duration, error) {
	host, _, err := net.SplitHostPort(t.Address)
	switch {
	case err != nil:
		return 0, fmt.Errorf("address of a server: %w", err)
	case s == nil || s.IP != host || !s.plugged || s.dark || p.Cluster.Net.Cut(p.Name, s.Name):
		return dialPatience, nil
	case !s.alive:
		return 0, fmt.Errorf("dial %s: %w", s.Name, syscall.ECONNREFUSED)
	case s.hung:
		return commandTimeout, nil
	}
	return 0, nil
}

// giveUp waits in vain, and puts the server aside for a while.
func (p *Pool) giveUp(ctx context.Context, name string, after time.Duration) error {
	if err := sleep(ctx, after); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.aside == nil {
		p.aside = map[string]time.Time{}
	}
	p.aside[name] = time.Now().Add(redialDelay)
	return errSilent{}
}

func (p *Pool) setAside(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.aside[name])
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// servers are the servers of one pass.
type servers struct {
	pool   *Pool
	byNode map[string]valkey.Target
	access valkey.Access
}

// Do implements actions.Valkey.
func (v servers) Do(ctx context.Context, node string, commands ...[]string) ([]actions.Reply, error) {
	t, found := v.byNode[node]
	if !found {
		return nil, fmt.Errorf("server of %s: no Pod with an address", node)
	}
	var replies []actions.Reply
	words := make([]string, 0, len(commands))
	for _, c := range commands {
		words = append(words, strings.Join(c, " "))
	}
	err := v.pool.reach(ctx, t, v.access, words, func(s *Server) error {
		for _, c := range commands {
			r, err := s.reply(v.pool.Name, c)
			if err != nil {
				return io.EOF
			}
			replies = append(replies, r)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("server of %s: %w", node, err)
	}
	return replies, nil
}

// Leaf implements actions.Shower: the model has no certificates.
func (servers) Leaf(context.Context, string) ([]byte, error) {
	return nil, errors.New("the model has no certificates")
}

// Carrier implements actions.Servers: the model's servers know slot migration jobs.
func (servers) Carrier(string) actions.Carrier { return nil }
