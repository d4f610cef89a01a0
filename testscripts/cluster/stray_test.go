package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/engine/topology"
)

// labelCluster is the label with the name of the cluster that something belongs to.
const labelCluster = "app.kubernetes.io/instance"

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
}

// cmdStray starts a stray client, or ends it with the bar that it has to keep.
func cmdStray(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	words, bars := options(ts, args, "until")
	switch {
	case len(words) > 0 && words[0] != "stop" && s.stray == nil:
		pod, err := s.besideWhom(context.Background(), words)
		ts.Check(err)
		s.stray, err = s.startStray(context.Background(), pod)
		ts.Check(err)
		ts.Defer(s.stray.stop)
		ts.Check(within(context.Background(), answerLimit, s.stray.accepted))
	case len(words) == 1 && words[0] == "stop" && s.stray != nil && bars["until"] != "":
		s.stray.stop()
		last := s.stray.taken.Sub(s.parted)
		ts.Logf("%s took %d writes of the client beside it, the last %s after it was cut off, refused %d, and says %q",
			s.stray.pod, s.stray.writes, last, s.stray.refused, s.stray.said)
		if last > limit(ts, bars["until"]) || s.stray.refused == 0 {
			ts.Fatalf("%s took a write %s after it was cut off, at most %s are allowed, and refused %d",
				s.stray.pod, last, bars["until"], s.stray.refused)
		}
	default:
		ts.Fatalf("stray: CLUSTER [SHARD], then stop until=DURATION")
	}
}

// besideWhom is the primary of a cluster's shard, or without a shard the one whose machine the verb machine takes.
func (s *scenario) besideWhom(ctx context.Context, words []string) (*corev1.Pod, error) {
	if len(words) == 1 {
		return s.lonePrimary(ctx, s.key(words[0]))
	}
	return s.find(ctx, s.key(words[0]), "primary", words[1])
}

// startStray starts valkey-cli on the Pod's machine, where there is no shell for the script that it is. It ends when nobody reads what it prints.
func (s *suite) startStray(ctx context.Context, pod *corev1.Pod) (*stray, error) {
	key, err := keyOf(ctx, s, pod)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(filepath.Join(s.root, "bin", "localkube"), "exec-node", pod.Spec.NodeName, "--",
		"busybox", "sh", s.valkeyBinary("9.1", "valkey-cli"), "-h", pod.Status.PodIP, "-r", "-1", "-i", strayPace, "SET", key, "stray")
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
		if err := errors.Join(cmd.Process.Kill(), out.Close()); err != nil {
			c.heard(err.Error())
		}
		reading.Wait()
		if err := cmd.Wait(); err == nil {
			c.heard("it ended by itself")
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

// keyOf is a key in the first range of slots that the server says it has.
func keyOf(ctx context.Context, s *suite, pod *corev1.Pod) (string, error) {
	password, err := s.operatorPassword(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: pod.Labels[labelCluster]})
	if err != nil {
		return "", err
	}
	m, err := ask(ctx, pod.Status.PodIP+":6379", password, nil)
	if err != nil {
		return "", err
	}
	for _, line := range m.lines {
		f := strings.Fields(line)
		var first, last int
		if len(f) < 9 || !strings.Contains(f[2], "myself") {
			continue
		}
		if _, err := fmt.Sscanf(f[8], "%d-%d", &first, &last); err != nil {
			return "", fmt.Errorf("read the slots of %s: %w", pod.Name, err)
		}
		for i := 0; ; i++ {
			key := fmt.Sprintf("stray-%d", i)
			if slot := topology.SlotOf(key); first <= slot && slot <= last {
				return key, nil
			}
		}
	}
	return "", fmt.Errorf("%s has no slots", pod.Name)
}
