package observe_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"maps"
	"math/big"
	"strings"
	"testing"
	"time"

	"valkey.gomomento.com/operator/operator/observe"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// An authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sign makes a certificate of the template, signed by the authority, or by itself when that is nil.
func sign(t *testing.T, by *authority, template x509.Certificate) *authority {
	t.Helper()
	signed := &authority{key: newKey(t)}
	if by == nil {
		by = &authority{cert: &template, key: signed.key}
	}
	template.SerialNumber = big.NewInt(now.Unix())
	der, err := x509.CreateCertificate(rand.Reader, &template, by.cert, signed.key.Public(), by.key)
	if err != nil {
		t.Fatal(err)
	}
	if signed.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return signed
}

func newAuthority(t *testing.T, by *authority, name string, end time.Time) *authority {
	t.Helper()
	return sign(t, by, x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: now.AddDate(-1, 0, 0), NotAfter: end,
	})
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func (a *authority) certPEM() []byte { return block("CERTIFICATE", a.cert.Raw) }

func (a *authority) keyPEM(t *testing.T) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(a.key)
	if err != nil {
		t.Fatal(err)
	}
	return block("PRIVATE KEY", der)
}

// leaf is a template of a certificate as it should be.
func leaf() x509.Certificate {
	return x509.Certificate{
		DNSNames:    []string{"c.ns.svc.cluster.local", "*.c.ns.svc.cluster.local"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		NotBefore:   now.Add(-time.Hour), NotAfter: now.AddDate(0, 3, 0),
	}
}

// secretOf is the data of a Secret with a certificate that the authority signed.
func secretOf(t *testing.T, by *authority, template x509.Certificate) map[string][]byte {
	t.Helper()
	l := sign(t, by, template)
	return map[string][]byte{"tls.crt": l.certPEM(), "tls.key": l.keyPEM(t), "ca.crt": by.certPEM()}
}

func TestWhatIsWrongWithATLSSecretIsSaidInTheWordsOfTheStatus(t *testing.T) {
	ca := newAuthority(t, nil, "ca", now.AddDate(5, 0, 0))
	good := secretOf(t, ca, leaf())
	with := func(key string, value []byte) map[string][]byte {
		changed := maps.Clone(good)
		changed[key] = value
		return changed
	}
	without := func(key string) map[string][]byte {
		changed := maps.Clone(good)
		delete(changed, key)
		return changed
	}
	edited := func(edit func(*x509.Certificate)) map[string][]byte {
		template := leaf()
		edit(&template)
		return secretOf(t, ca, template)
	}
	cases := map[string]struct {
		data    map[string][]byte
		problem string
	}{
		"all is well":         {good, ""},
		"no Secret":           {nil, `TLS Secret "s" not found in namespace "ns"`},
		"an empty Secret":     {map[string][]byte{}, `TLS Secret "s" has no data`},
		"no certificate":      {without("tls.crt"), `TLS Secret "s" missing required key "tls.crt"`},
		"no key":              {without("tls.key"), `TLS Secret "s" missing required key "tls.key"`},
		"no authority":        {without("ca.crt"), `TLS Secret "s" missing required key "ca.crt"`},
		"an empty key":        {with("tls.key", nil), `TLS Secret "s" missing required key "tls.key"`},
		"no PEM":              {with("tls.crt", []byte("hello")), `TLS Secret "s": tls.crt is not valid PEM`},
		"PEM of nothing":      {with("tls.crt", block("CERTIFICATE", []byte("hello"))), `TLS Secret "s": tls.crt is not a valid X.509 certificate`},
		"no name":             {edited(func(c *x509.Certificate) { c.DNSNames = nil }), `TLS cert in Secret "s" missing SAN "c.ns.svc.cluster.local"`},
		"no wildcard":         {edited(func(c *x509.Certificate) { c.DNSNames = c.DNSNames[:1] }), `TLS cert in Secret "s" missing SAN "*.c.ns.svc.cluster.local"`},
		"no Service name":     {edited(func(c *x509.Certificate) { c.DNSNames = c.DNSNames[1:] }), `TLS cert in Secret "s" missing SAN "c.ns.svc.cluster.local"`},
		"another's key":       {with("tls.key", ca.keyPEM(t)), `TLS Secret "s": tls.key does not fit tls.crt: tls: private key does not match public key`},
		"another's authority": {with("ca.crt", newAuthority(t, nil, "other", now.AddDate(1, 0, 0)).certPEM()), `TLS Secret "s": tls.crt does not verify against ca.crt: x509: certificate signed by unknown authority`},
		"an authority that has expired": {
			secretOf(t, newAuthority(t, nil, "old", now.Add(-time.Minute)), leaf()),
			`TLS Secret "s": tls.crt does not verify against ca.crt: an authority's certificate has expired or is not valid yet`,
		},
		"an authority of nothing": {
			with("ca.crt", []byte("hello")), `TLS Secret "s": ca.crt holds no certificate`,
		},
		"expired": {
			edited(func(c *x509.Certificate) { c.NotAfter = now.Add(-time.Minute) }),
			`TLS Secret "s": tls.crt expired at 2026-03-01T11:59:00Z`,
		},
		"not valid yet": {
			edited(func(c *x509.Certificate) { c.NotBefore = now.Add(time.Minute) }),
			`TLS Secret "s": tls.crt is not valid before 2026-03-01T12:01:00Z`,
		},
		"for clients only": {
			edited(func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[1:] }),
			`TLS Secret "s": tls.crt is not for server authentication`,
		},
		"for servers only": {
			edited(func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[:1] }),
			`TLS Secret "s": tls.crt is not for client authentication`,
		},
		"for everything": {edited(func(c *x509.Certificate) { c.ExtKeyUsage = nil }), ""},
		"one wildcard more": {edited(func(c *x509.Certificate) {
			c.DNSNames = append([]string{"example.org"}, c.DNSNames...)
		}), ""},
	}
	for name, c := range cases {
		problem, _ := observe.CheckTLS("s", "ns", "c", "cluster.local", c.data, now)
		if !strings.HasPrefix(problem, c.problem) || (c.problem == "") != (problem == "") {
			t.Errorf("%s: %q, want %q", name, problem, c.problem)
		}
	}
}

