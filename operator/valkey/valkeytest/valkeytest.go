// Package valkeytest starts real Valkey servers for tests: the binaries that
// localkube unpacks, on loopback addresses, with the users of a cluster.
//
// A test that needs a server it cannot start fails; it must not be skipped, for
// what the servers really say is the point of these tests.
package valkeytest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Versions are the releases of Valkey that tests run on, newest first.
var Versions = []string{"9.1", "8.1", "8.0"}

const (
	// Password is that of the user _momento_operator, who may do everything here. It has the form of a cluster's.
	Password = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	// Revision is the revision of the ACL file: the password hash of _momento_revision.
	Revision = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	// startTimeout bounds the wait for a server to listen: milliseconds on an idle machine, seconds on one that builds.
	startTimeout = 30 * time.Second
	// port is the one that every server of a cluster listens on.
	port = "6379"
)

// A Server is a running server.
type Server struct {
	IP, Dir string
	process *os.Process
	done    chan struct{}
}

// Address is host:port.
func (s *Server) Address() string { return net.JoinHostPort(s.IP, port) }

// Start starts a server of the cluster kind on an address of its own and waits until it listens. The test's end kills it.
func Start(t testing.TB, version string, directives ...string) *Server {
	t.Helper()
	s := &Server{IP: loopback(t), Dir: t.TempDir()}
	s.Run(t, version, directives...)
	return s
}

// Run starts the server, or starts it again on the address and the files it had.
func (s *Server) Run(t testing.TB, version string, directives ...string) {
	t.Helper()
	s.write(t, "users.acl", users)
	args := []string{"--port", port, "--bind", s.IP, "--dir", s.Dir, "--aclfile", filepath.Join(s.Dir, "users.acl"),
		"--cluster-enabled", "yes", "--cluster-announce-ip", s.IP,
		"--primaryuser", "_momento_operator", "--primaryauth", Password, "--repl-diskless-sync-delay", "0"}
	cmd := exec.Command(binary(t, version), slices.Concat(args, directives)...)
	var err error
	if cmd.Stdout, err = os.Create(filepath.Join(s.Dir, "log")); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start Valkey %s: %v", version, err)
	}
	s.process, s.done = cmd.Process, make(chan struct{})
	go func() { defer close(s.done); exited(t, cmd.Wait()) }()
	t.Cleanup(s.Kill)
	s.awaitListening(t)
}

// users is the ACL file; an empty line ends it.
var users = strings.Join([]string{
	"user default off",
	"user _momento_revision off #" + Revision,
	"user _momento_operator on >" + Password + " ~* &* +@all", "",
}, "\n")

// exited passes over how a server ends: all of them are killed.
func exited(t testing.TB, err error) {
	var killed *exec.ExitError
	if err != nil && !errors.As(err, &killed) {
		t.Logf("wait for a server: %v", err)
	}
}

// Kill kills the server the hard way, stopped or not, and waits until it is gone.
func (s *Server) Kill() {
	if err := s.process.Kill(); err != nil {
		return // it is gone
	}
	<-s.done
}

// Stop makes the server hang, Continue go on.
func (s *Server) Stop(t testing.TB) { s.signal(t, syscall.SIGSTOP) }

// Continue lets a stopped server go on.
func (s *Server) Continue(t testing.TB) { s.signal(t, syscall.SIGCONT) }

func (s *Server) signal(t testing.TB, signal os.Signal) {
	t.Helper()
	if err := s.process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

func (s *Server) write(t testing.TB, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.Dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s *Server) awaitListening(t testing.TB) {
	t.Helper()
	for end := time.Now().Add(startTimeout); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", s.Address()); err == nil {
			if err := conn.Close(); err != nil {
				t.Fatal(err)
			}
			return
		}
		select {
		case <-s.done:
			t.Fatalf("Valkey on %s ended: %s", s.IP, s.log())
		default:
		}
	}
	t.Fatalf("Valkey on %s does not listen: %s", s.IP, s.log())
}

func (s *Server) log() string {
	text, err := os.ReadFile(filepath.Join(s.Dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// binary is where localkube keeps the server of a version.
func binary(t testing.TB, version string) string {
	t.Helper()
	cache := os.Getenv("LOCALKUBE_CACHE")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(user, "valkey-operator", "localkube")
	}
	path := filepath.Join(cache, "bin", "valkey", version, "valkey-server")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("no Valkey %s to test with, `make localkube` brings it: %v", version, err)
	}
	return path
}

// loopback finds an address of 127.0.0.0/8 whose client and bus ports are free. It is picked at random, for tests
// of several packages run at the same time.
func loopback(t testing.TB) string {
	t.Helper()
	for range 100 {
		var b [3]byte
		rand.Read(b[:]) // never fails: crypto/rand ends the program instead
		ip := fmt.Sprintf("127.%d.%d.%d", 128|b[0]&0x7f, b[1], 1+b[2]%254)
		if free(net.JoinHostPort(ip, port)) && free(net.JoinHostPort(ip, "1"+port)) {
			return ip
		}
	}
	t.Fatal("no free loopback address")
	return ""
}

func free(address string) bool {
	l, err := net.Listen("tcp", address)
	return err == nil && l.Close() == nil
}
