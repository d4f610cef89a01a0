package valkey

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"
)

// Leaf is the certificate, as DER, that the node's server shows on a connection of its own; see actions.Shower.
func (s Servers) Leaf(ctx context.Context, node string) (der []byte, err error) {
	t, found := s.byNode[node]
	if !found {
		return nil, fmt.Errorf("server of %s: no Pod with an address", node)
	}
	conn, err := s.access.dialTLS(ctx, t.Address, &net.Dialer{Timeout: dialTimeout}, s.access.config(t.Hostname))
	if err != nil {
		return nil, fmt.Errorf("server of %s: %w", node, err)
	}
	defer func() {
		if closing := conn.Close(); err == nil && closing != nil {
			err = closing
		}
	}()
	shown := conn.(*tls.Conn).ConnectionState().PeerCertificates
	return shown[0].Raw, nil
}

// config verifies a server by its name and its certificate.
func (a Access) config(hostname string) *tls.Config {
	return &tls.Config{RootCAs: a.RootCAs, ServerName: hostname, MinVersion: tls.VersionTLS12}
}

// dialTLS opens a connection. A server that shows an expired certificate is verified as of its last second, if it
// is one that the operator has handed to servers itself: they cannot be given a new one otherwise.
func (a Access) dialTLS(ctx context.Context, address string, d *net.Dialer, config *tls.Config) (net.Conn, error) {
	conn, err := (&tls.Dialer{NetDialer: d, Config: config}).DialContext(ctx, "tcp", address)
	shown := shownExpired(err)
	if shown == nil || !slices.ContainsFunc(a.Known, shown.Equal) {
		return conn, err
	}
	past := config.Clone()
	past.Time = func() time.Time { return shown.NotAfter }
	return (&tls.Dialer{NetDialer: d, Config: past}).DialContext(ctx, "tcp", address)
}

// shownExpired is the certificate that a server showed after its time, nil when that is not what the error says.
func shownExpired(err error) *x509.Certificate {
	var verification *tls.CertificateVerificationError
	if !expired(err) || !errors.As(err, &verification) || len(verification.UnverifiedCertificates) == 0 {
		return nil
	}
	return verification.UnverifiedCertificates[0]
}