func TestWhenACertificateEnds(t *testing.T) {
	year, month := now.AddDate(1, 0, 0), now.AddDate(0, 1, 0)
	root := newAuthority(t, nil, "root", year)
	brief := newAuthority(t, root, "intermediate", month)
	chained := secretOf(t, brief, leaf())
	chained["tls.crt"] = append(chained["tls.crt"], brief.certPEM()...)
	chained["ca.crt"] = root.certPEM()
	bundle := secretOf(t, root, leaf())
	bundle["ca.crt"] = append(newAuthority(t, nil, "old", now.AddDate(0, 0, 1)).certPEM(), bundle["ca.crt"]...)
	broken := secretOf(t, root, leaf())
	broken["tls.key"] = []byte("x")
	cases := map[string]struct {
		data    map[string][]byte
		expiry  time.Time
		problem bool
	}{
		"with the certificate":                      {secretOf(t, root, leaf()), leaf().NotAfter, false},
		"with the intermediate that ends before it": {chained, month, false},
		"not with an authority that did not sign":   {bundle, leaf().NotAfter, false},
		"known even when something else is wrong":   {broken, leaf().NotAfter, true},
		"unknown when there is none":                {map[string][]byte{"tls.crt": {}}, time.Time{}, true},
	}
	for name, c := range cases {
		problem, expiry := observe.CheckTLS("s", "ns", "c", "cluster.local", c.data, now)
		if !expiry.Equal(c.expiry) || (problem != "") != c.problem {
			t.Errorf("%s: %s (%s), want %s", name, expiry, problem, c.expiry)
		}
	}
}
