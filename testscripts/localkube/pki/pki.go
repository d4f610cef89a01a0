// Package pki makes the certificates and kubeconfigs of a cluster: one authority, one certificate for each server and each
// client. It must not reuse anything of an earlier cluster, so that a forgotten kubeconfig opens nothing.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// lifetime is longer than any test cluster lives; clockSkew lets a machine with a slow clock join.
const (
	lifetime  = 10 * 365 * 24 * time.Hour
	clockSkew = time.Hour
)

// Pair is a certificate and its key, both in PEM.
type Pair struct{ Certificate, Key []byte }

// Authority signs the cluster's certificates.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

// NewAuthority makes a new one.
func NewAuthority() (*Authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	template, err := newTemplate("localkube")
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make the certificate authority: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("make the certificate authority: %w", err)
	}
	return &Authority{certificate: certificate, key: key, pem: encode("CERTIFICATE", der)}, nil
}

// Client makes a certificate by which the API server knows a user of that name and groups.
func (a *Authority) Client(user string, groups ...string) (Pair, error) {
	template, err := newTemplate(user)
	if err != nil {
		return Pair{}, err
	}
	template.Subject.Organization = groups
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.sign(template)
}

// Server makes a certificate for a server that is reached by those names and addresses.
func (a *Authority) Server(name string, names []string, addresses ...string) (Pair, error) {
	template, err := newTemplate(name)
	if err != nil {
		return Pair{}, err
	}
	template.DNSNames = names
	for _, address := range addresses {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(address))
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	return a.sign(template)
}

// Pair is the authority's own certificate and key; the controller-manager signs with it.
func (a *Authority) Pair() (Pair, error) {
	key, err := encodeKey(a.key)
	return Pair{Certificate: a.pem, Key: key}, err
}

// SigningKey makes a key pair for ServiceAccount tokens: the private key and, as Certificate, the public key.
func SigningKey() (Pair, error) {
	key, err := newKey()
	if err != nil {
		return Pair{}, err
	}
	private, err := encodeKey(key)
	if err != nil {
		return Pair{}, err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return Pair{}, fmt.Errorf("encode the ServiceAccount key: %w", err)
	}
	return Pair{Certificate: encode("PUBLIC KEY", public), Key: private}, nil
}

func (a *Authority) sign(template *x509.Certificate) (Pair, error) {
	key, err := newKey()
	if err != nil {
		return Pair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("sign the certificate of %s: %w", template.Subject.CommonName, err)
	}
	private, err := encodeKey(key)
	return Pair{Certificate: encode("CERTIFICATE", der), Key: private}, err
}

func newTemplate(name string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-clockSkew),
		NotAfter:     now.Add(lifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}, nil
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return key, nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return encode("EC PRIVATE KEY", der), nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
