package cluster

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// answerLimit bounds a handshake and an answer on this machine.
const answerLimit = 5 * time.Second

// cmdServed waits until every server shows the Secret's certificate to one who connects and verifies it, and every node
// is recorded to serve the Secret's contents: who only connects does not see which authorities a server trusts.
func cmdServed(ts *testscript.TestScript, _ bool, args []string) {
	s, start := in(ts), time.Now()
	ts.Check(within(context.Background(), limit(ts, args[0]), func() error {
		return s.served(context.Background(), s.key(args[1]), args[2])
	}))
	ts.Logf("every server shows the certificate of %s after %.1fs", args[2], time.Since(start).Seconds())
}

func (s *suite) served(ctx context.Context, key client.ObjectKey, name string) error {
	var secret corev1.Secret
	if err := s.kube.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: name}, &secret); err != nil {
		return err
	}
	want, _ := pem.Decode(secret.Data["tls.crt"])
	if want == nil {
		return fmt.Errorf("tls.crt of Secret %s is no PEM", name)
	}
	if err := s.recorded(ctx, key, objects.CertificateRevision(secret.Data)); err != nil {
		return err
	}
	pods, err := s.pods(ctx, key)
	if err != nil {
		return err
	}
	for i := range pods {
		c, err := s.connect(ctx, key, name, &pods[i])
		if err != nil {
			return err
		}
		shown := c.ConnectionState().PeerCertificates[0].Raw
		if err := c.Close(); err != nil {
			return err
		}
		if !bytes.Equal(shown, want.Bytes) {
			return fmt.Errorf("%s shows another certificate", pods[i].Name)
		}
	}
	return nil
}

// recorded says that every node's status names this revision of the certificate.
func (s *suite) recorded(ctx context.Context, key client.ObjectKey, revision string) error {
	var nodes v1alpha1.ValkeyNodeList
	if err := s.kube.List(ctx, &nodes, of(key)...); err != nil {
		return err
	}
	for i := range nodes.Items {
		if n := &nodes.Items[i]; n.Status.Certificate != revision {
			return fmt.Errorf("%s is recorded to serve %q, not %s", n.Name, n.Status.Certificate, revision)
		}
	}
	return nil
}

// connect opens a connection as a client does that trusts the Secret's authorities and expects the Pod's name.
func (s *suite) connect(ctx context.Context, key client.ObjectKey, secret string, pod *corev1.Pod) (*tls.Conn, error) {
	trust, err := s.tlsConfig(ctx, key, secret, pod.Name)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: answerLimit}
	c, err := tls.DialWithDialer(dialer, "tcp", net.JoinHostPort(pod.Status.PodIP, "6379"), trust)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", pod.Name, err)
	}
	return c, nil
}

// An idler is a client that stays connected and says little.
type idler struct {
	pod  string
	conn *tls.Conn
}

// cmdIdle opens a connection to every server, and finds later whether one was dropped.
func cmdIdle(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	switch args[0] {
	case "connect":
		pods, err := s.pods(context.Background(), s.key(args[1]))
		ts.Check(err)
		secret, err := s.tlsSecret(context.Background(), s.key(args[1]))
		ts.Check(err)
		for i := range pods {
			c, err := s.connect(context.Background(), s.key(args[1]), secret, &pods[i])
			ts.Check(err)
			ts.Defer(func() { ts.Check(c.Close()) })
			s.idlers = append(s.idlers, idler{pods[i].Name, c})
		}
	case "connected":
	default:
		ts.Fatalf("idle: connect CLUSTER, then connected CLUSTER")
	}
	for _, each := range s.idlers {
		if err := ping(each.conn); err != nil {
			ts.Fatalf("the connection to %s: %v", each.pod, err)
		}
	}
	ts.Logf("%d connections are up", len(s.idlers))
}

// ping wants any answer: that of a server which asks for a password will do.
func ping(c net.Conn) error {
	if err := c.SetDeadline(time.Now().Add(answerLimit)); err != nil {
		return err
	}
	if _, err := c.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "+PONG") && !strings.HasPrefix(line, "-NOAUTH") {
		return fmt.Errorf("answered %q, %w", line, err)
	}
	return nil
}
