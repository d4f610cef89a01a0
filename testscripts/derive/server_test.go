package derive

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// startTimeout bounds the wait for a server's first answer; it takes some
// milliseconds on an idle machine, and seconds on one that builds.
const startTimeout = 30 * time.Second

// server is a real Valkey server that runs what was derived.
type server struct {
	cmd     *exec.Cmd
	address string
	busPort string
	root    string
	log     string
	exited  chan error
}

// binary is where localkube keeps the server of a version, such as 9.1.
func binary(version string) (string, error) {
	cache := os.Getenv("LOCALKUBE_CACHE")
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find the cache: %w", err)
		}
		cache = filepath.Join(dir, "valkey-operator", "localkube")
	}
	path := filepath.Join(cache, "bin", "valkey", version, "valkey-server")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("no Valkey %s to test with; localkube fetches it: %w", version, err)
	}
	return path, nil
}

// start starts a server. Only what must differ on a shared machine differs from
// a pod: the root directory and the two ports.
func (s *stage) start(_ *testscript.TestScript, args []string) (string, error) {
	if len(args) != 1 {
		return "", fmt.Errorf("usage: server VERSION")
	}
	s.stop()
	var err error
	s.server, err = startServer(args[0], filepath.Join(s.dir, "pod-"+args[0]), s.desired.Conf, s.desired.ACLFile)
	return "", err
}

func startServer(version, root, conf, acl string) (*server, error) {
	path, err := binary(version)
	if err != nil {
		return nil, err
	}
	if err := furnish(root, conf, acl); err != nil {
		return nil, err
	}
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	sv := &server{root: root, address: net.JoinHostPort("127.0.0.1", ports[0]), busPort: ports[1], log: filepath.Join(root, "log"), exited: make(chan error, 1)}
	log, err := os.Create(sv.log)
	if err != nil {
		return nil, fmt.Errorf("start Valkey %s: %w", version, err)
	}
	sv.cmd = exec.Command(path, filepath.Join(root, "etc/valkey/config/valkey.conf"), "--port", ports[0], "--cluster-port", ports[1])
	sv.cmd.Stdout, sv.cmd.Stderr = log, log
	if err := sv.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start Valkey %s: %w", version, err)
	}
	go func() { sv.exited <- sv.cmd.Wait() }()
	return sv, sv.answers()
}

// furnish lays out a pod's files under root.
func furnish(root, conf, acl string) error {
	files := map[string]string{
		"etc/valkey/config/valkey.conf":    rooted(root, conf),
		"etc/valkey/acl/users.acl":         acl,
		"etc/valkey/auth/primaryauth.conf": "masterauth " + replPassword + "\n",
		"var/lib/valkey/.keep":             "",
		"run/valkey/.keep":                 "",
	}
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("lay out a pod: %w", err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return fmt.Errorf("lay out a pod: %w", err)
		}
	}
	return nil
}

// rooted moves a pod's paths under root.
func rooted(root, conf string) string {
	return strings.NewReplacer("/etc/valkey/", root+"/etc/valkey/", "/var/lib/valkey", root+"/var/lib/valkey",
		"/run/valkey/", root+"/run/valkey/").Replace(conf)
}

// taken are the ports that this process has given out.
var taken sync.Map

// freePorts finds ports below those that the kernel gives to outgoing
// connections, so that nobody takes one before the server does.
func freePorts(n int) ([]string, error) {
	const lowest, highest, tries = 10000, 30000, 100
	var ports []string
	for range tries {
		port := strconv.Itoa(lowest + rand.IntN(highest-lowest))
		if _, used := taken.LoadOrStore(port, true); used {
			continue
		}
		l, err := net.Listen("tcp", ":"+port)
		if err != nil {
			continue // somebody listens there
		}
		if err := l.Close(); err != nil {
			return nil, fmt.Errorf("find a port: %w", err)
		}
		if ports = append(ports, port); len(ports) == n {
			return ports, nil
		}
	}
	return nil, fmt.Errorf("no free port after %d tries", tries)
}

