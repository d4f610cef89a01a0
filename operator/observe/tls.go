package observe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
)

// The keys of a TLS Secret.
const (
	certKey = objects.CertKey
	keyKey  = objects.KeyKey
	caKey   = objects.CAKey
)

// TLS is what was found in a cluster's TLS Secret and in the operator's copy of it, which is what servers serve.
type TLS struct {
	// Secret is the Secret's name.
	Secret string
	// Problem is what is wrong with it, in the words of the status; "" when nothing is.
	Problem string
	// Expiry is when the copied certificate, or the authority it hangs on, ends; without a copy the Secret's; zero when
	// it could not be read.
	Expiry time.Time
	// Known are the certificates of the copy that a server may show: the one it holds and those retired.
	Known []*x509.Certificate

	seen engine.Certificate
	// authorities are those of the copy, without a copy the Secret's.
	authorities []byte
}

// A SecretReader reads Secrets that users own.
type SecretReader interface {
	// Secret is the named Secret on behalf of a cluster of its namespace; the error is NotFound when it does not exist.
	Secret(ctx context.Context, cluster types.NamespacedName, name string) (*corev1.Secret, error)
	// Release says that the cluster is gone.
	Release(cluster types.NamespacedName)
}

// tls reads and checks the cluster's TLS Secret and looks at the copy; nil without TLS.
func (o *Observer) tls(ctx context.Context, c *v1alpha1.ValkeyCluster, copied *corev1.Secret) (*TLS, error) {
	if c.Spec.TLS == nil {
		return nil, nil
	}
	name := c.Spec.TLS.SecretRef
	data, err := o.tlsData(ctx, keyOf(c), name)
	if err != nil {
		return nil, fmt.Errorf("read TLS Secret %s: %w", name, err)
	}
	t := &TLS{Secret: name, authorities: data[caKey], seen: engine.Certificate{Secret: name}}
	t.Problem, t.Expiry = CheckTLS(name, c.Namespace, c.Name, o.ClusterDomain, data, o.Now())
	if name == objects.TLSName(c.Name) {
		t.Problem = fmt.Sprintf("TLS Secret %q: the name is that of the operator's own copy", name)
	}
	if t.Problem == "" {
		t.seen.Offered = objects.CertificateRevision(data)
	}
	if copied != nil {
		t.look(copied)
		_, t.Expiry = CheckTLS(name, c.Namespace, c.Name, o.ClusterDomain, copied.Data, o.Now())
	}
	return t, nil
}

// look takes in what servers serve.
func (t *TLS) look(copied *corev1.Secret) {
	t.seen.Copied = objects.CopiedRevision(copied.Data)
	t.seen.CopiedFrom = copied.Annotations[objects.CopiedFromAnnotation]
	t.authorities = copied.Data[caKey]
	for _, der := range append([][]byte{objects.Leaf(copied.Data)}, objects.Retired(copied.Data)...) {
		if leaf, err := x509.ParseCertificate(der); err == nil {
			t.Known = append(t.Known, leaf)
		}
	}
}

// into completes a Snapshot. Once every server was seen to serve the copy, no retired certificate is known any more.
func (t *TLS) into(s *engine.Snapshot) {
	if t == nil {
		return
	}
	s.Certificate = &t.seen
	behind := func(n engine.Node) bool { return n.Certificate.Proved != t.seen.Copied }
	if len(t.Known) > 1 && !slices.ContainsFunc(s.Nodes, behind) {
		t.Known = t.Known[:1]
	}
}

// roots are what a server's certificate must verify against: the authorities, and itself if it is known. Trust in a
// retired certificate itself, not in who signed it, is all it takes to reach a server that still shows it.
func (t *TLS) roots() *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(t.authorities)
	for _, known := range t.Known {
		roots.AddCert(known)
	}
	return roots
}

// tlsData is nil when there is no such Secret.
func (o *Observer) tlsData(ctx context.Context, cluster types.NamespacedName, name string) (map[string][]byte, error) {
	s, err := o.Secrets.Secret(ctx, cluster, name)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case s.Data == nil:
		return map[string][]byte{}, nil
	}
	return s.Data, nil
}

func keyOf(c *v1alpha1.ValkeyCluster) types.NamespacedName {
	return types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
}

