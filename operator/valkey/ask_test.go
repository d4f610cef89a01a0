package valkey_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/operator/valkey"
	"valkey.gomomento.com/operator/operator/valkey/valkeytest"
)

// do sends commands and fails on an error reply.
func do(t *testing.T, servers actions.Servers, node string, commands ...[]string) []actions.Reply {
	t.Helper()
	replies, err := servers.Do(context.Background(), node, commands...)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range replies {
		if r.Err != nil {
			t.Fatalf("%s: %v", commands[i], r.Err)
		}
	}
	return replies
}

func hashOf(password string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(password))) }

func words(command string, args ...any) []string {
	return strings.Fields(fmt.Sprintf(command, args...))
}

func TestWhatAPairOfServersSaysOfItself(t *testing.T) {
	for _, version := range valkeytest.Versions {
		t.Run(version, func(t *testing.T) {
			first := valkeytest.Start(t, version, "--save", "900 1", "--requirepass", "secret", "--cluster-node-timeout", "500")
			second := valkeytest.Start(t, version, "--cluster-node-timeout", "500")
			pool, _, _ := newPool(t)
			to := map[string]valkey.Target{"first": target(first.Address()), "second": target(second.Address())}
			primary, replica := form(t, pool, to)
			do(t, pool.Servers(to, access), "first", words("ACL SETUSER _momento_repl on >two >one"))
			settings := []string{"save", "notify-keyspace-events", "SAVE", "requirepass", "primaryauth", "no-such-directive", "max*"}
			got, err := pool.Ask(context.Background(), to["first"], access, settings)
			if err != nil {
				t.Fatal(err)
			}
			want := &engine.Server{
				ID: primary, Role: engine.Primary, ClusterOK: true, CurrentEpoch: 1, Keys: 1, FullSyncs: 1, Revision: valkeytest.Revision,
				ReplHash: hashOf(valkeytest.Password), ReplAccepts: []string{hashOf("two"), hashOf("one")},
				Settings: map[string]string{
					"cluster-node-timeout": "500", "loglevel": "notice", "save": "900 1", "SAVE": "900 1", "notify-keyspace-events": "",
				},
				Peers: []engine.Peer{
					{ID: primary, IP: first.IP, Myself: true, Role: engine.Primary, Epoch: 1, Linked: true, Slots: []engine.SlotRange{{From: 0, To: 16383}}},
					{ID: replica, IP: second.IP, Role: engine.Replica, PrimaryID: primary, Epoch: 1, Linked: true},
				},
			}
			if replica < primary {
				want.Peers[0], want.Peers[1] = want.Peers[1], want.Peers[0]
			}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(engine.Server{}, "Version", "Offset", "Uptime", "UsedMemory", "Users")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !strings.HasPrefix(got.Version, version+".") || got.Offset == 0 || got.UsedMemory == 0 {
				t.Errorf("version %q, offset %d, %d bytes used", got.Version, got.Offset, got.UsedMemory)
			}
		})
	}
}

// form makes the second server the replica of the first, which gets all slots and one key; it returns their ids.
func form(t *testing.T, pool *valkey.Pool, to map[string]valkey.Target) (primary, replica string) {
	t.Helper()
	eventually(t, pool, to["first"], access, "")
	eventually(t, pool, to["second"], access, "")
	servers := pool.Servers(to, access)
	ip, _, _ := strings.Cut(to["second"].Address, ":")
	primary = do(t, servers, "first", words("CLUSTER SET-CONFIG-EPOCH 1"), words("CLUSTER ADDSLOTSRANGE 0 16383"),
		words("CLUSTER MEET %s 6379", ip), words("CLUSTER MYID"))[3].Text
	replica = do(t, servers, "second", words("CLUSTER MYID"))[0].Text
	until(t, "the servers know each other", func() bool {
		s, err := pool.Ask(context.Background(), to["second"], access, nil)
		return err == nil && len(s.Peers) == 2 && !s.Peers[0].Handshake && !s.Peers[1].Handshake && s.ClusterOK
	})
	do(t, servers, "second", words("CLUSTER REPLICATE %s", primary))
	until(t, "the replica is in sync and everybody knows", func() bool {
		r, err := pool.Ask(context.Background(), to["second"], access, nil)
		p, perr := pool.Ask(context.Background(), to["first"], access, nil)
		return err == nil && perr == nil && r.LinkUp && r.Role == engine.Replica && r.PrimaryID == primary && p.ClusterOK && replicates(p, replica)
	})
	do(t, servers, "first", words("SET key value"))
	return primary, replica
}

func replicates(s *engine.Server, id string) bool {
	for _, p := range s.Peers {
		if p.ID == id {
			return p.Role == engine.Replica && p.Linked && p.Epoch == 1
		}
	}
	return false
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("not so in time: %s", what)
}

