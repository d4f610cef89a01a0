package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
)

const menu = `
apiVersion: valkey.gomomento.com/v1alpha1
kind: ValkeyImage
metadata: {name: v9}
spec: {repository: docker.io/valkey/valkey, tag: "9.1", version: 9.1.0}
---
apiVersion: valkey.gomomento.com/v1alpha1
kind: ValkeyConfig
metadata: {name: small}
spec: {imageRef: v9, resources: {cpu: 100m, memory: 64Mi}, valkey: {hz: "20"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: not-ours}
`

const cluster = `
apiVersion: valkey.gomomento.com/v1alpha1
kind: ValkeyCluster
metadata: {name: cache, namespace: shop}
spec: {configRef: small, shards: 3, replicasPerShard: 1}
`

// execute runs the command line with standard input.
func execute(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	root := rootCommand()
	root.SetArgs(args)
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&out)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func TestVersionIsPrinted(t *testing.T) {
	if out, err := execute(t, "", "version"); err != nil || out != version+"\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestRunRefusesAWrongSettingBeforeAnythingElse(t *testing.T) {
	t.Setenv("DEFAULT_ZONE_SPREAD", "sometimes")
	_, err := execute(t, "", "run", "--kubeconfig", "/nowhere")
	if err == nil || !strings.HasPrefix(err.Error(), "environment variable DEFAULT_ZONE_SPREAD:") {
		t.Errorf("error %v", err)
	}
}

func TestAMissingCRDIsNamed(t *testing.T) {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{v1alpha1.GroupVersion})
	for _, kind := range []string{"ValkeyCluster", "ValkeyConfig", "ValkeyImage", "ValkeyRole"} {
		mapper.Add(v1alpha1.GroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	want := "the CRD of ValkeyNode (valkey.gomomento.com/v1alpha1) is not installed; the Helm chart brings it (crds.install)"
	if err := installed(mapper); err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
	mapper.Add(v1alpha1.GroupVersion.WithKind("ValkeyNode"), meta.RESTScopeNamespace)
	if err := installed(mapper); err != nil {
		t.Errorf("all are there: %v", err)
	}
}

func TestRenderPrintsWhatAClusterDerivesTo(t *testing.T) {
	out, err := execute(t, menu+"---"+cluster, "render", "-")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# ValkeyCluster shop/cache: 6 nodes like cache-00000\n", "kind: Service\n", "kind: PodDisruptionBudget\n",
		"kind: ValkeyNode\n", "kind: Pod\n", "users.acl: |", "valkey.conf: |", "image: docker.io/valkey/valkey:9.1\n", `hz: "20"`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestRenderNamesWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"a config that is missing": {cluster, `ValkeyCluster shop/cache: ValkeyConfig "small" not found`},
		"a field that is unknown":  {strings.Replace(cluster, "shards:", "shard:", 1), `-: document 1: strict decoding error: unknown field "spec.shard"`},
		"a kind that is unknown":   {strings.Replace(cluster, "kind: ValkeyCluster", "kind: ValkeyClutter", 1), `-: document 1: no kind "ValkeyClutter" is registered for version "valkey.gomomento.com/v1alpha1"`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := execute(t, c.in, "render", "-"); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestVetEndsWithAnErrorForErrorsOnly(t *testing.T) {
	out, err := execute(t, menu+"---"+cluster, "vet", "-")
	if err != nil || !strings.Contains(out, " 0 errors") {
		t.Errorf("sound: %v\n%s", err, out)
	}
	out, err = execute(t, cluster, "vet", "-")
	want := `<stdin>:5:19: ValkeyCluster cache: spec.configRef: ValkeyConfig "small" not found` + "\n1 object checked, 1 error, 0 warnings\n"
	if !errors.Is(err, errFaulty) || out != want {
		t.Errorf("faulty: %v\n%s", err, out)
	}
	if out, err := execute(t, cluster, "vet", "--partial", "-"); err != nil {
		t.Errorf("partial: %v\n%s", err, out)
	}
}

func TestPlanOfWhatWasSaved(t *testing.T) {
	file := filepath.Join(t.TempDir(), "seen.json")
	if err := saveSighting(file, sighting{Snapshot: engine.Snapshot{Cluster: engine.Cluster{Name: "cache"}}}); err != nil {
		t.Fatal(err)
	}
	out, err := execute(t, "", "plan", "--from", file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out, "guardCluster") || !strings.Contains(out, "(rule guard-cluster)\nbecause   A finalizer") {
		t.Errorf("plan:\n%s", out)
	}
	if mode := modeOf(t, file); mode != 0o600 {
		t.Errorf("saved with mode %o", mode)
	}
}

func modeOf(t *testing.T, file string) os.FileMode {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func TestPlanNeedsOneSource(t *testing.T) {
	for name, args := range map[string][]string{
		"none": {"plan"}, "two": {"plan", "shop/cache", "--from", "x"}, "a cluster without namespace": {"plan", "cache"},
	} {
		if _, err := execute(t, "", args...); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
