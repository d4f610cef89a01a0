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
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// cmdCertificate writes a kubernetes.io/tls Secret that fits the cluster, or one with a fault.
func cmdCertificate(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	names := []string{args[1] + "." + s.ns + ".svc.cluster.local", "*." + args[1] + "." + s.ns + ".svc.cluster.local"}
	if len(args) > 2 && args[2] == "without-wildcard" {
		names = names[:1]
	}
	data, err := certificate(names)
	ts.Check(err)
	if len(args) > 2 && args[2] == "without-ca" {
		delete(data, "ca.crt")
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: args[0]},
		Type:       corev1.SecretTypeTLS, Data: data,
	}
	err = s.kube.Create(context.Background(), secret)
	if client.IgnoreAlreadyExists(err) == nil && err != nil {
		err = s.kube.Update(context.Background(), secret)
	}
	ts.Check(err)
}

// certificate makes a CA and a leaf for the names, client and server both.
func certificate(names []string) (map[string][]byte, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "valkey"}, DNSNames: names,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(0, 6, 0),
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	text := func(typ string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: typ, Bytes: der}) }
	return map[string][]byte{
		"tls.crt": text("CERTIFICATE", leafDER), "tls.key": text("PRIVATE KEY", keyDER), "ca.crt": text("CERTIFICATE", caDER),
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
