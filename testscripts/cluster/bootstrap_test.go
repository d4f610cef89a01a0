package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// The bars of a bootstrap, from `kubectl apply` and from the last Pod's start.
// They were set where six bare Pods start within 4 s and valkey-cli joins them
// in 8 s; on a slower machine, or a slow day, they grow with these two, which
// are measured in the same run.
const (
	besidePods          = 4 * time.Second
	bootstrapBar        = 8 * time.Second
	afterLastPodBar     = 3 * time.Second
	bootstrapsMeasured  = 5
	operatorKills       = 20
	convergenceLimit    = 90 * time.Second
	largeClusterLimit   = 150 * time.Second
	deletionLimit       = 30 * time.Second
	manyClusters        = 10
	manyClustersLimit   = 240 * time.Second
	longestBootstrapSec = 8.0
)

// menu makes a ValkeyImage and a ValkeyConfig under a name, and removes them with the test. A server that may use little
// CPU also starts slowly: a twentieth of a core adds a second to its start.
func menu(t testing.TB, name, cpu, memory string) {
	t.Helper()
	objects := []client.Object{
		&v1alpha1.ValkeyImage{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: v1alpha1.ValkeyImageSpec{Repository: "docker.io/valkey/valkey", Tag: "9.1", Version: "9.1.0"}},
		&v1alpha1.ValkeyConfig{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: v1alpha1.ValkeyConfigSpec{ImageRef: name, Resources: &v1alpha1.Resources{CPU: cpu, Memory: memory}}},
	}
	for _, obj := range objects {
		if err := client.IgnoreAlreadyExists(shared.kube.Create(t.Context(), obj)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := client.IgnoreNotFound(shared.kube.Delete(context.Background(), obj)); err != nil {
				t.Error(err)
			}
		})
	}
}

func namespace(t testing.TB) string {
	t.Helper()
	ns, remove, err := shared.newNamespace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove)
	return ns
}

func newCluster(ns, name, config string, shards, replicas int32) *v1alpha1.ValkeyCluster {
	return &v1alpha1.ValkeyCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec:       v1alpha1.ValkeyClusterSpec{ConfigRef: config, Shards: shards, ReplicasPerShard: replicas},
	}
}

