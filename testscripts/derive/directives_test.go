package derive

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/derivation"
)

// versions are the servers at hand, as localkube names them, and the version each is.
var versions = map[string]string{"9.1": "9.1.2", "8.1": "8.1.1", "8.0": "8.0.1"}

// untried cannot be tried here: Debian's servers are built without RDMA.
var untried = []string{"rdma-bind", "rdma-port"}

// TestLiveTable sets every directive of every server to its own value, and
// compares whether the server took it with what the table says.
func TestLiveTable(t *testing.T) {
	d := deriver(t)
	for minor, version := range versions {
		t.Run(minor, func(t *testing.T) {
			t.Parallel()
			c := openServer(t, minor)
			reply, err := c.do("CONFIG", "GET", "*")
			if err != nil {
				t.Fatal(err)
			}
			pairs := strings.Split(reply, "\n")
			if len(pairs) < 400 {
				t.Fatalf("the server lists only %d directives", len(pairs)/2)
			}
			for i := 0; i+1 < len(pairs); i += 2 {
				compareLive(t, d, c, version, pairs[i], pairs[i+1])
			}
		})
	}
}

func compareLive(t *testing.T, d *derivation.Deriver, c *conn, version, name, value string) {
	t.Helper()
	if slices.Contains(untried, name) {
		return
	}
	_, err := c.do("CONFIG", "SET", name, value)
	if took := err == nil; took != d.Live(version, name) {
		t.Errorf("%s: the table says live %v, the server: %v", name, d.Live(version, name), err)
	}
}

// TestAliasesAreTheServers sets a directive by one name and reads it by the
// other: the two must be one setting, or a rule could be passed by.
func TestAliasesAreTheServers(t *testing.T) {
	pairs := map[string][3]string{ // alias: name, value, version that has both
		"slave-serve-stale-data":            {"replica-serve-stale-data", "no", "8.0"},
		"slave-read-only":                   {"replica-read-only", "no", "8.0"},
		"slave-ignore-maxmemory":            {"replica-ignore-maxmemory", "no", "8.0"},
		"slave-announce-ip":                 {"replica-announce-ip", "10.1.2.3", "8.0"},
		"slave-announce-port":               {"replica-announce-port", "7001", "8.0"},
		"slave-lazy-flush":                  {"replica-lazy-flush", "no", "8.0"},
		"slave-priority":                    {"replica-priority", "42", "8.0"},
		"cluster-slave-no-failover":         {"cluster-replica-no-failover", "yes", "8.0"},
		"cluster-slave-validity-factor":     {"cluster-replica-validity-factor", "7", "8.0"},
		"min-slaves-to-write":               {"min-replicas-to-write", "2", "8.0"},
		"min-slaves-max-lag":                {"min-replicas-max-lag", "3", "8.0"},
		"repl-ping-slave-period":            {"repl-ping-replica-period", "4", "8.0"},
		"hash-max-ziplist-entries":          {"hash-max-listpack-entries", "99", "8.0"},
		"hash-max-ziplist-value":            {"hash-max-listpack-value", "98", "8.0"},
		"zset-max-ziplist-entries":          {"zset-max-listpack-entries", "97", "8.0"},
		"zset-max-ziplist-value":            {"zset-max-listpack-value", "96", "8.0"},
		"list-max-ziplist-size":             {"list-max-listpack-size", "-3", "8.0"},
		"lua-time-limit":                    {"busy-reply-threshold", "1234", "8.0"},
		"masteruser":                        {"primaryuser", "someone", "8.0"},
		"masterauth":                        {"primaryauth", "secret", "8.0"},
		"commandlog-execution-slower-than":  {"slowlog-log-slower-than", "777", "8.1"},
		"commandlog-slow-execution-max-len": {"slowlog-max-len", "66", "8.1"},
	}
	servers := map[string]*conn{"8.0": openServer(t, "8.0"), "8.1": openServer(t, "8.1")}
	for alias, p := range pairs {
		c := servers[p[2]]
		if _, err := c.do("CONFIG", "SET", alias, p[1]); err != nil {
			t.Errorf("set %s: %v", alias, err)
		}
		if got, err := c.do("CONFIG", "GET", p[0]); err != nil || got != p[0]+"\n"+p[1] {
			t.Errorf("%s set to %s, %s reads %q, error %v", alias, p[1], p[0], got, err)
		}
		checkOneDirective(t, alias, p[0], p[1])
	}
}

