package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/testscripts/copies"
	"valkey.gomomento.com/operator/testscripts/traffic"
)

// A scenario is one script's own namespace on the shared Kubernetes.
type scenario struct {
	*suite
	ns string
	// applied are the files to delete at the end, menu objects among them.
	applied []string
	// news is what the subscriber of the treasure verb gets.
	news <-chan string
	// disturbed is when something was last edited, killed or deleted.
	disturbed  time.Time
	traffic    *traffic.Run
	loads      map[string][]*traffic.Load // by cluster
	watch      *copies.Watch
	cliTraffic *cliTraffic
	issued     issue
	trusted    trust // by clients that stay
	idlers     []idler
	names      *nameWatch
	// troubled is the machine without power or network, remedy what it waits for.
	troubled, remedy string
	stray            *stray
	// parted is when servers or a machine were last cut off.
	parted time.Time
	// sight gives the operator its sight back; nil while it has it.
	sight func() error
	// severed are the Pods that sever has cut off.
	severed []corev1.Pod
	// found is what was measured since the last record.
	found found
}

type scenarioKey struct{}

func in(ts *testscript.TestScript) *scenario { return ts.Value(scenarioKey{}).(*scenario) }

func (s *scenario) setUp(e *testscript.Env) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	ns, remove, err := s.newNamespace(ctx)
	if err != nil {
		return err
	}
	s.ns = ns
	e.Setenv("NS", ns)
	e.Setenv("KUBECONFIG", os.Getenv("KUBECONFIG"))
	e.Setenv("PATH", filepath.Join(s.cache, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	e.Defer(func() {
		for _, file := range s.applied {
			args := append(s.placed(file), "delete", "--wait=false", "--ignore-not-found", "-f", file)
			if _, err := command(context.Background(), s.root, s.kubectl(), args...); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
		remove()
	})
	return nil
}

func cmdApply(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	for _, name := range args {
		text := strings.ReplaceAll(ts.ReadFile(name), "$NS", s.ns)
		file := ts.MkAbs(name + ".applied")
		ts.Check(os.WriteFile(file, []byte(text), 0o600))
		s.applied = append(s.applied, file)
		ts.Check(within(context.Background(), applyLimit, func() error { return s.applyOnce(ts, file) }))
	}
}

// applyLimit is how long objects of an earlier run, whose operator was killed, may take to go.
const applyLimit = 30 * time.Second

// applyOnce applies a file, and says so when some of it is about to vanish again.
func (s *scenario) applyOnce(ts *testscript.TestScript, file string) error {
	ts.Check(ts.Exec(s.kubectl(), append(s.placed(file), "apply", "-f", file)...))
	if warning := ts.ReadFile("stderr"); strings.Contains(warning, "currently being deleted") {
		return errors.New(warning)
	}
	return nil
}

// placed are the flags that put a file's objects into the scenario's
// namespace; none when the file says itself where they belong.
func (s *scenario) placed(file string) []string {
	text, err := os.ReadFile(file)
	if err == nil && strings.Contains(string(text), "namespace:") {
		return nil
	}
	return []string{"-n", s.ns}
}

func cmdKubectl(ts *testscript.TestScript, neg bool, args []string) {
	s := in(ts)
	err := ts.Exec(s.kubectl(), append([]string{"-n", s.ns}, args...)...)
	if (err != nil) != neg {
		ts.Fatalf("kubectl %s: unexpected result: %v", strings.Join(args, " "), err)
	}
}

func cmdEdit(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	s.disturbed = time.Now()
	ts.Check(ts.Exec(s.kubectl(), "-n", s.ns, "patch", args[0], args[1], "--type=merge", "-p", args[2]))
}

func cmdOperator(ts *testscript.TestScript, _ bool, args []string) {
	switch args[0] {
	case "kill":
		in(ts).operator.kill()
	case "start":
		ts.Check(in(ts).operator.start())
	case "blind":
		ts.Check(in(ts).blindOperator(ts, args[1:]))
	case "sighted":
		ts.Check(in(ts).sightOperator())
	default:
		ts.Fatalf("operator: start, kill, blind CLUSTER or sighted")
	}
}

func limit(ts *testscript.TestScript, text string) time.Duration {
	d, err := time.ParseDuration(text)
	ts.Check(err)
	return d
}

func cmdAvailable(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	start := time.Now()
	for _, name := range args[1:] {
		err := s.waitAvailable(context.Background(), limit(ts, args[0])-time.Since(start), client.ObjectKey{Namespace: s.ns, Name: name})
		if err != nil {
			s.explain(ts, name)
		}
		ts.Check(err)
		ts.Logf("%s was available after %.1fs", name, time.Since(start).Seconds())
	}
}

// waitAvailable waits until the cluster is Active and Available for its current spec.
func (s *suite) waitAvailable(ctx context.Context, limit time.Duration, key client.ObjectKey) error {
	return within(ctx, limit, func() error {
		var c v1alpha1.ValkeyCluster
		if err := s.kube.Get(ctx, key, &c); err != nil {
			return err
		}
		if c.Status.State != "Active" || c.Status.ObservedGeneration != c.Generation ||
			!meta.IsStatusConditionTrue(c.Status.Conditions, "Available") {
			return fmt.Errorf("%s is %s: %s", key, c.Status.State, c.Status.Message)
		}
		return nil
	})
}

// explain prints what a person would look at when a cluster does not come up.
func (s *scenario) explain(ts *testscript.TestScript, cluster string) {
	for _, args := range [][]string{
		{"get", "valkeycluster", cluster, "-o", "yaml"},
		{"get", "pods,valkeynodes", "-o", "wide"},
		{"get", "events", "--sort-by=.lastTimestamp"},
	} {
		out, err := command(context.Background(), s.root, s.kubectl(), append([]string{"-n", s.ns}, args...)...)
		ts.Logf("kubectl %s\n%s%v", strings.Join(args, " "), out, err)
	}
}

func cmdCondition(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	kind, name, typ, status := args[1], args[2], args[3], args[4]
	want := regexp.MustCompile("")
	if len(args) > 5 {
		want = regexp.MustCompile(args[5])
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(schema.GroupVersionKind{Group: "valkey.gomomento.com", Version: "v1alpha1", Kind: kind})
	start := time.Now()
	err := within(context.Background(), limit(ts, args[0]), func() error {
		key := client.ObjectKey{Namespace: s.ns, Name: name}
		if kind != "ValkeyCluster" && kind != "ValkeyNode" {
			key.Namespace = ""
		}
		if err := s.kube.Get(context.Background(), key, obj); err != nil {
			return err
		}
		return matches(obj, typ, status, want)
	})
	if err != nil {
		s.explain(ts, name)
	}
	ts.Check(err)
	ts.Logf("%s %s %s=%s after %.1fs", kind, name, typ, status, time.Since(start).Seconds())
}

func matches(obj *unstructured.Unstructured, typ, status string, want *regexp.Regexp) error {
	conditions, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, each := range conditions {
		c, ok := each.(map[string]any)
		if !ok || c["type"] != typ {
			continue
		}
		if c["status"] == status && want.MatchString(fmt.Sprint(c["message"])) {
			return nil
		}
		return fmt.Errorf("condition %s is %v: %v", typ, c["status"], c["message"])
	}
	return fmt.Errorf("no condition %s", typ)
}

func cmdGone(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	start := time.Now()
	for _, name := range args[1:] {
		ts.Check(s.waitGone(context.Background(), limit(ts, args[0])-time.Since(start), client.ObjectKey{Namespace: s.ns, Name: name}))
		ts.Logf("%s was gone after %.1fs", name, time.Since(start).Seconds())
	}
}

// waitGone waits until neither the cluster nor anything labelled as its own is left.
func (s *suite) waitGone(ctx context.Context, limit time.Duration, key client.ObjectKey) error {
	lists := func() []client.ObjectList {
		return []client.ObjectList{
			&v1alpha1.ValkeyNodeList{}, &corev1.PodList{}, &corev1.ConfigMapList{}, &corev1.SecretList{},
			&corev1.ServiceList{}, &policyv1.PodDisruptionBudgetList{},
		}
	}
	return within(ctx, limit, func() error {
		var c v1alpha1.ValkeyCluster
		if err := s.kube.Get(ctx, key, &c); err == nil {
			return fmt.Errorf("%s still exists: %s", key, c.Status.Message)
		} else if client.IgnoreNotFound(err) != nil {
			return err
		}
		for _, list := range lists() {
			if err := s.kube.List(ctx, list, of(key)...); err != nil {
				return err
			}
			if n := meta.LenList(list); n > 0 {
				return fmt.Errorf("%d left in %T", n, list)
			}
		}
		return nil
	})
}