// answers waits for the first answer, or for the server to give up.
func (sv *server) answers() error {
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		select {
		case err := <-sv.exited:
			sv.exited <- err
			return fmt.Errorf("the server refused to start: %w\n%s", err, sv.tail())
		default:
		}
		if c, err := net.Dial("tcp", sv.address); err == nil {
			return c.Close()
		}
	}
	return fmt.Errorf("the server does not answer on %s\n%s", sv.address, sv.tail())
}

// tail is the end of the server's log.
func (sv *server) tail() string {
	b, err := os.ReadFile(sv.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-6):], "\n")
}

func (sv *server) stop() {
	if err := sv.cmd.Process.Kill(); err != nil {
		return // it has ended before
	}
	sv.exited <- <-sv.exited
}

// as sends one command as a user.
func (sv *server) as(user, password string, args ...string) (string, error) {
	c, err := dial(sv.address)
	if err != nil {
		return "", err
	}
	defer c.close()
	if _, err := c.do("AUTH", user, password); err != nil {
		return "", fmt.Errorf("log in as %s: %w", user, err)
	}
	return c.do(args...)
}

func (s *stage) valkey(_ *testscript.TestScript, args []string) (string, error) {
	return s.say("_momento_operator", operatorPassword, args)
}

func (s *stage) valkeyAs(_ *testscript.TestScript, args []string) (string, error) {
	if len(args) < 2 {
		return "", errors.New("usage: valkey-as USER ARG")
	}
	password := args[0]
	if args[0] == "_momento_repl" {
		password = replPassword
	}
	return s.say(args[0], password, args[1:])
}

// say prints a reply; an error reply is printed too, and fails the command.
func (s *stage) say(user, password string, args []string) (string, error) {
	if s.server == nil {
		return "", fmt.Errorf("no server: start one first")
	}
	reply, err := s.server.as(user, password, args...)
	if err != nil {
		return err.Error() + "\n", err
	}
	return reply + "\n", nil
}

func (s *stage) configGet(_ *testscript.TestScript, args []string) (string, error) {
	reply, err := s.server.as("_momento_operator", operatorPassword, "CONFIG", "GET", args[0])
	if err != nil {
		return "", err
	}
	_, value, ok := strings.Cut(reply, "\n")
	if !ok {
		return "", fmt.Errorf("the server has no directive %s", strconv.Quote(args[0]))
	}
	return value + "\n", nil
}

// serveSlots makes the server a cluster of its own. The short node timeout
// shortens the wait before a primary trusts what it sees.
func (s *stage) serveSlots(_ *testscript.TestScript, _ []string) (string, error) {
	for _, command := range [][]string{{"CONFIG", "SET", "cluster-node-timeout", "500"}, {"CLUSTER", "ADDSLOTSRANGE", "0", "16383"}} {
		if _, err := s.server.as("_momento_operator", operatorPassword, command...); err != nil {
			return "", fmt.Errorf("serve slots: %w", err)
		}
	}
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		info, err := s.server.as("_momento_operator", operatorPassword, "CLUSTER", "INFO")
		if err != nil {
			return "", fmt.Errorf("serve slots: %w", err)
		}
		if strings.Contains(info, "cluster_state:ok") {
			return "", nil
		}
	}
	return "", fmt.Errorf("the server does not serve its slots")
}

// reload replaces the server's ACL file and loads it.
func (s *stage) reload(_ *testscript.TestScript, _ []string) (string, error) {
	if err := os.WriteFile(filepath.Join(s.server.root, "etc/valkey/acl/users.acl"), []byte(s.desired.ACLFile), 0o644); err != nil {
		return "", fmt.Errorf("replace the ACL file: %w", err)
	}
	return s.say("_momento_operator", operatorPassword, []string{"ACL", "LOAD"})
}
