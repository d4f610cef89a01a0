package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const labelShard = "valkey.gomomento.com/shard-index"

// cmdCrash ends a server as a crash would.
func cmdCrash(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	if len(args) != 3 {
		ts.Fatalf("crash: CLUSTER primary|replica SHARD")
	}
	pod, err := s.find(context.Background(), s.key(args[0]), args[1], args[2])
	ts.Check(err)
	s.disturbed = time.Now()
	ts.Check(s.killServer(context.Background(), pod))
	ts.Logf("killed the server of %s", pod.Name)
}

// cmdDelete deletes a server's Pod.
func cmdDelete(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	if len(args) < 3 || len(args) > 4 || len(args) == 4 && args[3] != "force" {
		ts.Fatalf("delete: CLUSTER primary|replica SHARD [force]")
	}
	pod, err := s.find(context.Background(), s.key(args[0]), args[1], args[2])
	ts.Check(err)
	s.disturbed = time.Now()
	var how []client.DeleteOption
	if len(args) == 4 {
		how = append(how, client.GracePeriodSeconds(0))
	}
	ts.Check(s.kube.Delete(context.Background(), pod, how...))
	ts.Logf("deleted %s", pod.Name)
}

// find is the Pod of the primary, or of the first replica by name, of a shard by its index. The servers are asked: an
// object's status may be a moment behind.
func (s *suite) find(ctx context.Context, key client.ObjectKey, role, shard string) (*corev1.Pod, error) {
	pods, err := s.pods(ctx, key, labelShard, shard)
	if err != nil {
		return nil, err
	}
	flag, known := map[string]string{"primary": "myself,master", "replica": "myself,slave"}[role]
	if !known {
		return nil, fmt.Errorf("%s is no role: primary or replica", role)
	}
	password, err := s.operatorPassword(ctx, key)
	if err != nil {
		return nil, err
	}
	secret, err := s.tlsSecret(ctx, key)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	for _, pod := range pods {
		trust, err := s.tlsConfig(ctx, key, secret, pod.Name)
		if err != nil {
			return nil, err
		}
		m, err := ask(ctx, pod.Status.PodIP+":6379", password, trust)
		if err == nil && strings.Contains(strings.Join(m.lines, "\n"), flag) {
			return &pod, nil
		}
	}
	return nil, fmt.Errorf("no %s of shard %s answers among %d Pods", role, shard, len(pods))
}

// killServer sends SIGKILL to the server's process. On localkube every container's processes are this machine's;
// elsewhere a Pod on the server's node does it.
func (s *suite) killServer(ctx context.Context, pod *corev1.Pod) error {
	pids, err := processes(string(pod.UID), "valkey-server")
	if err != nil {
		return err
	}
	if len(pids) > 1 {
		return fmt.Errorf("%d servers in %s: %v", len(pids), pod.Name, pids)
	}
	if len(pids) == 1 {
		return syscall.Kill(pids[0], syscall.SIGKILL)
	}
	return s.killOnNode(ctx, pod)
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

// killScript kills the one valkey-server in the cgroups of a Pod, and fails when there is none.
const killScript = `for f in $(grep -l -e "$UID_DASHES" -e "$UID_UNDERSCORES" /proc/[0-9]*/cgroup 2>/dev/null); do
  p=${f%/cgroup}
  if [ "$(cat "$p/comm")" = valkey-server ]; then kill -9 "${p#/proc/}" && exit 0; fi
done
exit 1`

// killLimit bounds how long the killing Pod takes, the start of its container included.
const killLimit = 30 * time.Second

// killOnNode kills by a Pod that sees the node's processes. A process cannot be killed from within its own
// container: there it is the first one, which the kernel protects.
func (s *suite) killOnNode(ctx context.Context, victim *corev1.Pod) error {
	killer := killerPod(victim)
	if err := s.kube.Create(ctx, killer); err != nil {
		return fmt.Errorf("create the Pod that kills: %w", err)
	}
	err := within(ctx, killLimit, func() error {
		if err := s.kube.Get(ctx, client.ObjectKeyFromObject(killer), killer); err != nil {
			return err
		}
		if killer.Status.Phase != corev1.PodSucceeded {
			return fmt.Errorf("the Pod that kills the server of %s is %s", victim.Name, killer.Status.Phase)
		}
		return nil
	})
	if deleted := s.kube.Delete(context.WithoutCancel(ctx), killer, client.GracePeriodSeconds(0)); err == nil {
		err = deleted
	}
	return err
}

func killerPod(victim *corev1.Pod) *corev1.Pod {
	privileged := true
	uid := string(victim.UID)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, GenerateName: "kill-"},
		Spec: corev1.PodSpec{
			NodeName: victim.Spec.NodeName, HostPID: true, RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{
				Name: "kill", Image: victim.Spec.Containers[0].Image,
				Command:         []string{"sh", "-c", killScript},
				Env:             []corev1.EnvVar{{Name: "UID_DASHES", Value: uid}, {Name: "UID_UNDERSCORES", Value: strings.ReplaceAll(uid, "-", "_")}},
				SecurityContext: &corev1.SecurityContext{Privileged: &privileged, RunAsUser: new(int64)},
			}},
		},
	}
}
