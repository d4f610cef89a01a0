package derivation

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// TestWalksAgree holds the operator's walk and that of `cue vet` together: on
// chains of every length, with and without cycles and missing configs.
func TestWalksAgree(t *testing.T) {
	module, err := compile(cuecontext.New(), os.DirFS("../../cue"), "derive", nil)
	if err != nil {
		t.Fatal(err)
	}
	walk := module.LookupPath(cue.ParsePath("#Walk"))
	seen := map[string]int{}
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		configs := randomConfigs(random, 1+round%13)
		got := Walk("c0", func(name string) (*v1alpha1.ValkeyConfigSpec, bool) {
			c, ok := configs[name]
			return &c, ok
		})
		want := walkInCUE(t, walk, configs)
		if got.Problem != want.Problem || got.Reason != want.Reason {
			t.Fatalf("configs %v: Go says %s %q, CUE says %s %q", configs, got.Reason, got.Problem, want.Reason, want.Problem)
		}
		if got.Problem == "" && !slices.Equal(names(got), names(want)) {
			t.Fatalf("configs %v: Go walks %v, CUE walks %v", configs, names(got), names(want))
		}
		seen[got.Reason]++
	}
	for _, reason := range []string{"", "ConfigNotFound", "ConfigCycle", "ConfigTooDeep"} {
		if seen[reason] == 0 {
			t.Errorf("no chain ended with reason %q: %v", reason, seen)
		}
	}
}

// randomConfigs is a chain of n configs whose end leads nowhere, back, or to a config that is missing.
func randomConfigs(random *rand.Rand, n int) map[string]v1alpha1.ValkeyConfigSpec {
	configs := map[string]v1alpha1.ValkeyConfigSpec{}
	for i := range n {
		spec := v1alpha1.ValkeyConfigSpec{BaseRef: fmt.Sprintf("c%d", i+1)}
		if i == n-1 {
			spec.BaseRef = []string{"", "missing", fmt.Sprintf("c%d", random.IntN(n))}[random.IntN(3)]
		}
		configs[fmt.Sprintf("c%d", i)] = spec
	}
	return configs
}

func walkInCUE(t *testing.T, walk cue.Value, configs map[string]v1alpha1.ValkeyConfigSpec) Chain {
	t.Helper()
	v := walk.FillPath(cue.ParsePath("configs"), configs).FillPath(cue.ParsePath("from"), "c0")
	if err := v.Validate(cue.Concrete(true), cue.Final()); err != nil {
		t.Fatalf("configs %v: %v", configs, programError(err))
	}
	var out struct {
		Problems []Finding
		Chain    []struct{ Name string }
	}
	if err := v.Decode(&out); err != nil {
		t.Fatal(err)
	}
	var c Chain
	if len(out.Problems) > 0 {
		return c.failed(out.Problems[0].Reason, out.Problems[0].Message)
	}
	for _, l := range out.Chain {
		c.Configs = append(c.Configs, NamedConfig{Name: l.Name})
	}
	return c
}

func names(c Chain) []string {
	var ns []string
	for _, config := range c.Configs {
		ns = append(ns, config.Name)
	}
	return ns
}

func TestWalkVisitsWhatIsMissing(t *testing.T) {
	got := Walk("a", func(name string) (*v1alpha1.ValkeyConfigSpec, bool) {
		return &v1alpha1.ValkeyConfigSpec{BaseRef: "b"}, name == "a"
	})
	if want := []string{"a", "b"}; !slices.Equal(got.Visited, want) {
		t.Errorf("visited %v, want %v: nobody would watch for the missing one to come", got.Visited, want)
	}
}

// TestCheckedSaysProblemsAsErrors is what those get who derive with `cue` alone.
func TestCheckedSaysProblemsAsErrors(t *testing.T) {
	module, err := compile(cuecontext.New(), os.DirFS("../../cue"), "derive", nil)
	if err != nil {
		t.Fatal(err)
	}
	in := fill(Input{
		Name: "orders", Namespace: "shop",
		Cluster: v1alpha1.ValkeyClusterSpec{ConfigRef: "small", Shards: 1},
		Chain:   Chain{Configs: []NamedConfig{{Name: "small", Spec: v1alpha1.ValkeyConfigSpec{ImageRef: "gone"}}}},
	})
	err = module.LookupPath(cue.ParsePath("#Checked")).FillPath(inPath, in).Validate(cue.Concrete(true), cue.Final())
	if want := `ValkeyImage "gone" not found`; err == nil || !strings.Contains(programError(err).Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
	in.Images["gone"] = v1alpha1.ValkeyImageSpec{Repository: "valkey/valkey", Tag: "9.1.2", Version: "9.1.2"}
	if err := module.LookupPath(cue.ParsePath("#Checked")).FillPath(inPath, in).Validate(cue.Concrete(true), cue.Final()); err != nil {
		t.Errorf("nothing is wrong, but: %v", programError(err))
	}
}
