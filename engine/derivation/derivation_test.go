package derivation_test

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine/derivation"
)

const hash = "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8"

func load(t testing.TB) *derivation.Deriver {
	t.Helper()
	d, err := derivation.Load(os.DirFS("../../cue"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// plain is a cluster that nothing is wrong with.
func plain() derivation.Input {
	return derivation.Input{
		Name: "orders", Namespace: "shop",
		Cluster: v1alpha1.ValkeyClusterSpec{ConfigRef: "small", Shards: 3, ReplicasPerShard: 1},
		Chain: derivation.Chain{Configs: []derivation.NamedConfig{{Name: "small", Spec: v1alpha1.ValkeyConfigSpec{
			ImageRef:  "v9",
			Resources: &v1alpha1.Resources{CPU: "500m", Memory: "1Gi"},
			Valkey:    map[string]string{"maxmemory-policy": "allkeys-lru"},
		}}}},
		Images: map[string]v1alpha1.ValkeyImageSpec{"v9": {Repository: "valkey/valkey", Tag: "9.1.2", Version: "9.1.2"}},
		Roles: map[string]v1alpha1.ValkeyRoleSpec{"reader": {
			Categories: []v1alpha1.CategoryRule{{Name: "read", Access: v1alpha1.Allow}},
		}},
		OperatorHashes: []string{hash}, ReplHashes: []string{hash},
	}
}

// users are n bindings of p permissions each.
func users(n, p int) []v1alpha1.AclBinding {
	var bindings []v1alpha1.AclBinding
	for i := range n {
		b := v1alpha1.AclBinding{Username: fmt.Sprintf("user-%d", i), PasswordHashes: []string{hash}}
		for j := range p {
			b.Permissions = append(b.Permissions, v1alpha1.Permission{
				RoleRef: "reader", Keys: []v1alpha1.KeyPattern{{Pattern: fmt.Sprintf("app:%d:%d:*", i, j)}},
			})
		}
		bindings = append(bindings, b)
	}
	return bindings
}

func TestEqualInputsGiveEqualResultsAndNoneIsMixedUp(t *testing.T) {
	d, fresh := load(t), load(t)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for round := range 12 {
				in := plain()
				in.Cluster.Shards = int32(1 + (worker+round)%4)
				got, _, err := d.Derive(in)
				if err != nil || got.Problem != "" || got.Topology.Shards != int(in.Cluster.Shards) {
					t.Errorf("shards %d: got %d, problem %q, error %v", in.Cluster.Shards, got.Topology.Shards, got.Problem, err)
				}
			}
		})
	}
	wg.Wait()
	first, _, err := d.Derive(plain())
	if err != nil {
		t.Fatal(err)
	}
	second, _, err := fresh.Derive(plain())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(first, second) {
		t.Errorf("two derivers disagree:\n%+v\n%+v", first, second)
	}
}

// TestEveryInputCounts changes one input at a time: whatever a result depends
// on must reach the memo's key.
func TestEveryInputCounts(t *testing.T) {
	changes := map[string]func(*derivation.Input){
		"a directive": func(in *derivation.Input) { in.Chain.Configs[0].Spec.Valkey = map[string]string{"maxclients": "10"} },
		"the image": func(in *derivation.Input) {
			in.Images["v9"] = v1alpha1.ValkeyImageSpec{Repository: "r", Tag: "9.0.1", Version: "9.0.1"}
		},
		"the operator's hash": func(in *derivation.Input) { in.OperatorHashes = []string{strings.Repeat("a", 64)} },
		"the TLS problem":     func(in *derivation.Input) { in.TLSProblem = "no data" },
		"the chain's problem": func(in *derivation.Input) { in.Chain.Problem, in.Chain.Reason = "gone", "ConfigNotFound" },
		"the annotations":     func(in *derivation.Input) { in.Cluster.PodAnnotations = map[string]string{"a": "b"} },
		"the node timeout":    func(in *derivation.Input) { in.Operator.NodeTimeout = 2000 },
		"requireACL":          func(in *derivation.Input) { in.Operator.RequireACL = true },
		"a role in use":       func(in *derivation.Input) { in.Roles["reader"] = v1alpha1.ValkeyRoleSpec{} },
		"an empty acl":        func(in *derivation.Input) { in.Chain.Configs[0].Spec.ACL = users(1, 1) },
	}
	d := load(t)
	before := plain()
	before.Cluster.ACL = users(2, 1)[1:]
	base, _, err := d.Derive(before)
	if err != nil || base.Problem != "" {
		t.Fatalf("problem %q, error %v", base.Problem, err)
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			in := plain()
			in.Cluster.ACL = users(2, 1)[1:]
			if name == "requireACL" { // shows only where the default user is open
				in.Cluster.ACL = nil
			}
			change(&in)
			got, _, err := d.Derive(in)
			if err != nil {
				t.Fatal(err)
			}
			if reflect.DeepEqual(got, base) {
				t.Error("the result is the one from before")
			}
		})
	}
}

