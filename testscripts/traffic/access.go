package traffic

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/valkey-io/valkey-go"
)

const (
	// dialTimeout bounds the opening of a connection, so that an address that swallows packets is given up well within
	// the time that Valkey itself takes to call a server dead.
	dialTimeout = 500 * time.Millisecond
	// pingTimeout is after how long without an answer the library gives a connection up. Commands have their own time.
	pingTimeout = 2 * time.Second
	// maxRedirections ends the ping-pong between two servers that each name the other as a slot's owner.
	maxRedirections = 16
)

// Access is how a cluster is reached, and as whom.
type Access struct {
	// Seeds are addresses of its servers, host:port. With TLS the host must be a name that the certificate holds.
	Seeds []string
	// Username and Password are of a user who may SET and GET the keys of this package; both are empty for an open server.
	Username, Password string
	// TLS is used when not nil; the name to verify is that of the address dialled.
	TLS *tls.Config
	// Authorities, when not nil, says before each connection whom to trust in the place of TLS.RootCAs: a client outlives
	// the authority that it began with.
	Authorities func() *x509.CertPool
	// Rediscover is how often the client asks the servers that it knows, and Seeds, who belongs to the cluster, though
	// no command has failed; 0 is never. Where all servers may go at once a client needs it, and a name among the Seeds.
	Rediscover time.Duration
	// Resolve finds where to dial for an address that a server or Seeds gave, host:port both: a test may run where the
	// names that servers announce mean nothing. Nil dials the addresses as they are.
	Resolve func(ctx context.Context, address string) (string, error)
}

// Open opens a cluster client. It never repeats a command by itself; see client.
func (a Access) Open() (valkey.Client, error) { return a.client() }

// client opens the one client of a run. It never repeats a command by itself: a SET that was carried out without an
// answer and sent again would pass for a write that took long. Redirections are followed, since what was redirected
// was not carried out.
func (a Access) client() (valkey.Client, error) {
	client, err := valkey.NewClient(valkey.ClientOption{
		InitAddress:      a.Seeds,
		Username:         a.Username,
		Password:         a.Password,
		TLSConfig:        a.TLS,
		DialCtxFn:        a.dial,
		Dialer:           net.Dialer{Timeout: dialTimeout},
		ConnWriteTimeout: pingTimeout,
		DisableRetry:     true,
		DisableCache:     true,
		ClientSetInfo:    valkey.DisableClientSetInfo,
		ClusterOption:    valkey.ClusterOption{MaxMovedRedirections: maxRedirections, ShardsRefreshInterval: a.Rediscover},
	})
	if err != nil {
		if client != nil {
			client.Close()
		}
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	if client.Mode() != valkey.ClientModeCluster {
		client.Close()
		return nil, errors.New("connect to the cluster: the server is of no cluster")
	}
	return client, nil
}

func (a Access) dial(ctx context.Context, address string, dialer *net.Dialer, config *tls.Config) (net.Conn, error) {
	target := address
	if a.Resolve != nil {
		var err error
		if target, err = a.Resolve(ctx, address); err != nil {
			return nil, err
		}
	}
	if config == nil {
		return dialer.DialContext(ctx, "tcp", target)
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	named := config.Clone()
	named.ServerName = host
	if a.Authorities != nil {
		named.RootCAs = a.Authorities()
	}
	return (&tls.Dialer{NetDialer: dialer, Config: named}).DialContext(ctx, "tcp", target)
}
