package valkey

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// dialTimeout bounds the opening of a connection, and again the greeting on it. Inside one Kubernetes cluster
	// both take milliseconds; half a second leaves room for a busy machine and is short beside a node timeout.
	dialTimeout = 500 * time.Millisecond
	// dialPatience is how long a pass waits for an attempt that is under way, counted from the attempt's begin:
	// an address that swallows packets must not slow down the watch over its neighbours.
	dialPatience = 200 * time.Millisecond
	// commandTimeout bounds one round trip. A server that deletes a migrated slot's keys has been seen to pause for
	// 0.7 s; longer than a second is silence.
	commandTimeout = time.Second
	// carryTimeout bounds one round trip that moves keys: a server does nothing else meanwhile, and a key of a gigabyte
	// takes it some seconds. It is as long as a pass may take.
	carryTimeout = 30 * time.Second
	// carryIdle is after how long a connection as another user is closed: between the moves of one reshaping there are
	// milliseconds, and between two of them days.
	carryIdle = time.Minute
	// redialDelay is how long an address that gave no answer at all is left alone. Together with dialTimeout it makes
	// a black hole cost one pass in about ten its dialPatience.
	redialDelay = time.Second
)

// The system users.
const (
	Username     = "_momento_operator" // the operator, on every server
	ReplUsername = "_momento_repl"     // replicas, and before Valkey 9.0 whoever moves keys
)

// A Target is one server as a place to connect to.
type Target struct {
	Cluster types.NamespacedName
	// PodUID tells apart two Pods that had the same address.
	PodUID string
	// Address is host:port.
	Address string
	// Hostname is the name the server's certificate must hold, used with TLS only.
	Hostname string
}

func (t Target) key(user string) endpoint { return endpoint{t.PodUID, t.Address, user} }

// An endpoint is one address of one Pod, as one user.
type endpoint struct{ podUID, address, user string }

// A Pool keeps one connection per server. It is safe for concurrent use.
type Pool struct {
	// OnBreak is called when a connection that stood is lost, by the peer's doing or its silence. It must be set
	// BEFORE the first use and must not block.
	OnBreak func(cluster types.NamespacedName)
	// OnConnect is called when a connection stands that a pass did not wait for. It must be set BEFORE the
	// first use and must not block.
	OnConnect func(cluster types.NamespacedName)

	mu          sync.Mutex
	connections map[endpoint]*connection
	accepted    map[types.NamespacedName]string
}

// Keep closes the cluster's connections to all but the given servers, and those as
// another user than the operator's own that have not been used for a while; with
// no server given, all of them.
func (p *Pool) Keep(cluster types.NamespacedName, servers ...Target) {
	keep := make(map[endpoint]bool, len(servers))
	for _, s := range servers {
		keep[s.key("")] = true
	}
	p.drop(func(c *connection) bool {
		return c.target.Cluster == cluster && (!keep[c.target.key("")] || c.unused())
	})
}

// Close closes all connections.
func (p *Pool) Close() { p.drop(func(*connection) bool { return true }) }

// drop closes the connections that match.
func (p *Pool) drop(match func(*connection) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, c := range p.connections {
		if match(c) {
			delete(p.connections, key)
			c.close()
		}
	}
}

// connected is the standing connection to a server, opened if need be. It waits no longer than dialPatience:
// an attempt that takes longer goes on by itself.
func (p *Pool) connected(ctx context.Context, t Target, a Access) (*connection, error) {
	c := p.connection(t, a)
	if c.settled() {
		return c, c.err
	}
	patience := time.NewTimer(time.Until(c.began.Add(dialPatience)))
	defer patience.Stop()
	select {
	case <-c.done:
		return c, c.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-patience.C:
		return nil, p.leave(c)
	}
}

// leave says of an attempt that nobody waits for it now.
func (p *Pool) leave(c *connection) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.left = true
	return errSlow
}

// connection finds the connection or the attempt at one, and begins an attempt if there is neither.
func (p *Pool) connection(t Target, a Access) *connection {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, found := p.connections[t.key(a.user())]
	if found && c.serves(a) && !c.due() {
		return c
	}
	if found {
		c.close()
	}
	c = newConnection(t, a)
	p.put(c)
	go func() { p.settle(c, c.dial(a, p.broken)) }()
	return c
}

// put must be called with the lock held.
func (p *Pool) put(c *connection) {
	if p.connections == nil {
		p.connections = map[endpoint]*connection{}
	}
	p.connections[c.key()] = c
}

// settle ends an attempt.
func (p *Pool) settle(c *connection, err error) {
	p.mu.Lock()
	c.ended(err)
	current, awaited := p.connections[c.key()] == c, c.left
	switch {
	case !current:
		c.close()
	case err == nil && c.user == Username:
		p.remember(c)
	}
	p.mu.Unlock()
	if current && awaited && err == nil {
		call(p.OnConnect, c.target.Cluster)
	}
}

// broken removes a connection that was lost, BEFORE the hook wakes anyone: whoever looks next opens a new one.
func (p *Pool) broken(c *connection) {
	if p.discard(c) {
		call(p.OnBreak, c.target.Cluster)
	}
}

// discard forgets a connection that turned out to be broken, and says whether it was still kept.
func (p *Pool) discard(c *connection) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.connections[c.key()] != c {
		return false
	}
	delete(p.connections, c.key())
	c.close()
	return true
}

// silent puts a server that took a command and gave no answer in time aside for redialDelay. Its connection is
// closed: the answers still owed on it must not be taken for later ones'.
func (p *Pool) silent(c *connection, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.connections[c.key()] != c {
		return
	}
	c.close()
	aside := &connection{target: c.target, user: c.user, identity: c.identity, began: time.Now(), done: make(chan struct{})}
	aside.ended(err)
	p.put(aside)
}

func call(hook func(types.NamespacedName), cluster types.NamespacedName) {
	if hook != nil {
		hook(cluster)
	}
}

// errSlow is the silence of a server whose connection takes longer than a pass waits.
var errSlow = timeoutError("connecting takes longer than " + dialPatience.String())

// errBroken is what a connection that was lost says.
var errBroken = errors.New("connection lost")

// A timeoutError is a net.Error that is a timeout.
type timeoutError string

func (e timeoutError) Error() string { return string(e) }

// Timeout is true.
func (timeoutError) Timeout() bool { return true }

// Temporary is true.
func (timeoutError) Temporary() bool { return true }
