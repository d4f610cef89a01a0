// Package cluster holds the scenarios and measurements on a real Kubernetes
// with real Valkey servers. They need KUBECONFIG (`make test-real` starts
// localkube and sets it) and the operator's binary in bin/.
//
// The operator runs as a process on this machine, so that scenarios can kill
// it at any moment; the chart's own suite runs it inside the cluster.
package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/go-logr/logr"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// suite is what all scenarios of a run share.
type suite struct {
	kube     client.WithWatch
	operator *operatorProcess
	// root is the repository, cache localkube's cache with kubectl and the Valkey binaries.
	root, cache string
}

var shared suite

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	log.SetLogger(logr.Discard())
	if err := shared.setUp(); err != nil {
		fmt.Fprintln(os.Stderr, "set up the suite:", err)
		return 1
	}
	defer shared.operator.kill()
	return m.Run()
}

func (s *suite) setUp() error {
	root, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	s.root, s.cache = root, os.Getenv("LOCALKUBE_CACHE")
	if s.cache == "" {
		home, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		s.cache = filepath.Join(home, "valkey-operator", "localkube")
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("%w (run `make test-real`, or set KUBECONFIG)", err)
	}
	config.QPS, config.Burst = 200, 400
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return err
	}
	if s.kube, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	if err := s.installCRDs(); err != nil {
		return err
	}
	s.operator = &operatorProcess{binary: filepath.Join(root, "bin", "valkey-operator")}
	return s.operator.start()
}

// installCRDs applies the CRDs that the chart installs, without the chart.
func (s *suite) installCRDs() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	const crds = "cue/api/crds"
	if _, err := command(ctx, s.root, s.kubectl(), "apply", "-f", crds); err != nil {
		return err
	}
	_, err := command(ctx, s.root, s.kubectl(), "wait", "--for=condition=Established", "--timeout=30s", "-f", crds)
	return err
}

func (s *suite) kubectl() string { return filepath.Join(s.cache, "bin", "kubectl") }

// valkeyBinary is a Valkey program of the version, run on this machine.
func (s *suite) valkeyBinary(version, program string) string {
	return filepath.Join(s.cache, "bin", "valkey", version, program)
}

func TestScenarios(t *testing.T) {
	tellLeftOut(t, "scenarios")
	testscript.Run(t, scripts("scenarios"))
}

// TestMeasured runs the scenarios under a verifying client, one after the other: what two of them do at once on a small
// machine says nothing of either.
func TestMeasured(t *testing.T) {
	tellLeftOut(t, "measured")
	testscript.RunT(inTurn{t}, scripts("measured"))
}

func scripts(dir string) testscript.Params {
	return testscript.Params{
		Dir: dir, Cmds: commands, Condition: isSlow,
		RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			s := &scenario{suite: &shared}
			e.Values[scenarioKey{}] = s
			return s.setUp(e)
		},
	}
}

// inTurn is a testing.T whose subtests do not run in parallel.
type inTurn struct{ *testing.T }

// Parallel does nothing.
func (inTurn) Parallel() {}

// Run runs a scenario.
func (t inTurn) Run(name string, f func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { f(inTurn{t}) })
}

// Verbose says that the log is shown.
func (inTurn) Verbose() bool { return testing.Verbose() }

// newNamespace makes a namespace that enforces the restricted Pod Security
// Standard, and returns what removes it.
func (s *suite) newNamespace(ctx context.Context) (string, func(), error) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "t-",
		Labels:       map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := s.kube.Create(ctx, ns); err != nil {
		return "", nil, fmt.Errorf("create a namespace: %w", err)
	}
	remove := func() {
		if err := s.kube.Delete(context.Background(), ns); err != nil {
			fmt.Fprintln(os.Stderr, "delete namespace:", err)
		}
	}
	return ns.Name, remove, s.waitForServiceAccount(ctx, ns.Name)
}

// waitForServiceAccount waits for the namespace's default ServiceAccount:
// before it exists the API server refuses Pods.
func (s *suite) waitForServiceAccount(ctx context.Context, namespace string) error {
	return within(ctx, 10*time.Second, func() error {
		var sa corev1.ServiceAccount
		return s.kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "default"}, &sa)
	})
}