func TestRevisionNamesTheFile(t *testing.T) {
	d := load(t)
	seen := map[string]bool{}
	for n := range 3 {
		in := plain()
		in.Cluster.ACL = users(n, 1)
		got, _, err := d.Derive(in)
		if err != nil {
			t.Fatal(err)
		}
		if seen[got.ACLRevision] || len(got.ACLRevision) != 64 {
			t.Errorf("%d users: revision %q, which is not its own", n, got.ACLRevision)
		}
		seen[got.ACLRevision] = true
		if !strings.Contains(got.ACLFile, "\nuser _momento_revision off #"+got.ACLRevision+" ") {
			t.Errorf("%d users: the file does not carry its revision:\n%s", n, got.ACLFile)
		}
	}
}

func TestLoadSaysWhereAPolicyIsWrong(t *testing.T) {
	tests := map[string]struct{ policy, want string }{
		"a policy that is no CUE":          {"package policy\nspec: {", "policy p.cue: "},
		"a field that no cluster has":      {"package policy\nspec: shrads: 3\n", "p.cue:2:"},
		"a name that nothing stands for":   {"package policy\nif metadta.name == \"x\" {}\n", "p.cue:2:"},
		"a file of another package":        {"package other\n", "p.cue"},
		"a condition on an unknown fields": {"package policy\nif metadata.nmae == \"x\" {}\n", "p.cue:2:"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := derivation.Load(os.DirFS("../../cue"), fstest.MapFS{"p.cue": {Data: []byte(test.policy)}})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestLoadFailsWithoutAModule(t *testing.T) {
	if _, err := derivation.Load(fstest.MapFS{}, nil); err == nil {
		t.Error("loaded nothing without an error")
	}
}

func BenchmarkDeriveHit(b *testing.B) {
	for _, n := range []int{0, 5, 64} {
		b.Run(fmt.Sprintf("%d-users", n), func(b *testing.B) {
			d, in := load(b), plain()
			in.Cluster.ACL = users(n, 2)
			derive(b, d, in)
			b.ReportAllocs()
			for b.Loop() {
				derive(b, d, in)
			}
		})
	}
}

func BenchmarkDeriveMiss(b *testing.B) {
	for _, size := range []struct{ users, permissions int }{{0, 0}, {5, 2}, {64, 2}, {64, 16}} {
		b.Run(fmt.Sprintf("%d-users-%d-permissions", size.users, size.permissions), func(b *testing.B) {
			d, in := load(b), plain()
			in.Cluster.ACL = users(size.users, size.permissions)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				in.OperatorHashes = []string{fmt.Sprintf("%064x", i)}
				derive(b, d, in)
			}
		})
	}
}

func derive(b *testing.B, d *derivation.Deriver, in derivation.Input) {
	if got, _, err := d.Derive(in); err != nil || got.Problem != "" {
		b.Fatalf("problem %q, error %v", got.Problem, err)
	}
}

func TestConfRendersTheSameTextAsTheDerivation(t *testing.T) {
	d := load(t)
	derived, _, err := d.Derive(plain())
	if err != nil {
		t.Fatal(err)
	}
	again, err := d.Conf(derived.Node.Settings)
	if err != nil || again != derived.Conf {
		t.Errorf("conf = %q, %v, want %q", again, err, derived.Conf)
	}
	other, err := d.Conf(map[string]string{"save": `900 "1"`})
	if err != nil || !strings.HasPrefix(other, `save "900 \"1\""`) {
		t.Errorf("conf of other settings = %q, %v", other, err)
	}
}

func TestWhatIsWantedLiveIsRemembered(t *testing.T) {
	d := load(t)
	if names := d.Wanted(); names != nil {
		t.Errorf("at first: %v", names)
	}
	for _, name := range []string{"hz", "maxclients"} {
		in := plain()
		in.Chain.Configs[0].Spec.Valkey = map[string]string{name: "100"}
		if _, _, err := d.Derive(in); err != nil {
			t.Fatal(err)
		}
	}
	names := d.Wanted()
	for _, name := range []string{"hz", "maxclients", "cluster-node-timeout", "save"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not asked for", name)
		}
	}
	for _, name := range []string{"dir", "tls-cert-file"} {
		if slices.Contains(names, name) {
			t.Errorf("%s is asked for", name)
		}
	}
}
