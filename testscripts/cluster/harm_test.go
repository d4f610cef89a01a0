package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/valkey-io/valkey-go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/engine"
)

// cmdCrash ends a server as a crash would.
func cmdCrash(ts *testscript.TestScript, _ bool, args []string) {
	in(ts).strike(ts, syscall.SIGKILL, "crash", args)
}

// cmdHang stops a server's process: it keeps its connections, and answers nobody.
func cmdHang(ts *testscript.TestScript, _ bool, args []string) {
	in(ts).strike(ts, syscall.SIGSTOP, "hang", args)
}

// strike sends a signal to the servers to which the arguments of the verb lead, to all at once. Before what goes
// unreported the API server stops, so that no kubelet can tell it what became of them.
func (s *scenario) strike(ts *testscript.TestScript, signal syscall.Signal, verb string, args []string) {
	unreported := slices.Contains(args, "unreported")
	args = slices.DeleteFunc(args, func(arg string) bool { return arg == "unreported" })
	if len(args) < 3 {
		ts.Fatalf("%s: CLUSTER primary|replica SHARD... [unreported]", verb)
	}
	var pods []*corev1.Pod
	for _, shard := range args[2:] {
		pod, err := s.find(context.Background(), s.key(args[0]), args[1], shard)
		ts.Check(err)
		pods = append(pods, pod)
	}
	if unreported {
		s.stopAPIServer(ts)
	}
	s.disturbed = time.Now()
	for _, pod := range pods {
		ts.Check(s.signalServer(context.Background(), pod, signal))
		ts.Logf("%s: the server of %s", signal, pod.Name)
	}
}

// cmdDelete deletes a server's Pod, or all Pods of the cluster at once.
func cmdDelete(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	var how []client.DeleteOption
	if n := len(args) - 1; n > 0 && args[n] == "force" {
		args, how = args[:n], append(how, client.GracePeriodSeconds(0))
	}
	var pods []corev1.Pod
	var err error
	switch {
	case len(args) == 2 && args[1] == "all":
		pods, err = s.pods(context.Background(), s.key(args[0]))
	case len(args) == 3:
		var pod *corev1.Pod
		if pod, err = s.find(context.Background(), s.key(args[0]), args[1], args[2]); err == nil {
			pods = append(pods, *pod)
		}
	default:
		ts.Fatalf("delete: CLUSTER primary|replica SHARD [force], or CLUSTER all [force]")
	}
	ts.Check(err)
	s.disturbed = time.Now()
	for i := range pods {
		ts.Check(s.kube.Delete(context.Background(), &pods[i], how...))
		ts.Logf("deleted %s", pods[i].Name)
	}
}

// find is the Pod of the primary, or of the first replica by name, of a shard by its index. The servers are asked: an
// object's status may be a moment behind.
func (s *suite) find(ctx context.Context, key client.ObjectKey, role, shard string) (*corev1.Pod, error) {
	pods, err := s.pods(ctx, key, objects.LabelShard, shard)
	if err != nil {
		return nil, err
	}
	wanted, known := map[string]engine.Role{"primary": engine.Primary, "replica": engine.Replica}[role]
	if !known {
		return nil, fmt.Errorf("%s is no role: primary or replica", role)
	}
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	var silences error
	for i := range pods {
		var m member
		err := s.atServer(ctx, key, &pods[i], func(c valkey.Client) (err error) {
			m, err = describe(ctx, c)
			return err
		})
		if err == nil && m.self().Role == wanted {
			return &pods[i], nil
		}
		silences = errors.Join(silences, err)
	}
	return nil, errors.Join(fmt.Errorf("no %s of shard %s answers among %d Pods", role, shard, len(pods)), silences)
}

// signalServer sends a signal to the server's process. On localkube every container's processes are this machine's;
// elsewhere a Pod on the server's node does it.
func (s *suite) signalServer(ctx context.Context, pod *corev1.Pod, signal syscall.Signal) error {
	pids, err := processes(string(pod.UID), "valkey-server")
	if err != nil {
		return err
	}
	if len(pids) > 1 {
		return fmt.Errorf("%d servers in %s: %v", len(pids), pod.Name, pids)
	}
	if len(pids) == 1 {
		return syscall.Kill(pids[0], signal)
	}
	return s.signalOnNode(ctx, pod, signal)
}

// processes are the pids of this machine's processes of that name in a Pod's cgroup.
func processes(podUID, name string) ([]int, error) {
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, group := range groups {
		text, err := os.ReadFile(group)
		if err != nil || !ofPod(string(text), podUID) {
			continue // it has ended meanwhile, or is another's
		}
		comm, err := os.ReadFile(filepath.Join(filepath.Dir(group), "comm"))
		if err != nil || strings.TrimSpace(string(comm)) != name {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(group)))
		if err != nil {
			return nil, err
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// ofPod finds a Pod's UID in a cgroup path, also where systemd writes it with underscores.
func ofPod(path, podUID string) bool {
	return strings.Contains(path, podUID) || strings.Contains(path, strings.ReplaceAll(podUID, "-", "_"))
}

// signalScript sends $SIGNAL to the one valkey-server in the cgroups of a Pod, and fails when there is none.
const signalScript = `for f in $(grep -l -e "$UID_DASHES" -e "$UID_UNDERSCORES" /proc/[0-9]*/cgroup 2>/dev/null); do
  p=${f%/cgroup}
  if [ "$(cat "$p/comm")" = valkey-server ]; then kill -"$SIGNAL" "${p#/proc/}" && exit 0; fi
done
exit 1`

// signalLimit bounds how long the Pod that sends the signal takes, the start of its container included.
const signalLimit = 30 * time.Second

// signalOnNode sends the signal by a Pod that sees the node's processes. From within its own container a process
// cannot be killed: there it is the first one, which the kernel protects.
func (s *suite) signalOnNode(ctx context.Context, victim *corev1.Pod, signal syscall.Signal) error {
	sender := senderPod(victim, signal)
	if err := s.kube.Create(ctx, sender); err != nil {
		return fmt.Errorf("create the Pod that sends a signal: %w", err)
	}
	err := within(ctx, signalLimit, func() error {
		if err := s.kube.Get(ctx, client.ObjectKeyFromObject(sender), sender); err != nil {
			return err
		}
		if sender.Status.Phase != corev1.PodSucceeded {
			return fmt.Errorf("the Pod that sends a signal to the server of %s is %s", victim.Name, sender.Status.Phase)
		}
		return nil
	})
	if deleted := s.kube.Delete(context.WithoutCancel(ctx), sender, client.GracePeriodSeconds(0)); err == nil {
		err = deleted
	}
	return err
}

func senderPod(victim *corev1.Pod, signal syscall.Signal) *corev1.Pod {
	privileged := true
	uid := string(victim.UID)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, GenerateName: "signal-"},
		Spec: corev1.PodSpec{
			NodeName: victim.Spec.NodeName, HostPID: true, RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{
				Name: "signal", Image: victim.Spec.Containers[0].Image,
				Command: []string{"sh", "-c", signalScript},
				Env: []corev1.EnvVar{
					{Name: "UID_DASHES", Value: uid}, {Name: "UID_UNDERSCORES", Value: strings.ReplaceAll(uid, "-", "_")},
					{Name: "SIGNAL", Value: strconv.Itoa(int(signal))},
				},
				SecurityContext: &corev1.SecurityContext{Privileged: &privileged, RunAsUser: new(int64)},
			}},
		},
	}
}
