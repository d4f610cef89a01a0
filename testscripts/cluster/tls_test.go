package cluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// An authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// An issue is what the last TLS Secret of a scenario was made of.
type issue struct {
	by   *authority
	data map[string][]byte
}

// A trust is all the authorities of a scenario so far, as a client has them that is told of the next before the last one goes.
type trust struct{ pool atomic.Pointer[x509.CertPool] }

// add trusts one more. Connections that are being opened go on with what they began with.
func (t *trust) add(authorities []byte) {
	pool := x509.NewCertPool()
	if before := t.pool.Load(); before != nil {
		pool = before.Clone()
	}
	pool.AppendCertsFromPEM(authorities)
	t.pool.Store(pool)
}

// briefly is how long a brief certificate lives: longer than it takes to reach all servers.
const briefly = 20 * time.Second

// cmdCertificate writes a kubernetes.io/tls Secret that fits the cluster, or one with a fault.
func cmdCertificate(ts *testscript.TestScript, _ bool, args []string) {
	s, kind := in(ts), ""
	if len(args) > 2 {
		kind = args[2]
	}
	ts.Check(s.issue(kind, strings.TrimPrefix(host(s.key(args[1]), ""), "."), host(s.key(args[1]), "*")))
	s.trusted.add(s.issued.data["ca.crt"])
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: args[0]},
		Type:       corev1.SecretTypeTLS, Data: s.issued.data,
	}
	err := s.kube.Create(context.Background(), secret)
	if client.IgnoreAlreadyExists(err) == nil && err != nil {
		err = s.kube.Update(context.Background(), secret)
	}
	ts.Check(err)
}

// issue makes the next TLS Secret's data: of an authority of its own, or a step on the way from one to the next.
func (s *scenario) issue(kind string, names ...string) error {
	last := s.issued
	var err error
	if s.issued.by == nil || !slices.Contains([]string{"renewed", "brief", "mismatching", "crossed"}, kind) {
		if s.issued.by, err = newAuthority(); err != nil {
			return err
		}
	}
	if kind == "without-wildcard" {
		names = names[:1]
	}
	life := time.Now().AddDate(0, 6, 0)
	if kind == "brief" {
		life = time.Now().Add(briefly)
	}
	if s.issued.data, err = s.issued.by.certify(names, life); err != nil {
		return err
	}
	switch data := s.issued.data; kind {
	case "without-ca":
		delete(data, "ca.crt")
	case "bundled": // the certificate stays, and another authority is trusted
		data["tls.crt"], data["tls.key"] = last.data["tls.crt"], last.data["tls.key"]
		data["ca.crt"] = append(data["ca.crt"], last.data["ca.crt"]...)
	case "crossed": // the certificate is the other authority's, and both are trusted
		data["ca.crt"] = last.data["ca.crt"]
	case "mismatching":
		data["tls.key"] = last.data["tls.key"]
	}
	return nil
}

// newAuthority makes an authority of its own.
func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "test CA"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotAfter: time.Now().AddDate(1, 0, 0),
	}
	a := &authority{cert: template, key: key}
	a.cert, err = a.sign(template, key)
	return a, err
}

func (a *authority) sign(template *x509.Certificate, key *ecdsa.PrivateKey) (*x509.Certificate, error) {
	template.SerialNumber, template.NotBefore = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// certify makes a TLS Secret's data: a leaf for the names, of use for servers and clients until then.
func (a *authority) certify(names []string, until time.Time) (map[string][]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	leaf, err := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "valkey"}, DNSNames: names, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		NotAfter:    until,
	}, key)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	text := func(typ string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: typ, Bytes: der}) }
	return map[string][]byte{
		"tls.crt": text("CERTIFICATE", leaf.Raw), "tls.key": text("PRIVATE KEY", keyDER), "ca.crt": text("CERTIFICATE", a.cert.Raw),
	}, nil
}

// tlsConfig trusts the cluster's own CA and expects the Pod's name; nil without TLS.
func (s *suite) tlsConfig(ctx context.Context, key client.ObjectKey, secretName, pod string) (*tls.Config, error) {
	if secretName == "" {
		return nil, nil
	}
	var secret corev1.Secret
	if err := s.kube.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: secretName}, &secret); err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(secret.Data["ca.crt"]) {
		return nil, fmt.Errorf("no CA in Secret %s", secretName)
	}
	return &tls.Config{RootCAs: pool, ServerName: fmt.Sprintf("%s.%s.%s.svc.cluster.local", pod, key.Name, key.Namespace)}, nil
}
