package actions_test

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

	"valkey.gomomento.com/operator/engine"
)

// serverName is what the certificate of the tests' servers is made out to.
const serverName = "cart.shop.svc.cluster.local"

// certificate makes a certificate that vouches for itself, in files, and the pool that trusts it.
func certificate(t *testing.T) (certFile, keyFile string, roots *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "cart"}, DNSNames: []string{serverName},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	roots = x509.NewCertPool()
	for file, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: keyDER},
	} {
		text := pem.EncodeToMemory(block)
		roots.AppendCertsFromPEM(text)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile, roots
}

func TestCarrySlotsUnderTLS(t *testing.T) {
	certFile, keyFile, roots := certificate(t)
	f := newFormation(t, "8.1", 4, "--port", "0", "--tls-port", "6379", "--tls-cluster", "yes", "--tls-replication", "yes",
		"--tls-auth-clients", "no", "--tls-cert-file", certFile, "--tls-key-file", keyFile, "--tls-ca-cert-file", certFile)
	f.secure(roots)
	f.form(t)
	f.takeUsers(t, "8.1")
	some := engine.SlotRange{From: 0, To: 49}
	f.fill(t, "a", keysIn(some, 500))
	f.carryAll(t, f.migration("a", "b", some))
	f.has(t, "b", keysIn(some, 500))
}
