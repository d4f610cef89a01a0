package controller_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/operator/valkey"
	"valkey.gomomento.com/operator/operator/valkey/valkeytest"
)

// secret is the cluster's Secret of that name, nil when there is none.
func (s *stand) secret(name string) *corev1.Secret {
	s.t.Helper()
	secret := &corev1.Secret{}
	err := s.kube.Get(s.t.Context(), types.NamespacedName{Namespace: s.key.Namespace, Name: name}, secret)
	s.check(client.IgnoreNotFound(err))
	if err != nil {
		return nil
	}
	return secret
}

// access is what the tests themselves log in with: whatever there is.
func (s *stand) access() valkey.Access {
	a := valkey.Access{Password: valkeytest.Password}
	for _, name := range []string{objects.AuthName(s.key.Name), objects.NextAuthName(s.key.Name)} {
		if secret := s.secret(name); secret != nil {
			a.Others = append(a.Others, objects.Passwords(secret.Data).Operator)
		}
	}
	return a
}

// restart gives the cluster an operator that knows nothing but what it can see.
func (s *stand) restart() {
	s.pool.Close()
	s.pool = &valkey.Pool{}
	s.loop = s.newLoop()
}

// refresh does the kubelets' part for running Pods: their files follow the ConfigMap.
func (s *stand) refresh() {
	s.t.Helper()
	users := &corev1.ConfigMap{}
	s.get(objects.ACLName(s.key.Name), users)
	for _, dir := range s.dirs {
		s.check(os.WriteFile(filepath.Join(dir, "users.acl"), []byte(users.Data[objects.ACLKey]), 0o600))
	}
}

// restless settles the cluster with an operator that is killed after each of its steps.
func (s *stand) restless() {
	s.t.Helper()
	s.eventually("nothing to do", func() bool {
		s.restart()
		s.startPods()
		s.refresh()
		next, err := s.pass()
		return err == nil && next.RequeueAfter >= settled
	})
}

// ask sends a command to a server and returns the reply.
func (s *stand) ask(name string, command ...string) string {
	s.t.Helper()
	replies, err := s.servers().Do(s.t.Context(), name, command)
	s.check(err)
	s.check(replies[0].Err)
	return replies[0].Text
}

// syncs are how many times replicas have come to the servers, and lines that say a link is down.
func (s *stand) syncs() []string {
	s.t.Helper()
	var lines []string
	for name := range s.running {
		for line := range strings.Lines(s.ask(name, "INFO", "stats", "replication")) {
			if strings.HasPrefix(line, "sync_") || strings.HasPrefix(line, "master_link_status:") {
				lines = append(lines, name+" "+strings.TrimSpace(line))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// A caller is a client that was there before, and stays.
type caller struct {
	net.Conn
	replies *bufio.Reader
	calls   int
}

// call connects to the primary as the default user.
func (s *stand) call() *caller {
	s.t.Helper()
	for name, target := range s.running {
		if strings.HasPrefix(s.ask(name, "ROLE"), "master") {
			conn, err := net.Dial("tcp", target.Address)
			s.check(err)
			s.t.Cleanup(func() { conn.Close() })
			return &caller{Conn: conn, replies: bufio.NewReader(conn)}
		}
	}
	s.t.Fatal("no primary")
	return nil
}

// goesOn counts one up on the connection that there has been from the start.
func (c *caller) goesOn(t *testing.T) {
	t.Helper()
	c.calls++
	c.says(t, "INCR calls", fmt.Sprintf(":%d", c.calls))
}

func (c *caller) says(t *testing.T, command, want string) {
	t.Helper()
	if _, err := fmt.Fprint(c, command+"\r\n"); err != nil {
		t.Fatal(err)
	}
	if reply, err := c.replies.ReadString('\n'); err != nil || strings.TrimSpace(reply) != want {
		t.Fatalf("reply %q, error %v, want %q", reply, err, want)
	}
}

// isCut wants the connection to have been ended.
func (c *caller) isCut(t *testing.T) {
	t.Helper()
	if _, err := fmt.Fprint(c, "PING\r\n"); err != nil {
		return
	}
	if reply, err := c.replies.ReadString('\n'); err == nil {
		t.Errorf("still connected: %q", reply)
	}
}

func (s *stand) rotate(value string) {
	s.t.Helper()
	cluster := &v1alpha1.ValkeyCluster{}
	s.get(s.key.Name, cluster)
	cluster.Annotations = map[string]string{objects.RotationAnnotation: value}
	s.check(s.kube.Update(s.t.Context(), cluster))
}

// onlyAccepts wants the servers to accept these passwords and no others, and to use them.
func (s *stand) onlyAccepts(c objects.Credentials) {
	s.t.Helper()
	for name := range s.running {
		for user, password := range map[string]string{"_momento_operator": c.Operator, "_momento_repl": c.Repl} {
			lines := strings.Split(s.ask(name, "ACL", "GETUSER", user), "\n")
			i := slices.Index(lines, "passwords")
			if i < 0 || lines[i+1] != objects.Hash(password) || lines[i+2] != "commands" {
				s.t.Errorf("%s accepts of %s: %q", name, user, lines[i:])
			}
		}
		if got := s.ask(name, "CONFIG", "GET", "masterauth"); got != "masterauth\n"+c.Repl {
			s.t.Errorf("%s replicates with another password", name)
		}
	}
}

func (s *stand) main() objects.Credentials {
	s.t.Helper()
	secret := s.secret(objects.AuthName(s.key.Name))
	if secret == nil || !secret.DeletionTimestamp.IsZero() || !objects.Guarded(secret) {
		s.t.Fatalf("the Secret is not as it should be: %v", secret)
	}
	if s.secret(objects.NextAuthName(s.key.Name)) != nil {
		s.t.Error("there is still a Secret beside it")
	}
	return objects.Passwords(secret.Data)
}

// connections are the operator's, each by its server and the number that it has there.
func (s *stand) connections() []string {
	s.t.Helper()
	var all []string
	for name := range s.running {
		for line := range strings.Lines(s.ask(name, "CLIENT", "LIST")) {
			if id, _, _ := strings.Cut(line, " "); strings.Contains(line, " user="+valkey.Username+" ") {
				all = append(all, name+" "+id)
			}
		}
	}
	slices.Sort(all)
	return all
}

// strip deletes the Secret and takes its finalizer.
func (s *stand) strip() {
	s.t.Helper()
	secret := s.secret(objects.AuthName(s.key.Name))
	secret.Finalizers = nil
	s.check(s.kube.Update(s.t.Context(), secret))
	s.check(s.kube.Delete(s.t.Context(), secret))
}
