package actions_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
)

// kubelet is the finalizer that keeps a deleted Pod, as its kubelet would.
const kubelet = "test/kubelet"

// A world is an API server in memory, with the servers of one cluster.
type world struct {
	actions.Env
	servers servers
	writes  *writes
}

// writes counts what was written, and remembers grace periods.
type writes struct {
	sync.Mutex
	count int
	grace map[string]int64
}

func (w *writes) add() {
	w.Lock()
	defer w.Unlock()
	w.count++
}

func cluster() *v1alpha1.ValkeyCluster {
	return &v1alpha1.ValkeyCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart", UID: "cart-uid", Generation: 3},
		Spec:       v1alpha1.ValkeyClusterSpec{ConfigRef: "small", Shards: 3, ReplicasPerShard: 1},
	}
}

func deletingCluster() *v1alpha1.ValkeyCluster {
	c := cluster()
	c.Finalizers = []string{objects.ClusterFinalizer}
	now := metav1.Now()
	c.DeletionTimestamp = &now
	return c
}

func desired() engine.Desired {
	settings := map[string]string{"maxmemory": "96mb"}
	return engine.Desired{
		Topology: engine.Topology{Shards: 3, ReplicasPerShard: 1},
		Node: engine.NodeSpec{
			Image: "valkey/valkey:9.1", CPU: "500m", Memory: "128Mi", Settings: settings,
			Placement: engine.Placement{ZoneSpread: "bestEffort"},
		},
		Version: "9.1.2", Conf: "maxmemory \"96mb\"\n",
		ACLFile: "user default off\n", ACLRevision: strings.Repeat("ab", 32),
		PodAnnotations: map[string]string{"team": "cart"},
	}
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// newWorld holds the cluster and the objects.
func newWorld(t *testing.T, c *v1alpha1.ValkeyCluster, objs ...client.Object) *world {
	t.Helper()
	w := &world{servers: servers{}, writes: &writes{grace: map[string]int64{}}}
	w.Kube = fake.NewClientBuilder().WithScheme(scheme(t)).
		WithObjects(append(objs, c)...).
		WithStatusSubresource(&v1alpha1.ValkeyCluster{}, &v1alpha1.ValkeyNode{}).
		WithInterceptorFuncs(w.writes.funcs()).Build()
	w.Live, w.Cluster, w.Desired, w.Valkey = w.Kube, c.DeepCopy(), desired(), w.servers
	w.Pods = actions.PodDefaults{ClusterDomain: "cluster.local"}
	w.Conf = func(settings map[string]string) (string, error) { return fmt.Sprint(settings), nil }
	return w
}

// funcs give created objects a UID, as the API server does, and end a Pod that
// is deleted without grace although its kubelet is silent.
func (w *writes) funcs() interceptor.Funcs {
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.CreateOption) error {
			w.add()
			if obj.GetUID() == "" {
				obj.SetUID(types.UID("uid-of-" + objects.Ref(obj)))
			}
			return c.Create(ctx, obj, o...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, o ...client.PatchOption) error {
			w.add()
			return c.Patch(ctx, obj, p, o...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch, o ...client.SubResourcePatchOption) error {
			w.add()
			return c.SubResource(sub).Patch(ctx, obj, p, o...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.DeleteOption) error {
			w.add()
			grace := (&client.DeleteOptions{}).ApplyOptions(o).GracePeriodSeconds
			if grace != nil && *grace > 0 && !obj.GetDeletionTimestamp().IsZero() {
				return nil // the client in memory would take it for a new deletion
			}
			if grace != nil && w.note(obj.GetName(), *grace) == 0 && slices.Contains(obj.GetFinalizers(), kubelet) {
				obj.SetFinalizers(nil)
				if err := c.Update(ctx, obj); err != nil {
					return err
				}
			}
			return client.IgnoreNotFound(c.Delete(ctx, obj, o...))
		},
	}
}

func (w *writes) note(name string, grace int64) int64 {
	w.Lock()
	defer w.Unlock()
	w.grace[name] = grace
	return grace
}

// run executes the action and wants it to succeed.
func (w *world) run(t *testing.T, a actions.Action) {
	t.Helper()
	if err := a.Execute(t.Context(), w.Env); err != nil {
		t.Fatalf("%T: %v", a, err)
	}
}

// fails executes the action and wants an error that says all of this.
func (w *world) fails(t *testing.T, a actions.Action, says ...string) {
	t.Helper()
	err := a.Execute(t.Context(), w.Env)
	if err == nil {
		t.Fatalf("%T did not fail", a)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("error %q does not say %q", err, s)
		}
	}
}

// changesNothing executes the action and wants no write and no command beside questions.
func (w *world) changesNothing(t *testing.T, a actions.Action) {
	t.Helper()
	before := w.writes.count
	w.servers.clear()
	w.run(t, a)
	if w.writes.count != before {
		t.Errorf("%T wrote %d times", a, w.writes.count-before)
	}
	if told := w.servers.told(); len(told) > 0 {
		t.Errorf("%T told servers %q", a, told)
	}
}

func (w *world) get(t *testing.T, name string, into client.Object) bool {
	t.Helper()
	err := w.Kube.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: name}, into)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return err == nil
}

// read is the cluster as it is now.
func (w *world) read(t *testing.T) *v1alpha1.ValkeyCluster {
	t.Helper()
	c := &v1alpha1.ValkeyCluster{}
	if !w.get(t, w.Cluster.Name, c) {
		return nil
	}
	return c
}

// names are the names of all objects of the list's kind, sorted.
func (w *world) names(t *testing.T, list client.ObjectList) []string {
	t.Helper()
	if err := w.Kube.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, obj := range items(t, list) {
		names = append(names, obj.GetName())
	}
	slices.Sort(names)
	return names
}

// node is a node of the cluster, its UID "uid-of-" and its name.
func node(c *v1alpha1.ValkeyCluster, name string, change ...func(*v1alpha1.ValkeyNode)) *v1alpha1.ValkeyNode {
	n := objects.ValkeyNode(c, name, desired(), engine.NewNode{}, actions.PodDefaults{})
	n.UID = types.UID("uid-of-" + name)
	for _, f := range change {
		f(n)
	}
	return n
}

// pod is the node's Pod, running on machine-1.
func pod(t *testing.T, n *v1alpha1.ValkeyNode, change ...func(*corev1.Pod)) *corev1.Pod {
	t.Helper()
	p, err := objects.Pod(n, actions.PodDefaults{ClusterDomain: "cluster.local"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.UID = types.UID("uid-of-pod-" + n.Name)
	p.Spec.NodeName = "machine-1"
	p.Status.Phase = corev1.PodRunning
	for _, f := range change {
		f(p)
	}
	return p
}

// machine is a Kubernetes node.
func machine(name string, ready corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}},
	}
}

// stuck keeps the Pod although it is deleted, since its kubelet is silent.
func stuck(p *corev1.Pod) { p.Finalizers = []string{kubelet} }

// deleted marks the Pod deleted so long ago, with a grace period of 30 s.
func deleted(ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		grace := int64(30)
		due := metav1.NewTime(time.Now().Add(30*time.Second - ago))
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &due, &grace
		p.Finalizers = []string{kubelet}
	}
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}
