package chart

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	chartDir  = "../../charts/valkey-operator"
	release   = "valkey-operator"
	namespace = "valkey-operator"
)

// helmBinary is the Helm that all tests run: the one of $HELM, or one built into the cache.
var helmBinary string

func TestMain(m *testing.M) {
	binary, err := findHelm()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	helmBinary = binary
	os.Exit(m.Run())
}

// findHelm lets the tests run by plain `go test`, without make. go build looks itself whether the cached
// binary still fits tools/go.mod.
func findHelm() (string, error) {
	if given := os.Getenv("HELM"); given != "" {
		return given, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache for Helm: %w", err)
	}
	binary := filepath.Join(cache, "valkey-operator", "bin", "helm")
	build := exec.Command("go", "build", "-C", "../../tools", "-trimpath", "-o", binary, "helm.sh/helm/v4/cmd/helm")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build Helm: %w\n%s", err, out)
	}
	return binary, nil
}

// helm runs Helm with a home of its own, so that no plugin or setting of the machine takes part.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	home := t.TempDir()
	cmd := exec.Command(helmBinary, args...)
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("helm %s: %w\n%s%s", args[0], err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}

// rendered keeps what template returned, since many tests look at the same rendering.
var rendered sync.Map

// template renders the chart as `helm template` does, with more arguments such as --set.
func template(t *testing.T, args ...string) string {
	t.Helper()
	key := strings.Join(args, "\x00")
	if before, ok := rendered.Load(key); ok {
		return before.(string)
	}
	out, err := helm(t, slices.Concat([]string{"template", release, chartDir, "--namespace", namespace}, args)...)
	if err != nil {
		t.Fatal(err)
	}
	rendered.Store(key, out)
	return out
}

// valuesFiles are the values the whole chart is rendered with: the defaults and each example.
func valuesFiles(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("values/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples of values found: %v", err)
	}
	sets := map[string][]string{"defaults": nil}
	for _, file := range files {
		sets[strings.TrimSuffix(filepath.Base(file), ".yaml")] = []string{"--values", file}
	}
	return sets
}

func TestLintsWithoutAWarning(t *testing.T) {
	for name, args := range valuesFiles(t) {
		t.Run(name, func(t *testing.T) {
			if _, err := helm(t, slices.Concat([]string{"lint", "--strict", chartDir}, args)...); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestNotesSayWhatIsLookedAfter(t *testing.T) {
	for args, want := range map[string]string{
		"replicas=2":                          "It looks after all namespaces.",
		"config.watchNamespaces={b,a}":        "It looks after the namespaces a, b.",
		"crds.install=false":                  "The CRDs were not installed by this chart",
		"networkPolicy.enabled=true":          "port 443 or 6443 only",
		"podDisruptionBudget.enabled=false":   "config.requireACL=true refuses such a cluster",
		"networkPolicy.apiServerPorts={6444}": "keeps the CRDs and every ValkeyCluster",
	} {
		out, err := helm(t, "install", release, chartDir, "--namespace", namespace, "--dry-run=client", "--set", args)
		if err != nil {
			t.Fatal(err)
		}
		_, notes, _ := strings.Cut(out, "NOTES:")
		if !strings.Contains(notes, want) {
			t.Errorf("with %s the notes do not say %q:\n%s", args, want, notes)
		}
	}
}
