package valkey_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

	"valkey.gomomento.com/operator/operator/valkey"
	"valkey.gomomento.com/operator/operator/valkey/valkeytest"
)

// names are those of the targets.
var names = []string{"c.ns.svc.cluster.local", "*.c.ns.svc.cluster.local"}

// trusting is the access that trusts the authorities of TLS Secrets.
func trusting(secrets ...map[string][]byte) valkey.Access {
	a := valkey.Access{Password: valkeytest.Password, TLS: true, RootCAs: x509.NewCertPool()}
	for _, data := range secrets {
		a.RootCAs.AppendCertsFromPEM(data["ca.crt"])
	}
	return a
}

func leafOf(t *testing.T, data map[string][]byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(data["tls.crt"])
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

func nextYear() time.Time { return time.Now().AddDate(1, 0, 0) }

func TestTheAuthoritiesAreFollowedWithoutDroppingConnections(t *testing.T) {
	old, next := valkeytest.NewAuthority(t, "old"), valkeytest.NewAuthority(t, "new")
	first, second := old.Secret(t, nextYear(), names), next.Secret(t, nextYear(), names)
	v := valkeytest.NewVolume(t, first)
	s := valkeytest.Start(t, "9.1", v.Directives()...)
	pool, broken, _ := newPool(t)
	to := target(s.Address())
	eventually(t, pool, to, trusting(second), `tls: failed to verify certificate: x509: certificate signed by unknown authority`)
	eventually(t, pool, to, trusting(first), "")
	// Whom the operator trusts from now on does not matter to a connection that stands.
	if _, err := pool.Ask(context.Background(), to, trusting(second), nil); err != nil {
		t.Fatal(err)
	}
	silent(t, broken)
	v.Refresh(t, second)
	s.Kill()
	await(t, broken)
	s.Run(t, "9.1", v.Directives()...)
	eventually(t, pool, to, trusting(first), `tls: failed to verify certificate: x509: certificate signed by unknown authority`)
	eventually(t, pool, to, trusting(second), "")
}

func TestAnotherNameIsNotAccepted(t *testing.T) {
	data := valkeytest.NewAuthority(t, "ca").Secret(t, nextYear(), []string{"other.ns.svc.cluster.local"})
	s := valkeytest.Start(t, "9.1", valkeytest.NewVolume(t, data).Directives()...)
	pool, _, _ := newPool(t)
	_, err := pool.Servers(map[string]valkey.Target{"c-1": target(s.Address())}, trusting(data)).Leaf(context.Background(), "c-1")
	if err == nil {
		t.Error("it is")
	}
}

// A server whose certificate has expired can be given another only by one who still speaks to it.
func TestAnExpiredCertificateIsAcceptedWhenItIsKnown(t *testing.T) {
	ca := valkeytest.NewAuthority(t, "ca")
	data, other := ca.Secret(t, time.Now().Add(time.Second), names), ca.Secret(t, time.Now().Add(-time.Second), names)
	s := valkeytest.Start(t, "9.1", valkeytest.NewVolume(t, data).Directives()...)
	time.Sleep(time.Until(leafOf(t, data).NotAfter) + time.Second)
	pool, _, _ := newPool(t)
	to, known := target(s.Address()), trusting(data)
	eventually(t, pool, to, known, valkey.SilenceExpired)
	known.Known = []*x509.Certificate{leafOf(t, other)}
	eventually(t, pool, to, known, valkey.SilenceExpired)
	known.Known = append(known.Known, leafOf(t, data))
	eventually(t, pool, to, known, "")
	der, err := pool.Servers(map[string]valkey.Target{"c-1": to}, known).Leaf(context.Background(), "c-1")
	if err != nil || !bytes.Equal(der, leafOf(t, data).Raw) {
		t.Errorf("%v, %v", der, err)
	}
	stranger := known
	stranger.RootCAs = x509.NewCertPool()
	if _, err := pool.Servers(map[string]valkey.Target{"c-1": to}, stranger).Leaf(context.Background(), "c-1"); err == nil {
		t.Error("known is not trusted: the authority still counts")
	}
}