// checkOneDirective derives a config that writes both names.
func checkOneDirective(t *testing.T, alias, name, value string) {
	t.Helper()
	in := simple("9.1.2")
	in.Chain.Configs[0].Spec.Valkey = map[string]string{alias: value, name: value}
	got, _, err := deriver(t).Derive(in)
	if err != nil || got.Reason != "DuplicateDirective" {
		t.Errorf("%s and %s: reason %q, error %v", alias, name, got.Reason, err)
	}
}

// TestLargestACL loads the most that the API allows of bindings and permissions.
func TestLargestACL(t *testing.T) {
	in := simple("8.0.1")
	in.Cluster.ACL = bindings(64, 16)
	in.Roles = granting("reader", "read")
	got, _, err := deriver(t).Derive(in)
	if err != nil || got.Problem != "" {
		t.Fatalf("problem %q, error %v", got.Problem, err)
	}
	if n := strings.Count(got.ACLFile, "(resetchannels ~"); n != 64*15 {
		t.Errorf("%d selectors, want 15 for each of 64 users", n)
	}
	for _, minor := range []string{"9.1", "8.0"} {
		sv, err := startServer(minor, t.TempDir(), got.Conf, got.ACLFile)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(sv.stop)
		users, err := sv.as("_momento_operator", operatorPassword, "ACL", "LIST")
		if err != nil {
			t.Fatal(err)
		}
		if n := len(strings.Split(users, "\n")); n != 64+4 {
			t.Errorf("Valkey %s has %d users, want 64, default and three of the operator's", minor, n)
		}
		if _, err := sv.as("user-63", "user-63", "GET", "app:63:15:x"); err != nil && strings.Contains(err.Error(), "NOPERM") {
			t.Errorf("Valkey %s: the last permission of the last user does not hold: %v", minor, err)
		}
	}
}

func bindings(n, permissions int) []v1alpha1.AclBinding {
	var bs []v1alpha1.AclBinding
	for i := range n {
		name := fmt.Sprintf("user-%d", i)
		b := v1alpha1.AclBinding{Username: name, PasswordHashes: []string{sum(name)}}
		for j := range permissions {
			b.Permissions = append(b.Permissions, v1alpha1.Permission{
				RoleRef: "reader", Keys: []v1alpha1.KeyPattern{{Pattern: fmt.Sprintf("app:%d:%d:*", i, j)}},
			})
		}
		bs = append(bs, b)
	}
	return bs
}

// granting is a menu of one role, which allows categories.
func granting(role string, categories ...string) map[string]v1alpha1.ValkeyRoleSpec {
	var spec v1alpha1.ValkeyRoleSpec
	for _, c := range categories {
		spec.Categories = append(spec.Categories, v1alpha1.CategoryRule{Name: c, Access: v1alpha1.Allow})
	}
	return map[string]v1alpha1.ValkeyRoleSpec{role: spec}
}

func deriver(t *testing.T) *derivation.Deriver {
	t.Helper()
	d, err := derivation.Load(os.DirFS(moduleDir), nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// simple is a cluster of one config that sets nothing.
func simple(version string) derivation.Input {
	return derivation.Input{
		Name: "orders", Namespace: "shop",
		Cluster: v1alpha1.ValkeyClusterSpec{ConfigRef: "small", Shards: 1, ReplicasPerShard: 2},
		Chain: derivation.Chain{Configs: []derivation.NamedConfig{{Name: "small", Spec: v1alpha1.ValkeyConfigSpec{
			ImageRef: "valkey", Valkey: map[string]string{},
		}}}},
		Images:         map[string]v1alpha1.ValkeyImageSpec{"valkey": {Repository: "valkey/valkey", Tag: version, Version: version}},
		OperatorHashes: []string{sum(operatorPassword)}, ReplHashes: []string{sum(replPassword)},
	}
}

// openServer starts a server with nothing but the forced settings and no users.
func openServer(t *testing.T, minor string) *conn {
	t.Helper()
	got, _, err := deriver(t).Derive(simple(versions[minor]))
	if err != nil || got.Problem != "" {
		t.Fatalf("problem %q, error %v", got.Problem, err)
	}
	return startOpen(t, minor, got)
}

// startOpen starts a server with what was derived for a cluster that has no users.
func startOpen(t *testing.T, minor string, got engine.Desired) *conn {
	t.Helper()
	sv, err := startServer(minor, t.TempDir(), got.Conf, got.ACLFile)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sv.stop)
	c, err := dial(sv.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return c
}
