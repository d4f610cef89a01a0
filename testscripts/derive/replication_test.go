package derive

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// TestReplicationUserIsEnough replicates a server and migrates slots that hold
// data between two, with nothing but the rights that the ACL file gives. An
// empty slot would migrate with fewer, so every slot moved here holds keys.
func TestReplicationUserIsEnough(t *testing.T) {
	in := simple("9.1.2")
	in.Cluster.ACL = bindings(1, 1)
	in.Cluster.ACL[0].Permissions[0].RoleRef = "writer"
	in.Cluster.ACL[0].Permissions[0].Keys[0].Pattern = "*"
	in.Roles = granting("writer", "read", "write", "scripting")
	got, _, err := deriver(t).Derive(in)
	if err != nil || got.Problem != "" {
		t.Fatalf("problem %q, error %v", got.Problem, err)
	}
	source, target, replica := member(t, got.Conf, got.ACLFile), member(t, got.Conf, got.ACLFile), member(t, got.Conf, got.ACLFile)
	form(t, source, target, replica)

	source.operator(t, "CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	eventually(t, "the slots are served", func() bool { return strings.Contains(source.operator(t, "CLUSTER", "INFO"), "cluster_state:ok") })
	replica.operator(t, "CLUSTER", "REPLICATE", source.operator(t, "CLUSTER", "MYID"))
	eventually(t, "the replica is in sync", func() bool {
		return strings.Contains(replica.operator(t, "INFO", "replication"), "master_link_status:up")
	})

	writeOfEachKind(t, source)
	source.operator(t, "CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", "0", "16383", "NODE", target.operator(t, "CLUSTER", "MYID"))
	eventually(t, "the slots have moved", func() bool {
		jobs := source.operator(t, "CLUSTER", "GETSLOTMIGRATIONS")
		if strings.Contains(jobs, "\nfailed\n") {
			t.Fatalf("the migration failed:\n%s", jobs)
		}
		return strings.Contains(jobs, "\nsuccess\n")
	})
	if n := target.operator(t, "DBSIZE"); n != fmt.Sprint(len(kinds)) {
		t.Errorf("the target holds %s keys, want %d", n, len(kinds))
	}
}

// kinds are commands that each make one key, of every type and in every way that replication sends differently.
var kinds = [][]string{
	{"SET", "string", "x"},
	{"SET", "expires", "x", "EX", "1000"},
	{"RPUSH", "list", "a", "b"},
	{"SADD", "set", "a"},
	{"ZADD", "sorted", "1", "a"},
	{"HSET", "hash", "f", "v"},
	{"XADD", "stream", "*", "f", "v"},
	{"PFADD", "log", "a"},
	{"SETBIT", "bits", "7", "1"},
	{"GEOADD", "geo", "13.4", "52.5", "berlin"},
	{"EVAL", "redis.call('set',KEYS[1],'1'); return redis.call('incr',KEYS[1])", "1", "scripted"},
}

func writeOfEachKind(t *testing.T, source *server) {
	t.Helper()
	for _, k := range kinds {
		if _, err := source.as("user-0", "user-0", k...); err != nil {
			t.Fatalf("%s: %v", k[0], err)
		}
	}
	source.operator(t, "CLUSTER", "COUNTKEYSINSLOT", "0") // the operator sizes jobs by it
}

// member starts a server whose failure detection is quick.
func member(t *testing.T, conf, acl string) *server {
	t.Helper()
	sv, err := startServer("9.1", t.TempDir(), conf, acl)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sv.stop)
	sv.operator(t, "CONFIG", "SET", "cluster-node-timeout", "500")
	return sv
}

// form lets the servers meet, each with an epoch of its own.
func form(t *testing.T, members ...*server) {
	t.Helper()
	for i, m := range members {
		m.operator(t, "CLUSTER", "SET-CONFIG-EPOCH", fmt.Sprint(i+1))
	}
	for _, m := range members[1:] {
		host, port, err := net.SplitHostPort(m.address)
		if err != nil {
			t.Fatal(err)
		}
		members[0].operator(t, "CLUSTER", "MEET", host, port, m.busPort)
	}
	eventually(t, "all know each other", func() bool {
		for _, m := range members {
			nodes := m.operator(t, "CLUSTER", "NODES")
			if strings.Count(nodes, " connected") != len(members) || strings.Contains(nodes, "handshake") {
				return false
			}
		}
		return true
	})
}

// operator sends a command as the operator's user.
func (sv *server) operator(t *testing.T, args ...string) string {
	t.Helper()
	reply, err := sv.as("_momento_operator", operatorPassword, args...)
	if err != nil {
		t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return reply
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(startTimeout); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not come about that %s", what)
		}
	}
}
