package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/valkey-io/valkey-go"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/engine/topology"
)

// strayPace is the time between two writes of a stray client, in the words of valkey-cli.
const strayPace = "0.05"

// A stray is a client on a primary's own machine that writes to this one server and follows no redirection: when the
// server is cut off from the others, so is its client.
type stray struct {
	pod  string
	stop func()
	mu   sync.Mutex
	// taken is when the last write was acknowledged, refused how often one was not, said the last reply.
	taken   time.Time
	writes  int
	refused int
	said    string
	// ended is why the client was not there to the end; nil when it was.
	ended error
}

// cmdStray starts a stray client, or ends it with the bar that it has to keep.
func cmdStray(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	words, bars := options(ts, args, "until")
	switch {
	case len(words) == 2 && words[0] != "stop" && s.stray == nil:
		key := s.key(words[0])
		pod, err := s.find(context.Background(), key, "primary", words[1])
		ts.Check(err)
		s.stray, err = s.startStray(context.Background(), key, pod)
		ts.Check(err)
		ts.Defer(s.stray.stop)
		ts.Check(within(context.Background(), answerLimit, s.stray.accepted))
	case len(words) == 1 && words[0] == "stop" && s.stray != nil && bars["until"] != "":
		s.stray.stop()
		ts.Check(s.stray.ended)
		last := s.stray.taken.Sub(s.parted)
		ts.Logf("%s took %d writes of the client beside it, the last %s after it was cut off, refused %d, and says %q",
			s.stray.pod, s.stray.writes, last, s.stray.refused, s.stray.said)
		if last > limit(ts, bars["until"]) {
			ts.Fatalf("%s took a write %s after it was cut off, at most %s are allowed", s.stray.pod, last, bars["until"])
		}
		if s.stray.refused == 0 {
			ts.Fatalf("%s refused no write: nobody saw it cut off", s.stray.pod)
		}
	default:
		ts.Fatalf("stray: CLUSTER SHARD, then stop until=DURATION")
	}
}

// startStray starts valkey-cli on the Pod's machine, where there is no shell for the script that it is. It ends when nobody
// reads what it prints.
func (s *suite) startStray(ctx context.Context, key client.ObjectKey, pod *corev1.Pod) (*stray, error) {
	name, err := s.keyIn(ctx, key, pod)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(filepath.Join(s.root, "bin", "localkube"), "exec-node", pod.Spec.NodeName, "--",
		"busybox", "sh", s.valkeyBinary("9.1", "valkey-cli"), "-h", pod.Status.PodIP, "-r", "-1", "-i", strayPace, "SET", name, "stray")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a client on %s: %w", pod.Spec.NodeName, err)
	}
	c := &stray{pod: pod.Name}
	var reading sync.WaitGroup
	reading.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			c.heard(lines.Text())
		}
	})
	c.stop = sync.OnceFunc(func() {
		// Who has ended cannot be killed.
		c.ended = cmd.Process.Kill()
		if err := out.Close(); err != nil {
			c.ended = errors.Join(c.ended, err)
		}
		reading.Wait()
		var killed *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &killed) || killed.ExitCode() >= 0 {
			c.ended = errors.Join(c.ended, err, fmt.Errorf("the client beside %s ended by itself and said %q", c.pod, c.said))
		}
	})
	return c, nil
}

func (c *stray) heard(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if line == "" {
		return
	}
	c.said = line
	if line != "OK" {
		c.refused++
		return
	}
	c.writes, c.taken = c.writes+1, time.Now()
}

// accepted returns nil when a write was acknowledged.
func (c *stray) accepted() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writes == 0 {
		return fmt.Errorf("%s takes no write: %s", c.pod, c.said)
	}
	return nil
}

// keyIn is a key in a slot that the server says it has.
func (s *suite) keyIn(ctx context.Context, key client.ObjectKey, pod *corev1.Pod) (string, error) {
	var m member
	err := s.atServer(ctx, key, pod, func(c valkey.Client) (err error) {
		m, err = describe(ctx, c)
		return err
	})
	if err != nil {
		return "", err
	}
	self := m.self()
	if len(self.Slots) == 0 {
		return "", fmt.Errorf("%s has no slots", pod.Name)
	}
	for i := 0; ; i++ {
		if name := fmt.Sprintf("stray-%d", i); self.Holds(topology.SlotOf(name)) {
			return name, nil
		}
	}
}
