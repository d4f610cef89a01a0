// Package apiserver gives a test a real Kubernetes API server: the cluster of KUBECONFIG when that is set, and otherwise a
// kube-apiserver with its etcd, started for the test on loopback. It must not be needed by anything but tests, and it has no
// nodes: nothing runs on it.
package apiserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// startTimeout is ten times what a start takes on an idle machine, for those that are busy building.
	startTimeout = 2 * time.Minute
	// pollInterval is short against the four seconds of a start.
	pollInterval = 50 * time.Millisecond
	// stopTimeout bounds the wait for a killed process; nothing on disk is worth a graceful end.
	stopTimeout = 10 * time.Second
)

// Server is an API server that a test may use as its administrator.
type Server struct {
	// Config connects as a member of system:masters.
	Config *rest.Config

	processes []*process
}

// Start returns the cluster of KUBECONFIG or starts a server whose files are in dir. Stop it in the end.
func Start(dir string) (*Server, error) {
	if file := os.Getenv("KUBECONFIG"); file != "" {
		config, err := clientcmd.BuildConfigFromFlags("", file)
		if err != nil {
			return nil, fmt.Errorf("read KUBECONFIG: %w", err)
		}
		return &Server{Config: config}, nil
	}
	s := &Server{}
	if err := s.start(dir); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *Server) start(dir string) error {
	bin, err := binaries()
	if err != nil {
		return err
	}
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	etcd, peer, secure := ports[0], ports[1], ports[2]
	if err := s.run(dir, filepath.Join(bin, "etcd"), etcdFlags(dir, etcd, peer)); err != nil {
		return err
	}
	token, err := credentials(dir)
	if err != nil {
		return err
	}
	if err := s.run(dir, filepath.Join(bin, "kube-apiserver"), apiserverFlags(dir, etcd, secure)); err != nil {
		return err
	}
	return s.connect(dir, secure, token)
}

// Stop ends what Start started and nothing else.
func (s *Server) Stop() error {
	var failures []error
	for i := len(s.processes) - 1; i >= 0; i-- {
		failures = append(failures, s.processes[i].stop())
	}
	return errors.Join(failures...)
}

func (s *Server) run(dir, binary string, flags []string) error {
	p, err := launch(dir, binary, flags)
	if err != nil {
		return err
	}
	s.processes = append(s.processes, p)
	return nil
}

// connect waits until the server is ready. Its certificate signs itself, and appears with it.
func (s *Server) connect(dir string, port int, token string) error {
	s.Config = &rest.Config{
		Host:            "https://127.0.0.1:" + strconv.Itoa(port),
		BearerToken:     token,
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(dir, "certs", "apiserver.crt")},
		QPS:             -1,
	}
	last := errors.New("no answer yet")
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(pollInterval) {
		for _, p := range s.processes {
			if err := p.ended(); err != nil {
				return err
			}
		}
		if last = ready(s.Config); last == nil {
			return nil
		}
	}
	return fmt.Errorf("wait for kube-apiserver: %w", last)
}

func ready(config *rest.Config) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	response, err := client.Get(config.Host + "/readyz")
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("/readyz: %s", response.Status)
	}
	return nil
}

// binaries is where `make localkube` puts what it builds.
func binaries() (string, error) {
	if cache := os.Getenv("LOCALKUBE_CACHE"); cache != "" {
		return complete(filepath.Join(cache, "bin"))
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory: %w", err)
	}
	return complete(filepath.Join(cache, "valkey-operator", "localkube", "bin"))
}

// complete returns the directory if it has what a server consists of.
func complete(bin string) (string, error) {
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			return "", fmt.Errorf("no %s to test with: run `make localkube`, or set KUBECONFIG to a cluster of yours: %w", name, err)
		}
	}
	return bin, nil
}

func etcdFlags(dir string, client, peer int) []string {
	clientURL, peerURL := "http://127.0.0.1:"+strconv.Itoa(client), "http://127.0.0.1:"+strconv.Itoa(peer)
	return []string{
		"--data-dir=" + filepath.Join(dir, "etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls=" + clientURL, "--advertise-client-urls=" + clientURL,
		"--listen-peer-urls=" + peerURL, "--initial-advertise-peer-urls=" + peerURL, "--initial-cluster=default=" + peerURL,
	}
}

func apiserverFlags(dir string, etcd, secure int) []string {
	key := filepath.Join(dir, "service-account.key")
	return []string{
		"--etcd-servers=http://127.0.0.1:" + strconv.Itoa(etcd),
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port=" + strconv.Itoa(secure),
		"--cert-dir=" + filepath.Join(dir, "certs"),
		"--token-auth-file=" + filepath.Join(dir, "tokens.csv"), "--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + key, "--service-account-signing-key-file=" + key,
		"--service-cluster-ip-range=10.96.0.0/16",
		"--endpoint-reconciler-type=none", // 127.0.0.1 is no address for other machines' Endpoints.
	}
}

// credentials writes the service account key and the administrator's token, and returns the token.
func credentials(dir string) (string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", fmt.Errorf("make service account key: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return "", fmt.Errorf("make service account key: %w", err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	token := rand.Text()
	return token, errors.Join(
		os.WriteFile(filepath.Join(dir, "service-account.key"), text, 0o600),
		os.WriteFile(filepath.Join(dir, "tokens.csv"), []byte(token+",admin,admin,system:masters\n"), 0o600),
	)
}

// freePorts are ports of loopback that were free a moment ago.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer listener.Close() // all stay open until the last is found, so that no two are the same
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
