package valkey

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"

	valkeygo "github.com/valkey-io/valkey-go"
)

const (
	// idlePing is after how long without traffic a connection is tried with a PING. It finds the host that vanished
	// without a word while its cluster is idle and seldom looked at.
	idlePing = 5 * time.Second
	// bufferSize suits a CLUSTER NODES of some hundred lines; the library's half a megabyte is for bulk traffic.
	bufferSize = 16 << 10
	// ringScale is the exponent of how many commands may be under way at once: 256, a pass sends about ten.
	ringScale = 8
)

// A connection is one to one server, or an attempt at it. Its fields below done are set before done is
// closed and never after, except left, which the pool's lock guards, and beforeMigrations.
type connection struct {
	target   Target
	user     string
	identity identity
	began    time.Time
	// used is when it was last asked for, in Unix seconds.
	used atomic.Int64
	// done is closed when the attempt has ended.
	done   chan struct{}
	err    error
	redial time.Time // not before this is a failed attempt repeated
	client valkeygo.Client
	socket *socket
	// accepted is the password that the server took.
	accepted string
	// left says that somebody has stopped waiting for the attempt.
	left bool
	// beforeMigrations says that the server is of a release that has no slot migration jobs. It is learnt from what
	// the server says of itself and holds as long as the connection: another release is another process.
	beforeMigrations atomic.Bool
}

func newConnection(t Target, a Access) *connection {
	c := &connection{target: t, user: a.user(), identity: a.identity(), began: time.Now(), done: make(chan struct{})}
	c.used.Store(c.began.Unix())
	return c
}

// key is where the pool keeps it.
func (c *connection) key() endpoint { return c.target.key(c.user) }

// unused says that the connection is one that is not worth keeping between uses.
func (c *connection) unused() bool {
	return c.user != Username && time.Since(time.Unix(c.used.Load(), 0)) > carryIdle
}

// settled says that the attempt has ended, well or not.
func (c *connection) settled() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// due says that the attempt failed and may be repeated.
func (c *connection) due() bool {
	return c.settled() && c.err != nil && time.Now().After(c.redial)
}

// ended records how the attempt ended. Only silence is waited out: a refusal costs one packet each way, and
// a server that just starts is to be found at once.
func (c *connection) ended(err error) {
	c.err = err
	if Silence(err) == SilenceTimeout {
		c.redial = time.Now().Add(redialDelay)
	}
	close(c.done)
}

// close lets go of the connection without a word to the hooks. An attempt under way is closed when it settles.
func (c *connection) close() {
	if c.settled() && c.client != nil {
		c.socket.released.Store(true)
		go c.client.Close() // it waits for a silent server up to a second
	}
}

// dial opens the connection with the first password that the server takes. A loss of it later is told to broken, once.
func (c *connection) dial(a Access, broken func(*connection)) error {
	var err error
	for _, password := range a.passwords() {
		if err = c.dialWith(password, a, broken); !unauthenticated(err) {
			return err
		}
	}
	return err
}

func (c *connection) dialWith(password string, a Access, broken func(*connection)) error {
	one := &dialer{broken: func() { broken(c) }}
	client, err := valkeygo.NewClient(c.options(password, a, one))
	if err != nil {
		if client != nil {
			client.Close()
		}
		return err
	}
	c.client, c.socket, c.accepted = client, one.socket, password
	c.socket.established.Store(true)
	return nil
}

func (c *connection) options(password string, a Access, one *dialer) valkeygo.ClientOption {
	o := valkeygo.ClientOption{
		InitAddress:         []string{c.target.Address},
		Username:            a.user(),
		Password:            password,
		Dialer:              net.Dialer{Timeout: dialTimeout, KeepAlive: idlePing},
		ConnWriteTimeout:    patience(a.user()),
		ForceSingleClient:   true,
		DisableCache:        true,
		DisableRetry:        true,
		AlwaysRESP2:         true, // in RESP3 the library leaves the "txt:" before INFO and CLUSTER NODES
		AlwaysPipelining:    true, // its reader waits on the socket, so that a break is noticed when it happens
		PipelineMultiplex:   -1,   // one connection
		RingScaleEachConn:   ringScale,
		ReadBufferEachConn:  bufferSize,
		WriteBufferEachConn: bufferSize,
		ClientSetInfo:       valkeygo.DisableClientSetInfo,
		DialCtxFn: func(ctx context.Context, address string, d *net.Dialer, config *tls.Config) (net.Conn, error) {
			return one.open(ctx, a, address, d, config)
		},
	}
	if a.TLS {
		o.TLSConfig = a.config(c.target.Hostname)
	}
	return o
}

// A dialer opens the one socket of a client.
type dialer struct {
	socket *socket
	broken func()
}

// open opens the socket, the first time only: the library would open another in the middle of a command, and
// whether to try again is the pool's to say.
func (one *dialer) open(ctx context.Context, a Access, address string, d *net.Dialer, config *tls.Config) (net.Conn, error) {
	if one.socket != nil {
		return nil, errBroken
	}
	conn, err := dialSocket(ctx, a, address, d, config)
	if err != nil {
		return nil, err
	}
	one.socket = &socket{Conn: conn, broken: one.broken}
	return one.socket, nil
}

func dialSocket(ctx context.Context, a Access, address string, d *net.Dialer, config *tls.Config) (net.Conn, error) {
	if config != nil {
		return a.dialTLS(ctx, address, d, config)
	}
	return d.DialContext(ctx, "tcp", address)
}

// A socket tells when it is lost.
type socket struct {
	net.Conn
	broken func()
	// established says that the server has accepted the greeting, released that we have let go.
	established, released atomic.Bool
}

// Read reads; an error on an established socket that we still hold is its loss.
func (s *socket) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	if err != nil && s.established.Load() && s.released.CompareAndSwap(false, true) {
		s.broken()
	}
	return n, err
}
