package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
)

const (
	// cliRounds bounds the loop: every round starts two processes.
	cliRounds = 500
	// cliPause leaves the machine to the servers between rounds.
	cliPause = 50 * time.Millisecond
	// cliTimeout is the time of one valkey-cli, which itself waits for ever. To start one in a Pod takes seconds on a
	// busy machine.
	cliTimeout      = 2 * time.Second
	cliInPodTimeout = 10 * time.Second
)

// cmdCliTraffic is a second opinion on the verifying client: another program, a new connection for every command.
func cmdCliTraffic(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	words, login := options(ts, args, "user", "password")
	switch {
	case len(words) == 2 && words[0] == "start" && s.cliTraffic == nil:
		cli, err := s.valkeyCLI(context.Background(), s.key(words[1]), login["user"], login["password"], ts.MkAbs("ca.crt"))
		ts.Check(err)
		s.cliTraffic = startCLITraffic(s.suite, cli)
		ts.Defer(s.cliTraffic.end)
	case len(words) == 2 && words[0] == "stop" && s.cliTraffic != nil:
		run := s.cliTraffic
		s.cliTraffic = nil
		run.end()
		ts.Check(run.verify(context.Background()))
		ts.Logf("valkey-cli: %d SETs acknowledged, %d errors %q, %d wrong, %d lost", len(run.keys), run.errors, run.text, run.wrong, run.lost)
		if run.wrong+run.lost > 0 || len(run.keys) == 0 {
			ts.Fatalf("valkey-cli found that not every acknowledged SET is there, or got none acknowledged")
		}
	default:
		ts.Fatalf("cli-traffic: start|stop CLUSTER [user=U password=P]")
	}
}

// A cliTraffic sets and gets by valkey-cli -c until it is ended.
type cliTraffic struct {
	suite               *suite
	cli                 *valkeyCLI
	cancel              context.CancelFunc
	loop                sync.WaitGroup
	keys                []string // of the acknowledged SETs
	errors, wrong, lost int
	text                string // the first error
}

func startCLITraffic(s *suite, cli *valkeyCLI) *cliTraffic {
	ctx, cancel := context.WithCancel(context.Background())
	t := &cliTraffic{suite: s, cli: cli, cancel: cancel}
	t.loop.Go(func() {
		for i := 0; i < cliRounds && ctx.Err() == nil; i++ {
			t.round(ctx, i)
			select {
			case <-ctx.Done():
			case <-time.After(cliPause):
			}
		}
	})
	return t
}

func (t *cliTraffic) end() {
	t.cancel()
	t.loop.Wait()
}

// cliValue is the value of a key.
func cliValue(key string) string { return "value-of-" + key }

// round sets a key through one server and gets it through the next. A command that the end of the traffic cuts off
// is no error.
func (t *cliTraffic) round(ctx context.Context, i int) {
	pods, err := t.suite.pods(ctx, t.cli.key)
	if err != nil || len(pods) == 0 {
		t.failed(ctx, fmt.Errorf("%d Pods: %w", len(pods), err))
		return
	}
	key := fmt.Sprintf("cli-traffic-%d", i)
	reply, err := t.say(ctx, pods[i%len(pods)], "", "SET", key, cliValue(key))
	if err != nil || reply != "OK" {
		t.failed(ctx, fmt.Errorf("SET: %q, %w", reply, err))
		return
	}
	t.keys = append(t.keys, key)
	reply, err = t.say(ctx, pods[(i+1)%len(pods)], "", "GET", key)
	switch {
	case err != nil:
		t.failed(ctx, fmt.Errorf("GET: %w", err))
	case reply != cliValue(key):
		t.wrong++
	}
}

func (t *cliTraffic) failed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if t.errors++; t.text == "" {
		t.text = err.Error()
	}
}

// verify gets every acknowledged key again, all by one valkey-cli.
func (t *cliTraffic) verify(ctx context.Context) error {
	var questions strings.Builder
	for _, key := range t.keys {
		fmt.Fprintln(&questions, "GET", key)
	}
	return within(ctx, readBackLimit, func() error {
		pods, err := t.suite.pods(ctx, t.cli.key)
		if err != nil || len(pods) == 0 {
			return fmt.Errorf("%d Pods: %w", len(pods), err)
		}
		replies, err := t.say(ctx, pods[0], questions.String())
		if err != nil {
			return err
		}
		values := strings.Split(replies, "\n")
		if len(values) != len(t.keys) {
			return fmt.Errorf("%d replies to %d questions: %.200q", len(values), len(t.keys), replies)
		}
		t.lost = 0
		for i, key := range t.keys {
			if values[i] != cliValue(key) {
				t.lost++
			}
		}
		return nil
	})
}

// say runs valkey-cli -c against one server. With TLS it runs in the Pod, since it has to find other servers by
// names that mean nothing on this machine.
func (t *cliTraffic) say(ctx context.Context, pod corev1.Pod, input string, words ...string) (string, error) {
	program, args, timeout := t.cli.program, t.cli.args(&pod), cliTimeout
	if t.cli.ca != "" {
		inPod := *t.cli
		inPod.ca = "/etc/valkey/tls/ca.crt"
		program, timeout = t.suite.kubectl(), cliInPodTimeout
		args = append([]string{"-n", pod.Namespace, "exec", "-i", pod.Name, "--", "valkey-cli"}, inPod.args(&pod)...)
	}
	timed, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(timed, program, append(append(args, "-c"), words...)...)
	cmd.Stdin = strings.NewReader(input)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%w: %.200s%.200s", err, errs.String(), out.String())
	}
	return strings.TrimRight(withoutRedirections(out.String()), "\n"), nil
}

// withoutRedirections leaves out what valkey-cli says of its way, in the midst of the replies.
func withoutRedirections(text string) string {
	var replies strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "-> Redirected to slot") {
			replies.WriteString(line)
		}
	}
	return replies.String()
}
