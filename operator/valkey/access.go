package valkey

import (
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Access is what a server must be shown, and what it must show.
type Access struct {
	// User is the user to be, "" for the operator's own.
	User     string
	Password string
	// Others are tried in turn where Password is refused, as it may be while passwords are rotated.
	Others []string
	// LastResort is tried where all of these are refused, "" for nothing. A connection that it has opened stays only as long
	// as what is asked for stays the same.
	LastResort string
	// TLS says that the servers speak TLS, with certificates that verify against RootCAs.
	TLS     bool
	RootCAs *x509.CertPool
	// Known are the certificates that the operator itself has handed to servers, which are accepted when they have
	// expired.
	Known []*x509.Certificate
}

// user is who to be.
func (a Access) user() string { return cmp.Or(a.User, Username) }

// patience bounds one round trip: what moves keys may take as long as one key does.
func patience(user string) time.Duration {
	if user == Username {
		return commandTimeout
	}
	return carryTimeout
}

// passwords are all to be tried, in order, each once.
func (a Access) passwords() []string {
	all := []string{a.Password}
	for _, other := range append(slices.Clone(a.Others), a.LastResort) {
		if other != "" && !slices.Contains(all, other) {
			all = append(all, other)
		}
	}
	return all
}

// good says that a server is to be shown the password, and not in despair only.
func (a Access) good(password string) bool {
	return password == a.Password || slices.Contains(a.Others, password)
}

// identity is equal for two accesses that a connection serves alike. It has no part in RootCAs: a connection
// that was verified stays good when the authority is renewed, and the next one is verified by the new.
func (a Access) identity() identity {
	var shown []byte
	for _, password := range a.passwords() {
		sum := sha256.Sum256([]byte(password))
		shown = append(shown, sum[:]...)
	}
	return identity{passwords: sha256.Sum256(shown), tls: a.TLS}
}

type identity struct {
	passwords [sha256.Size]byte
	tls       bool
}

// serves says that the connection, or the attempt at one, is as good as one that would be opened with this access.
func (c *connection) serves(a Access) bool {
	if c.identity == a.identity() {
		return true
	}
	return c.settled() && c.err == nil && c.identity.tls == a.TLS && a.good(c.accepted)
}

// Accepted is the password that a server of the cluster has last let the operator in with, "" when none has: the last
// that is known of it when its Secret is gone.
func (p *Pool) Accepted(cluster types.NamespacedName) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted[cluster]
}

// remember must be called with the lock held.
func (p *Pool) remember(c *connection) {
	if p.accepted == nil {
		p.accepted = map[types.NamespacedName]string{}
	}
	p.accepted[c.target.Cluster] = c.accepted
}

// Forget closes the cluster's connections and drops all that is kept about it.
func (p *Pool) Forget(cluster types.NamespacedName) {
	p.Keep(cluster)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.accepted, cluster)
}
