package cluster

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/valkey-io/valkey-go"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// operatorUser is the system user whose password is read from the cluster's Secret.
const operatorUser = "_momento_operator"

// cmdCli sends one command to one server by valkey-cli; stdout is its reply. An error reply fails it.
func cmdCli(ts *testscript.TestScript, neg bool, args []string) {
	s := in(ts)
	words, login := options(ts, args, "user", "password")
	if len(words) < 4 {
		ts.Fatalf("cli: CLUSTER primary|replica SHARD [user=U password=P] COMMAND..., @primary|replica/SHARD in it a node id")
	}
	key := s.key(words[0])
	pod, err := s.find(context.Background(), key, words[1], words[2])
	ts.Check(err)
	said, err := s.withIDs(context.Background(), key, words[3:])
	ts.Check(err)
	c, err := s.valkeyCLI(context.Background(), key, login["user"], login["password"], ts.MkAbs("ca.crt"))
	ts.Check(err)
	s.disturbed = time.Now() // a script may be the end of a server
	err = ts.Exec(c.program, append(c.args(pod), said...)...)
	if (err != nil) != neg {
		ts.Fatalf("cli %s: unexpected result: %v", strings.Join(words, " "), err)
	}
}

// withIDs puts a server's node id where a word of a command is @primary/SHARD or @replica/SHARD: ids are as new as the servers.
func (s *suite) withIDs(ctx context.Context, key client.ObjectKey, words []string) ([]string, error) {
	var said []string
	for _, word := range words {
		role, shard, isServer := strings.Cut(strings.TrimPrefix(word, "@"), "/")
		if !strings.HasPrefix(word, "@") || !isServer {
			said = append(said, word)
			continue
		}
		pod, err := s.find(ctx, key, role, shard)
		if err != nil {
			return nil, err
		}
		id, err := s.idOf(ctx, key, pod)
		if err != nil {
			return nil, err
		}
		said = append(said, id)
	}
	return said, nil
}

func (s *suite) idOf(ctx context.Context, key client.ObjectKey, pod *corev1.Pod) (id string, err error) {
	err = s.atServer(ctx, key, pod, func(c valkey.Client) error {
		m, err := describe(ctx, c)
		id = m.self().ID
		return err
	})
	return id, err
}

// A valkeyCLI runs valkey-cli on this machine, as one user of one cluster.
type valkeyCLI struct {
	program        string
	key            client.ObjectKey
	user, password string
	ca             string // a file, "" without TLS
}

func (s *suite) valkeyCLI(ctx context.Context, key client.ObjectKey, user, password, caFile string) (*valkeyCLI, error) {
	c := &valkeyCLI{program: s.valkeyBinary("9.1", "valkey-cli"), key: key, user: user, password: password}
	secret, err := s.tlsSecret(ctx, key)
	if err != nil {
		return nil, err
	}
	if user == operatorUser && password == "" {
		if c.password, err = s.operatorPassword(ctx, key); err != nil {
			return nil, err
		}
	}
	if secret == "" {
		return c, nil
	}
	authority, err := s.authority(ctx, key, secret)
	if err != nil {
		return nil, err
	}
	c.ca = caFile
	return c, os.WriteFile(caFile, authority, 0o600)
}

// args are the arguments before the command.
func (c *valkeyCLI) args(pod *corev1.Pod) []string {
	args := []string{"-e", "-h", pod.Status.PodIP}
	if c.user != "" {
		args = append(args, "--no-auth-warning", "--user", c.user, "--pass", c.password)
	}
	if c.ca != "" {
		args = append(args, "--tls", "--cacert", c.ca, "--sni", host(c.key, pod.Name))
	}
	return args
}