func create(t testing.TB, c *v1alpha1.ValkeyCluster) {
	t.Helper()
	if err := shared.kube.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// removed deletes the cluster and fails when anything of it is left too long.
func removed(t *testing.T, c *v1alpha1.ValkeyCluster) {
	t.Helper()
	start := time.Now()
	if err := shared.kube.Delete(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	if err := shared.waitGone(context.Background(), deletionLimit, client.ObjectKeyFromObject(c)); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s/%s was gone after %.1f s", c.Namespace, c.Name, time.Since(start).Seconds())
}

// bootstrap creates the cluster and measures until it is Available: from the
// request, and from the moment the last of its Pods was seen Running.
func bootstrap(t *testing.T, c *v1alpha1.ValkeyCluster, limit time.Duration) (whole, afterPods time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var lastPod time.Time
	var watching sync.WaitGroup
	events, err := shared.kube.Watch(ctx, &corev1.PodList{}, client.InNamespace(c.Namespace))
	if err != nil {
		t.Fatal(err)
	}
	watching.Go(func() {
		running := map[string]bool{}
		for event := range events.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok && pod.Status.Phase == corev1.PodRunning && !running[pod.Name] {
				running[pod.Name] = true
				lastPod = time.Now()
			}
		}
	})
	start := time.Now()
	create(t, c)
	err = shared.waitAvailable(ctx, limit, client.ObjectKeyFromObject(c))
	end := time.Now()
	events.Stop()
	watching.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return end.Sub(start), end.Sub(lastPod)
}

func median(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

// TestBootstrapIsFast measures 3 shards of 1 replica, five times, beside what
// valkey-cli takes to join the same Pods by hand.
func TestBootstrapIsFast(t *testing.T) {
	menu(t, "boot", "500m", "64Mi")
	ns := namespace(t)
	var whole, afterPods []time.Duration
	for i := range bootstrapsMeasured {
		c := newCluster(ns, fmt.Sprintf("boot-%d", i), "boot", 3, 1)
		w, a := bootstrap(t, c, convergenceLimit)
		if err := shared.formed(t.Context(), client.ObjectKeyFromObject(c), 3, 1); err != nil {
			t.Error(err)
		}
		if err := shared.writes(t.Context(), client.ObjectKeyFromObject(c), 100); err != nil {
			t.Error(err)
		}
		t.Logf("bootstrap %d: Available %.1f s after apply, %.1f s after the last Pod ran", i, w.Seconds(), a.Seconds())
		whole, afterPods = append(whole, w), append(afterPods, a)
		removed(t, c)
	}
	t.Logf("median: %.1f s after apply, %.1f s after the last Pod", median(whole).Seconds(), median(afterPods).Seconds())
	pods, join := yardstick(t, ns)
	t.Logf("yardstick: six bare Pods run %.1f s after they were asked for; valkey-cli --cluster create on them takes %.1f s",
		pods.Seconds(), join.Seconds())
	if m, bar := median(whole), max(bootstrapBar, pods+besidePods); m > bar {
		t.Errorf("median bootstrap took %s, at most %s are allowed", m, bar)
	}
	if m, bar := median(afterPods), max(afterLastPodBar, join*3/8); m > bar {
		t.Errorf("median bootstrap ended %s after the last Pod ran, at most %s are allowed", m, bar)
	}
}

func TestEightShardsOfTwoReplicasForm(t *testing.T) {
	menu(t, "large", "200m", "64Mi")
	c := newCluster(namespace(t), "large", "large", 8, 2)
	whole, afterPods := bootstrap(t, c, largeClusterLimit)
	t.Logf("24 servers: Available %.1f s after apply, %.1f s after the last Pod ran", whole.Seconds(), afterPods.Seconds())
	if err := shared.formed(t.Context(), client.ObjectKeyFromObject(c), 8, 2); err != nil {
		t.Error(err)
	}
	removed(t, c)
}

// TestOperatorKilledAtAnyMoment kills the operator once in each of 20
// bootstraps, at a random moment, and starts it again at once.
func TestOperatorKilledAtAnyMoment(t *testing.T) {
	menu(t, "kill", "200m", "64Mi")
	ns := namespace(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range operatorKills {
		c := newCluster(ns, fmt.Sprintf("kill-%d", i), "kill", 3, 1)
		moment := time.Duration(random.Float64() * longestBootstrapSec * float64(time.Second))
		create(t, c)
		time.Sleep(moment)
		shared.operator.kill()
		if err := shared.operator.start(); err != nil {
			t.Fatal(err)
		}
		if err := shared.waitAvailable(t.Context(), convergenceLimit, client.ObjectKeyFromObject(c)); err != nil {
			t.Fatalf("killed after %s: %v", moment, err)
		}
		if err := shared.formed(t.Context(), client.ObjectKeyFromObject(c), 3, 1); err != nil {
			t.Errorf("killed after %s: %v", moment, err)
		}
		t.Logf("killed after %s: converged", moment.Round(time.Millisecond))
		removed(t, c)
	}
}

// TestTenClustersAtOnce makes ten clusters together, one of which can never
// be reached: none of the others waits for it.
func TestTenClustersAtOnce(t *testing.T) {
	menu(t, "many", "100m", "64Mi")
	ns := namespace(t)
	start := time.Now()
	var all []*v1alpha1.ValkeyCluster
	for i := range manyClusters {
		c := newCluster(ns, fmt.Sprintf("many-%d", i), "many", 3, 0)
		all = append(all, c)
		create(t, c)
	}
	mend, err := shared.blackhole(client.ObjectKeyFromObject(all[0]))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { check(t, mend()) })
	for _, c := range all[1:] {
		if err := shared.waitAvailable(t.Context(), manyClustersLimit-time.Since(start), client.ObjectKeyFromObject(c)); err != nil {
			t.Error(err)
			continue
		}
		t.Logf("%s: Available %.1f s after the first apply", c.Name, time.Since(start).Seconds())
		if err := shared.formed(t.Context(), client.ObjectKeyFromObject(c), 3, 0); err != nil {
			t.Error(err)
		}
	}
	for _, c := range all {
		removed(t, c)
	}
}

// yardstick makes six bare Pods and joins them with valkey-cli --cluster create.
// It says how long the Pods took to run, and how long the join took from when
// the servers answered until every node was ok and every replica in sync.
func yardstick(t *testing.T, ns string) (pods, join time.Duration) {
	t.Helper()
	start := time.Now()
	for i := range 6 {
		if err := shared.kube.Create(t.Context(), barePod(ns, fmt.Sprintf("bare-%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	var addresses []string
	for i := range 6 {
		addresses = append(addresses, running(t, client.ObjectKey{Namespace: ns, Name: fmt.Sprintf("bare-%d", i)})+":6379")
	}
	pods = time.Since(start)
	cli := shared.valkeyBinary("9.1", "valkey-cli")
	for _, address := range addresses {
		host, _, _ := strings.Cut(address, ":")
		if err := within(t.Context(), time.Minute, func() error {
			_, err := command(t.Context(), shared.root, cli, "-h", host, "PING")
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	start = time.Now()
	args := append([]string{"--cluster", "create"}, addresses...)
	if _, err := command(t.Context(), shared.root, cli, append(args, "--cluster-replicas", "1", "--cluster-yes")...); err != nil {
		t.Fatal(err)
	}
	for _, address := range addresses {
		if err := within(t.Context(), time.Minute, func() error { return inSync(t.Context(), cli, address) }); err != nil {
			t.Fatal(err)
		}
	}
	return pods, time.Since(start)
}

// running waits until the Pod runs, and returns its address.
func running(t *testing.T, key client.ObjectKey) string {
	t.Helper()
	var pod corev1.Pod
	if err := within(t.Context(), time.Minute, func() error {
		if err := shared.kube.Get(t.Context(), key, &pod); err != nil {
			return err
		}
		if pod.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("%s is %s", pod.Name, pod.Status.Phase)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return pod.Status.PodIP
}

func inSync(ctx context.Context, cli, address string) error {
	host, _, _ := strings.Cut(address, ":")
	info, err := command(ctx, shared.root, cli, "-h", host, "CLUSTER", "INFO")
	if err != nil {
		return err
	}
	link, err := command(ctx, shared.root, cli, "-h", host, "INFO", "replication")
	if err != nil {
		return err
	}
	if !strings.Contains(info, "cluster_state:ok") || strings.Contains(link, "master_link_status:down") {
		return fmt.Errorf("%s is not in sync", address)
	}
	return nil
}

// barePod is a Valkey server with default settings and nobody to care for it.
func barePod(ns, name string) *corev1.Pod {
	yes, no := true, false
	user := int64(999)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: &yes, RunAsUser: &user, FSGroup: &user,
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "valkey", Image: "docker.io/valkey/valkey:9.1",
				Command: []string{"valkey-server", "--cluster-enabled", "yes", "--dir", "/data", "--protected-mode", "no"},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
				VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
			}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		},
	}
}
