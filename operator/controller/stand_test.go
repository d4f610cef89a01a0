package controller_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/derivation"
	"valkey.gomomento.com/operator/engine/ruleset"
	"valkey.gomomento.com/operator/operator/controller"
	"valkey.gomomento.com/operator/operator/observe"
	"valkey.gomomento.com/operator/operator/report"
	"valkey.gomomento.com/operator/operator/valkey"
	"valkey.gomomento.com/operator/operator/valkey/valkeytest"
)

// patience bounds each wait; on an idle machine the longest takes two seconds.
const patience = 60 * time.Second

// settled is how far away the next look of a cluster is that has nothing to do.
const settled = 20 * time.Second

// A stand is the whole loop over an API server in memory and real servers.
type stand struct {
	t       *testing.T
	version string
	key     types.NamespacedName
	kube    client.WithWatch
	pool    *valkey.Pool
	loop    *controller.Loop
	running map[string]valkey.Target
	// dirs are the directories of the servers, which hold what their Pods have mounted.
	dirs map[string]string
	// repl is the password of replication.
	repl string
}

// unplaced leaves out of the derivation what a server on a loopback address of a shared machine cannot have.
type unplaced struct{ *derivation.Deriver }

func (d unplaced) Derive(in derivation.Input) (engine.Desired, derivation.Extras, error) {
	desired, extras, err := d.Deriver.Derive(in)
	desired.Node.Settings = maps.Clone(desired.Node.Settings)
	for _, name := range []string{"aclfile", "bind", "cluster-config-file", "dir"} {
		delete(desired.Node.Settings, name)
	}
	return desired, extras, err
}

func newStand(t *testing.T, version string) *stand {
	t.Helper()
	cluster := &v1alpha1.ValkeyCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart", UID: "cart-uid", Generation: 1},
		Spec:       v1alpha1.ValkeyClusterSpec{ConfigRef: "small", Shards: 1, ReplicasPerShard: 1},
	}
	auth := objects.AuthSecret(cluster)
	auth.Data[objects.OperatorPasswordKey] = []byte(valkeytest.Password)
	s := &stand{
		t: t, version: version, key: client.ObjectKeyFromObject(cluster), pool: &valkey.Pool{},
		running: map[string]valkey.Target{}, dirs: map[string]string{}, repl: string(auth.Data[objects.ReplPasswordKey]),
	}
	t.Cleanup(s.pool.Close)
	s.kube = inMemory(t, cluster, auth,
		&v1alpha1.ValkeyConfig{ObjectMeta: metav1.ObjectMeta{Name: "small"}, Spec: v1alpha1.ValkeyConfigSpec{ImageRef: "valkey"}},
		&v1alpha1.ValkeyImage{ObjectMeta: metav1.ObjectMeta{Name: "valkey"}, Spec: v1alpha1.ValkeyImageSpec{Repository: "valkey", Tag: version, Version: version + ".0"}})
	s.loop = s.newLoop()
	return s
}

func (s *stand) newLoop() *controller.Loop {
	s.t.Helper()
	deriver, err := derivation.Load(cue.FS, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	rules, err := ruleset.Load(cue.FS, actions.New)
	if err != nil {
		s.t.Fatal(err)
	}
	metrics := report.NewMetrics(prometheus.NewRegistry())
	return controller.New(controller.Parts{
		Kube: s.kube, Live: s.kube, Deriver: unplaced{deriver}, Rules: rules, Metrics: metrics,
		Observer: &observe.Observer{
			Kube: s.kube, Secrets: observe.LiveSecrets{API: s.kube}, Pool: s.pool, Directives: deriver.Wanted,
			ClusterDomain: "cluster.local", Now: time.Now,
		},
		Reporter: report.New(s.kube, events.NewFakeRecorder(1000), metrics),
	})
}

// inMemory is an API server in memory that gives objects their UIDs.
func inMemory(t *testing.T, objs ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, policyv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objs...).
		WithStatusSubresource(&v1alpha1.ValkeyCluster{}, &v1alpha1.ValkeyNode{}, &corev1.Pod{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.CreateOption) error {
				obj.SetUID(types.UID("uid-of-" + objects.Ref(obj)))
				return c.Create(ctx, obj, o...)
			},
		})
	for _, kind := range []client.Object{
		&v1alpha1.ValkeyNode{}, &corev1.Pod{}, &corev1.ConfigMap{}, &corev1.Secret{}, &corev1.Service{}, &policyv1.PodDisruptionBudget{},
	} {
		b = b.WithIndex(kind, observe.ClusterIndex, observe.InstanceOf)
	}
	return b.Build()
}

// startPods does a kubelet's part: a server for every Pod that has none.
func (s *stand) startPods() {
	s.t.Helper()
	for _, pod := range s.pods() {
		if pod.Status.PodIP != "" {
			continue
		}
		node, users := &v1alpha1.ValkeyNode{}, &corev1.ConfigMap{}
		s.get(pod.Name, node)
		s.get(objects.ACLName(s.key.Name), users)
		args := []string{"--primaryauth", s.repl}
		for _, name := range slices.Sorted(maps.Keys(node.Spec.ValkeySettings)) {
			args = append(args, "--"+name, node.Spec.ValkeySettings[name])
		}
		server := valkeytest.Start(s.t, s.version, args...)
		s.check(os.WriteFile(filepath.Join(server.Dir, "users.acl"), []byte(users.Data[objects.ACLKey]), 0o600))
		s.dirs[pod.Name] = server.Dir
		s.running[pod.Name] = valkey.Target{Cluster: s.key, PodUID: string(pod.UID), Address: server.Address()}
		s.eventually("ACL LOAD on "+pod.Name, func() bool {
			replies, err := s.servers().Do(s.t.Context(), pod.Name, []string{"ACL", "LOAD"})
			return err == nil && replies[0].Err == nil
		})
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: server.IP}
		s.check(s.kube.Status().Update(s.t.Context(), &pod))
	}
}

func (s *stand) servers() actions.Servers {
	return s.pool.Servers(s.running, s.access())
}

func (s *stand) pods() []corev1.Pod {
	s.t.Helper()
	var all corev1.PodList
	s.check(s.kube.List(s.t.Context(), &all))
	return all.Items
}

func (s *stand) get(name string, into client.Object) {
	s.t.Helper()
	s.check(s.kube.Get(s.t.Context(), types.NamespacedName{Namespace: s.key.Namespace, Name: name}, into))
}

func (s *stand) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stand) eventually(what string, holds func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if holds() {
			return
		}
	}
	cluster := &v1alpha1.ValkeyCluster{}
	s.get(s.key.Name, cluster)
	s.t.Fatalf("never: %s; the cluster is %s: %s", what, cluster.Status.State, cluster.Status.Message)
}

// pass is one pass of the loop.
func (s *stand) pass() (ctrl.Result, error) {
	return s.loop.Reconcile(s.t.Context(), ctrl.Request{NamespacedName: s.key})
}

// settle passes until there is nothing to do.
func (s *stand) settle() {
	s.t.Helper()
	s.eventually("nothing to do", func() bool {
		s.startPods()
		next, err := s.pass()
		return err == nil && next.RequeueAfter >= settled
	})
}

// configure edits the config's directives.
func (s *stand) configure(directives map[string]string) {
	s.t.Helper()
	config := &v1alpha1.ValkeyConfig{}
	s.check(s.kube.Get(s.t.Context(), types.NamespacedName{Name: "small"}, config))
	config.Spec.Valkey = directives
	s.check(s.kube.Update(s.t.Context(), config))
}
