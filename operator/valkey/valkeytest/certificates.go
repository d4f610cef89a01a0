package valkeytest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// An Authority signs certificates.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes an authority of its own.
func NewAuthority(t testing.TB, name string) *Authority {
	t.Helper()
	template := x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotAfter: time.Now().AddDate(1, 0, 0),
	}
	a := &Authority{key: newKey(t)}
	a.cert = sign(t, &template, &Authority{cert: &template, key: a.key}, a.key)
	return a
}

// PEM is the authority's certificate.
func (a *Authority) PEM() []byte { return block("CERTIFICATE", a.cert.Raw) }

// Secret is the data of a TLS Secret with a new certificate for the names, of use for servers and clients until then.
// The authorities trusted are this one and the others.
func (a *Authority) Secret(t testing.TB, until time.Time, names []string, others ...*Authority) map[string][]byte {
	t.Helper()
	key := newKey(t)
	leaf := sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "valkey"}, DNSNames: names, NotAfter: until,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a, key)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	data := map[string][]byte{"tls.crt": block("CERTIFICATE", leaf.Raw), "tls.key": block("PRIVATE KEY", der), "ca.crt": a.PEM()}
	for _, other := range others {
		data["ca.crt"] = append(data["ca.crt"], other.PEM()...)
	}
	return data
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t testing.TB, template *x509.Certificate, by *Authority, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore = time.Now().Add(-time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, by.cert, key.Public(), by.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// A Volume is a directory with the files of a Secret as a kubelet keeps it: all of them are exchanged at once.
type Volume struct {
	Dir   string
	count int
}

// NewVolume makes one with the files.
func NewVolume(t testing.TB, files map[string][]byte) *Volume {
	t.Helper()
	v := &Volume{Dir: t.TempDir()}
	v.Refresh(t, files)
	return v
}

// Refresh exchanges the files.
func (v *Volume) Refresh(t testing.TB, files map[string][]byte) {
	t.Helper()
	v.count++
	fresh := filepath.Join(v.Dir, "..data-"+big.NewInt(int64(v.count)).String())
	current, next := filepath.Join(v.Dir, "..data"), filepath.Join(v.Dir, "..data_tmp")
	must(t, os.Mkdir(fresh, 0o700))
	for name, content := range files {
		must(t, os.WriteFile(filepath.Join(fresh, name), content, 0o600))
	}
	must(t, os.Symlink(filepath.Base(fresh), next))
	must(t, os.Rename(next, current))
	for name := range files {
		link := filepath.Join(v.Dir, name)
		if _, err := os.Lstat(link); err != nil {
			must(t, os.Symlink(filepath.Join("..data", name), link))
		}
	}
}

// Directives let a server speak TLS only, with the files of the volume.
func (v *Volume) Directives() []string {
	return []string{"--port", "0", "--tls-port", port, "--tls-cluster", "yes", "--tls-replication", "yes", "--tls-auth-clients", "no",
		"--tls-cert-file", v.Path("tls.crt"), "--tls-key-file", v.Path("tls.key"), "--tls-ca-cert-file", v.Path("ca.crt")}
}

// Path is that of one of the files.
func (v *Volume) Path(file string) string { return filepath.Join(v.Dir, file) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