func TestAServerThatLoadsSaysSo(t *testing.T) {
	for _, version := range valkeytest.Versions {
		t.Run(version, func(t *testing.T) {
			// Half a millisecond a key, with a look at the clients every two kilobytes: ten thousand keys load for seconds.
			slow := []string{"--appendonly", "no", "--save", "", "--key-load-delay", "500", "--loading-process-events-interval-bytes", "2048"}
			s := valkeytest.Start(t, version, "--cluster-node-timeout", "500")
			pool, _, _ := newPool(t)
			eventually(t, pool, target(s.Address()), access, "")
			servers := pool.Servers(map[string]valkey.Target{"n": target(s.Address())}, access)
			do(t, servers, "n", words("CLUSTER ADDSLOTSRANGE 0 16383"))
			until(t, "it serves", func() bool {
				r, err := servers.Do(context.Background(), "n", []string{"EVAL", "for i=1,10000 do redis.call('SET','{a}'..i,string.rep('x',32)) end", "1", "{a}"})
				return err == nil && r[0].Err == nil
			})
			do(t, servers, "n", words("SAVE"))
			s.Kill()
			s.Run(t, version, slow...)
			until(t, "it says that it loads", func() bool {
				got, err := pool.Ask(context.Background(), target(s.Address()), access, nil)
				return err == nil && got.Loading && strings.HasPrefix(got.Version, version+".") && got.ID != ""
			})
		})
	}
}

func TestAServerWithoutTheClusterModeIsNoServerOfACluster(t *testing.T) {
	s := valkeytest.Start(t, "9.1", "--cluster-enabled", "no")
	pool, _, _ := newPool(t)
	eventually(t, pool, target(s.Address()), access, "This instance has cluster support disabled")
}

func TestWhatTheACLDoesNotAllowIsLeftOutAndTheRestSaid(t *testing.T) {
	s := valkeytest.Start(t, "9.1")
	pool, _, _ := newPool(t)
	eventually(t, pool, target(s.Address()), access, "")
	servers := pool.Servers(map[string]valkey.Target{"n": target(s.Address())}, access)
	do(t, servers, "n", words("ACL SETUSER _momento_operator -acl|getuser -acl|list -config|get -cluster|getslotmigrations"))
	got, err := pool.Ask(context.Background(), target(s.Address()), access, []string{"save"})
	if err != nil {
		t.Fatal(err)
	}
	if got.Revision != "" || got.Users != "" || got.Settings != nil || got.Migrations != nil || got.ID == "" {
		t.Errorf("%+v", got)
	}
}

func TestUsersAreOthersAfterAnyChange(t *testing.T) {
	for _, version := range valkeytest.Versions {
		s := valkeytest.Start(t, version)
		pool, _, _ := newPool(t)
		servers := pool.Servers(map[string]valkey.Target{"n": target(s.Address())}, access)
		file := eventually(t, pool, target(s.Address()), access, "").Users
		seen := map[string]bool{file: true}
		for _, rules := range []string{"on", ">secret", "~cart:*", "&news", "+get", "-@dangerous", "(+set ~x)", "off"} {
			do(t, servers, "n", words("ACL SETUSER cart %s", rules))
			users := eventually(t, pool, target(s.Address()), access, "").Users
			if seen[users] {
				t.Errorf("Valkey %s lists the same users after %q", version, rules)
			}
			seen[users] = true
		}
		do(t, servers, "n", words("ACL LOAD"))
		if users := eventually(t, pool, target(s.Address()), access, "").Users; users != file || users == "" {
			t.Errorf("Valkey %s lists other users than at first after it has loaded the same file again", version)
		}
	}
}

func TestAServerWithoutARevisionHasNone(t *testing.T) {
	s := valkeytest.Start(t, "8.0")
	pool, _, _ := newPool(t)
	eventually(t, pool, target(s.Address()), access, "")
	servers := pool.Servers(map[string]valkey.Target{"n": target(s.Address())}, access)
	for _, command := range []string{"ACL SETUSER _momento_revision >second", "ACL DELUSER _momento_revision"} {
		do(t, servers, "n", strings.Fields(command))
		if got := eventually(t, pool, target(s.Address()), access, ""); got.Revision != "" {
			t.Errorf("after %s: %s", command, got.Revision)
		}
	}
}

func TestRepliesOfAllShapes(t *testing.T) {
	s := valkeytest.Start(t, "9.1")
	pool, _, _ := newPool(t)
	eventually(t, pool, target(s.Address()), access, "")
	servers := pool.Servers(map[string]valkey.Target{"n": target(s.Address())}, access)
	replies, err := servers.Do(context.Background(), "n",
		words("PING"), words("CLUSTER COUNTKEYSINSLOT 5"), words("CONFIG GET save"), words("ACL LIST"),
		words("ACL GETUSER nobody"), words("NO SUCH COMMAND"), words("CONFIG SET maxmemory 1mb"))
	if err != nil {
		t.Fatal(err)
	}
	if got := replies[0].Text + replies[1].Text + replies[6].Text; got != "PONG0OK" {
		t.Errorf("texts are %q", got)
	}
	if got := replies[2].Text; got != "save\n3600 1 300 100 60 10000" {
		t.Errorf("an array reads %q", got)
	}
	if n := strings.Count(replies[3].Text, "\n"); n != 2 {
		t.Errorf("three users read %q", replies[3].Text)
	}
	if r := replies[4]; r.Text != "" || r.Err != nil {
		t.Errorf("nil reads %+v", r)
	}
	if replies[5].Err == nil || replies[6].Err != nil {
		t.Errorf("errors are %v and %v", replies[5].Err, replies[6].Err)
	}
	if _, err := servers.Do(context.Background(), "nobody", words("PING")); err == nil {
		t.Error("a node without an address has answered")
	}
}