// CheckTLS checks the data of a TLS Secret for a cluster: nil data is a Secret that does not exist. It returns
// the first problem, "" when there is none, and when the certificate ends, zero when it cannot be read.
func CheckTLS(secretName, namespace, cluster, domain string, data map[string][]byte, now time.Time) (problem string, expiry time.Time) {
	if problem := missing(secretName, namespace, data); problem != "" {
		return problem, time.Time{}
	}
	leaf, fault := leafOf(data[certKey])
	if fault != "" {
		return fmt.Sprintf("TLS Secret %q: %s", secretName, fault), time.Time{}
	}
	for _, name := range serverNames(cluster, namespace, domain) {
		if leaf.VerifyHostname(name.probe) != nil {
			return fmt.Sprintf("TLS cert in Secret %q missing SAN %q", secretName, name.san), leaf.NotAfter
		}
	}
	fault, expiry = verify(leaf, data, now)
	if fault != "" {
		return fmt.Sprintf("TLS Secret %q: %s", secretName, fault), expiry
	}
	return "", expiry
}

// missing says which part of the Secret is not there.
func missing(secretName, namespace string, data map[string][]byte) string {
	switch {
	case data == nil:
		return fmt.Sprintf("TLS Secret %q not found in namespace %q", secretName, namespace)
	case len(data) == 0:
		return fmt.Sprintf("TLS Secret %q has no data", secretName)
	}
	for _, key := range []string{certKey, keyKey, caKey} {
		if len(data[key]) == 0 {
			return fmt.Sprintf("TLS Secret %q missing required key %q", secretName, key)
		}
	}
	return ""
}

// leafOf is the first certificate of tls.crt.
func leafOf(crt []byte) (leaf *x509.Certificate, fault string) {
	block, _ := pem.Decode(crt)
	if block == nil {
		return nil, "tls.crt is not valid PEM"
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, "tls.crt is not a valid X.509 certificate"
	}
	return leaf, ""
}

// A serverName is a name that the certificate must hold, and one that a client would look for because of it.
type serverName struct{ san, probe string }

// serverNames are the Service's name and the wildcard of the Pods' names. Pods have names that nobody knows
// before, so that any one will do as a probe.
func serverNames(cluster, namespace, domain string) []serverName {
	service := cluster + "." + namespace + ".svc." + domain
	return []serverName{{service, service}, {"*." + service, "pod." + service}}
}

// verify checks key, dates, chain and usages. Servers are clients of each other, with the same certificate.
func verify(leaf *x509.Certificate, data map[string][]byte, now time.Time) (fault string, expiry time.Time) {
	if _, err := tls.X509KeyPair(data[certKey], data[keyKey]); err != nil {
		return "tls.key does not fit tls.crt: " + err.Error(), leaf.NotAfter
	}
	if now.After(leaf.NotAfter) {
		return "tls.crt expired at " + leaf.NotAfter.UTC().Format(time.RFC3339), leaf.NotAfter
	}
	if now.Before(leaf.NotBefore) {
		return "tls.crt is not valid before " + leaf.NotBefore.UTC().Format(time.RFC3339), leaf.NotAfter
	}
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	if !roots.AppendCertsFromPEM(data[caKey]) {
		return "ca.crt holds no certificate", leaf.NotAfter
	}
	intermediates.AppendCertsFromPEM(data[certKey])
	opts := x509.VerifyOptions{Roots: roots, Intermediates: intermediates, CurrentTime: now}
	chains, err := leaf.Verify(with(opts, x509.ExtKeyUsageAny))
	if err != nil {
		return "tls.crt does not verify against ca.crt: " + chainFault(err), leaf.NotAfter
	}
	return usageFault(leaf, opts), chainExpiry(chains)
}

// chainFault is why a chain does not verify, without the time of day that the library adds: a message that is new
// with every pass would be written with every pass.
func chainFault(err error) string {
	var invalid x509.CertificateInvalidError
	if errors.As(err, &invalid) && invalid.Reason == x509.Expired {
		return "an authority's certificate has expired or is not valid yet"
	}
	return err.Error()
}

func usageFault(leaf *x509.Certificate, opts x509.VerifyOptions) string {
	if _, err := leaf.Verify(with(opts, x509.ExtKeyUsageServerAuth)); err != nil {
		return "tls.crt is not for server authentication"
	}
	if _, err := leaf.Verify(with(opts, x509.ExtKeyUsageClientAuth)); err != nil {
		return "tls.crt is not for client authentication"
	}
	return ""
}

func with(opts x509.VerifyOptions, usage x509.ExtKeyUsage) x509.VerifyOptions {
	opts.KeyUsages = []x509.ExtKeyUsage{usage}
	return opts
}

// chainExpiry is when the last of the chains breaks.
func chainExpiry(chains [][]*x509.Certificate) time.Time {
	var last time.Time
	for _, chain := range chains {
		first := chain[0].NotAfter
		for _, c := range chain {
			if c.NotAfter.Before(first) {
				first = c.NotAfter
			}
		}
		if first.After(last) {
			last = first
		}
	}
	return last
}
