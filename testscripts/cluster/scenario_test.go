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

// commands is the vocabulary of the scenarios.
var commands = map[string]func(*testscript.TestScript, bool, []string){
	"apply":       cmdApply,       // apply FILE...: kubectl apply; $NS in a file is the scenario's namespace
	"kubectl":     cmdKubectl,     // [!] kubectl ARG...: in the scenario's namespace
	"available":   cmdAvailable,   // available DURATION CLUSTER...: each becomes Active and Available for its current spec
	"condition":   cmdCondition,   // condition DURATION KIND NAME TYPE STATUS [REGEXP]: a condition shows, and its message matches
	"formed":      cmdFormed,      // formed CLUSTER SHARDSxREPLICAS: exactly these servers know each other, every slot and epoch once
	"gone":        cmdGone,        // gone DURATION CLUSTER...: nothing of it is left
	"login":       cmdLogin,       // [!] login DURATION CLUSTER USER PASSWORD: every server accepts it (or: none does), within that time
	"writes":      cmdWrites,      // writes CLUSTER COUNT: a cluster client sets and gets that many keys
	"operator":    cmdOperator,    // operator start|kill: the operator's process
	"blackhole":   cmdBlackhole,   // blackhole CLUSTER: the operator reaches none of its Pods, now or later
	"certificate": cmdCertificate, // certificate SECRET CLUSTER [FAULT|renewed|brief|bundled|crossed]: a TLS Secret for it, by a new authority unless it says otherwise
	"served":      cmdServed,      // served DURATION CLUSTER SECRET: every server shows the Secret's certificate to a client that verifies it
	"names":       cmdNames,       // names watch CLUSTER | names resolved COUNT: DNS knows each name before clients are told it
	"idle":        cmdIdle,        // idle connect|connected CLUSTER: TLS connections that must not be dropped
	"setting":     cmdSetting,     // setting DURATION CLUSTER DIRECTIVE VALUE: every server has it live within that time
	"drift":       cmdDrift,       // drift CLUSTER DIRECTIVE VALUE: somebody changes a setting on one server by hand
	"edit":        cmdEdit,        // edit KIND NAME JSON: merge-patch an object
	"settled":     cmdSettled,     // settled DURATION CLUSTER: nothing is left to do, and stays so
	"evenly":      cmdEvenly,      // evenly CLUSTER SHARDS: so many primaries share all slots evenly, in every server's eyes
	"crash":       cmdCrash,       // crash CLUSTER primary|replica SHARD...: SIGKILL to servers, to all at once
	"hang":        cmdHang,        // hang CLUSTER primary|replica SHARD...: SIGSTOP to servers
	"delete":      cmdDelete,      // delete CLUSTER primary|replica SHARD [force]: the Pod of a server
	"drain":       cmdDrain,       // drain DURATION PLACE...: kubectl drain of the Kubernetes nodes at these places, 0 the first by name
	"uncordon":    cmdUncordon,    // uncordon PLACE...: they take Pods again
	"machine":     cmdMachine,     // machine crash|partition CLUSTER, then boot|heal: a Kubernetes node that one primary runs on
	"cli":         cmdCli,         // [!] cli CLUSTER primary|replica SHARD [user=U password=P] COMMAND...: stdout is the reply
	"cli-traffic": cmdCliTraffic,  // cli-traffic start|stop CLUSTER [user=U password=P]: SETs and GETs by valkey-cli, none lost
	"traffic":     cmdTraffic,     // traffic start CLUSTER [user=U password=P], stop [gap=DURATION] [lost=N] [wrong=N] [dropped=N]: writes meanwhile
	"fill":        cmdFill,        // fill CLUSTER NUMBERMB [ttl=EVERY] [user=U password=P]: many keys, one in EVERY with a time to live
	"treasure":    cmdTreasure,    // treasure bury|dig CLUSTER: data of every kind, functions and a subscriber; then all is there
	"filled":      cmdFilled,      // filled CLUSTER: all of them are there, by value and time to live
	"watch":       cmdWatch,       // watch copies CLUSTER NUMBER [user=U password=P]: count every slot's synced copies, wanting so many
	"unwatch":     cmdUnwatch,     // unwatch [below=DURATION] [least=N] [failovers=N]: the bars, for the worst shard
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
	default:
		ts.Fatalf("operator: start or kill")
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
			if err := s.kube.List(ctx, list, client.InNamespace(key.Namespace),
				client.MatchingLabels{"app.kubernetes.io/instance": key.Name}); err != nil {
				return err
			}
			if n := meta.LenList(list); n > 0 {
				return fmt.Errorf("%d left in %T", n, list)
			}
		}
		return nil
	})
}
