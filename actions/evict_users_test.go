package actions_test

import (
	"bufio"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/operator/valkey/valkeytest"
)

// A session is a user's connection to a server that stays open.
type session struct {
	net.Conn
	replies *bufio.Reader
}

// login connects to the server as the user, whose password is its name.
func (f *formation) login(t *testing.T, name, user string) *session {
	t.Helper()
	conn, err := net.Dial("tcp", f.servers[name].Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	s := &session{conn, bufio.NewReader(conn)}
	if reply, err := s.say("AUTH %s %s", user, user); reply != "+OK" {
		t.Fatalf("%s logs in to %s: %q, %v", user, name, reply, err)
	}
	return s
}

func (s *session) say(format string, args ...any) (string, error) {
	if _, err := fmt.Fprintf(s, format+"\r\n", args...); err != nil {
		return "", err
	}
	reply, err := s.replies.ReadString('\n')
	return strings.TrimSpace(reply), err
}

func (s *session) alive() bool {
	reply, err := s.say("PING")
	return err == nil && reply == "+PONG"
}

// users is an ACL file of these users, each with these passwords, and of the operator.
func users(revision string, passwords map[string][]string) string {
	lines := []string{
		"user default off resetchannels -@all", "user _momento_revision off #" + revision + " resetchannels -@all",
		"user _momento_operator on #" + hashOf(valkeytest.Password) + " ~* &* +@all",
	}
	for user, all := range passwords {
		line := "user " + user + " on"
		for _, password := range all {
			line += " #" + hashOf(password)
		}
		lines = append(lines, line+" ~* &* +@all")
	}
	return strings.Join(lines, "\n") + "\n"
}

// want makes these the desired users, in the ConfigMap and in the files of the servers.
func (f *formation) want(t *testing.T, passwords map[string][]string) {
	t.Helper()
	f.Desired.ACLRevision = hashOf(fmt.Sprint(passwords))
	f.Desired.ACLFile = users(f.Desired.ACLRevision, passwords)
	f.run(t, &actions.ApplyObjects{Objects: []string{"ConfigMap/cart-acl"}})
	for _, name := range f.names {
		file := filepath.Join(f.servers[name].Dir, "users.acl")
		if err := os.WriteFile(file, []byte(f.Desired.ACLFile), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// withPods gives every server its Pod at the API server.
func (f *formation) withPods(t *testing.T) {
	t.Helper()
	for _, name := range f.names {
		if err := f.Kube.Create(t.Context(), pod(t, node(f.Cluster, name))); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOnlyWhoLostAPasswordIsEvicted(t *testing.T) {
	for _, version := range valkeytest.Versions {
		t.Run(version, func(t *testing.T) {
			f := newFormation(t, version, 2)
			f.withPods(t)
			load := &actions.LoadACL{Nodes: f.names}
			before := map[string][]string{"ada": {"ada"}, "bob": {"bob"}, "eve": {"eve", "second"}, "zoe": {"zoe"}}
			f.want(t, before)
			f.run(t, load)
			sessions := map[string][]*session{}
			for user := range before {
				for _, name := range f.names {
					sessions[user] = append(sessions[user], f.login(t, name, user))
				}
			}

			// Ada gets another password beside hers, Bob another for his, Eve loses one of two, Zoe is gone.
			f.want(t, map[string][]string{"ada": {"ada", "new"}, "bob": {"new"}, "eve": {"second"}})
			f.run(t, load)
			for user, want := range map[string]bool{"ada": true, "bob": false, "eve": false, "zoe": false} {
				for i, s := range sessions[user] {
					if s.alive() != want && (version != "8.0" || user != "zoe") {
						t.Errorf("%s on %s: alive is %v", user, f.names[i], !want)
					}
				}
			}
			f.noteless(t)

			// Whoever comes with the new password stays.
			f.want(t, map[string][]string{"ada": {"ada", "new"}, "bob": {"bob"}, "eve": {"eve"}})
			f.run(t, load)
			again := f.login(t, "a", "bob")
			f.run(t, load)
			f.run(t, &actions.EvictUsers{Nodes: f.names})
			if !again.alive() || !sessions["ada"][0].alive() {
				t.Error("somebody was evicted for nothing")
			}
		})
	}
}

// noteless wants nobody noted any more.
func (f *formation) noteless(t *testing.T) {
	t.Helper()
	for _, name := range f.names {
		p := &corev1.Pod{}
		if f.get(t, name, p); p.Annotations[engine.EvictAnnotation] != "" {
			t.Errorf("on %s there is still noted %q", name, p.Annotations[engine.EvictAnnotation])
		}
	}
}

func TestOthersSurviveAHundredLoads(t *testing.T) {
	for _, version := range []string{"9.1", "8.1"} {
		t.Run(version, func(t *testing.T) {
			f := form(t, version, 2)
			f.withPods(t)
			link := f.do(t, "b", "INFO", "replication")
			all := map[string][]string{"ada": {"ada"}, "bob": {"0"}}
			f.want(t, all)
			f.run(t, &actions.LoadACL{Nodes: f.names})
			ada := f.login(t, "a", "ada")
			for i := range 100 {
				changed := maps.Clone(all)
				changed["bob"] = []string{fmt.Sprint(i + 1)}
				f.want(t, changed)
				f.run(t, &actions.LoadACL{Nodes: f.names})
				if !ada.alive() {
					t.Fatalf("cut off at load %d", i)
				}
			}
			if now := f.do(t, "b", "INFO", "replication"); !strings.Contains(now, "master_link_status:up") {
				t.Errorf("replication was\n%s\nis\n%s", link, now)
			}
			if stats := f.do(t, "a", "INFO", "stats"); !strings.Contains(stats, "sync_full:1\r\nsync_partial_ok:0") {
				t.Errorf("replicas came anew:\n%s", stats)
			}
		})
	}
}

func TestWhoIsToBeEvictedIsKnownAfterAKill(t *testing.T) {
	f := newFormation(t, "9.1", 1)
	f.withPods(t)
	f.want(t, map[string][]string{"bob": {"bob"}})
	load := &actions.LoadACL{Nodes: f.names}
	f.run(t, load)
	bob := f.login(t, "a", "bob")
	f.want(t, map[string][]string{"bob": {"new"}})

	// The file has not arrived: nothing is done to anybody yet, and it is known what is to be done.
	file := filepath.Join(f.servers["a"].Dir, "users.acl")
	fresh, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(users(hashOf("older"), map[string][]string{"bob": {"bob"}})), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.run(t, load)
	if !bob.alive() {
		t.Fatal("evicted while the password still counts")
	}

	// It arrives, and the operator is killed when the server has loaded it.
	if err := os.WriteFile(file, fresh, 0o600); err != nil {
		t.Fatal(err)
	}
	f.do(t, "a", "ACL", "LOAD")
	if !bob.alive() {
		t.Fatal("the server evicts by itself")
	}
	f.run(t, &actions.EvictUsers{Nodes: f.names})
	if bob.alive() {
		t.Error("not evicted")
	}
	f.noteless(t)
	f.run(t, &actions.EvictUsers{Nodes: f.names})
}
