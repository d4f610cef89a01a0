package observe_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/operator/observe"
	"valkey.gomomento.com/operator/operator/valkey"
)

var key = types.NamespacedName{Namespace: "ns", Name: "c"}

var desired = engine.Desired{
	Topology: engine.Topology{Shards: 1, ReplicasPerShard: 1},
	Node: engine.NodeSpec{
		Image: "valkey:9.1", CPU: "1", Memory: "1Gi", Settings: map[string]string{"save": "900 1"},
		Placement: engine.Placement{Zones: []string{"b", "a"}, ZoneSpread: "required"},
	},
	Version: "9.1.2", ACLFile: "user default off\n",
}

// newCluster is the ValkeyCluster of key.
func newCluster() *v1alpha1.ValkeyCluster {
	return &v1alpha1.ValkeyCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "cluster-uid", Generation: 7, Finalizers: []string{objects.ClusterFinalizer}},
		Spec:       v1alpha1.ValkeyClusterSpec{ConfigRef: "small", Shards: 1, ReplicasPerShard: 1, Paused: true},
		Status: v1alpha1.ValkeyClusterStatus{
			State: v1alpha1.Creating, TargetSpec: &v1alpha1.ValkeyClusterSpec{Shards: 3, ReplicasPerShard: 2},
		},
	}
}

// newNode is a node of the cluster with its ConfigMap and its running Pod on the given address.
func newNode(t *testing.T, cluster *v1alpha1.ValkeyCluster, name, ip string) (*v1alpha1.ValkeyNode, *corev1.ConfigMap, *corev1.Pod) {
	t.Helper()
	n := objects.ValkeyNode(cluster, name, desired, engine.NewNode{ShardIndex: 1}, objects.PodDefaults{})
	n.UID = types.UID(name + "-uid")
	p, err := objects.Pod(n, objects.PodDefaults{}, map[string]string{"a": "b"})
	if err != nil {
		t.Fatal(err)
	}
	p.UID, p.Spec.NodeName = types.UID(name+"-pod-uid"), "host-1"
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: ip}
	return n, objects.NodeConfig(n, "port 6379\n"), p
}

func newHost() *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "host-1", Labels: map[string]string{corev1.LabelTopologyZone: "zone-1"}}}
}

// newKube is an API server's stand-in that holds the objects.
func newKube(t *testing.T, held ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(held...).WithStatusSubresource(&v1alpha1.ValkeyCluster{})
	for _, kind := range []client.Object{
		&v1alpha1.ValkeyNode{}, &corev1.Pod{}, &corev1.ConfigMap{}, &corev1.Secret{}, &corev1.Service{}, &policyv1.PodDisruptionBudget{},
	} {
		b = b.WithIndex(kind, observe.ClusterIndex, observe.InstanceOf)
	}
	return b.Build()
}

func newObserver(t *testing.T, kube client.Reader) *observe.Observer {
	t.Helper()
	pool := &valkey.Pool{}
	t.Cleanup(pool.Close)
	return &observe.Observer{
		Kube: kube, Secrets: observe.LiveSecrets{API: kube}, Pool: pool,
		ClusterDomain: "cluster.local", Now: func() time.Time { return now },
		Directives: func() []string { return []string{"hz"} },
	}
}

func see(t *testing.T, held ...client.Object) observe.Observation {
	t.Helper()
	seen, err := newObserver(t, newKube(t, held...)).Observe(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func TestAClusterAsKubernetesHoldsIt(t *testing.T) {
	cluster := newCluster()
	n, config, pod := newNode(t, cluster, "c-00001", "")
	n.Status.NodeID = "f00"
	held := []client.Object{cluster, n, config, pod, newHost(), objects.AuthSecret(cluster)}
	var owned []engine.Object
	keep := 8
	for _, obj := range append(objects.Owned(cluster, desired), objects.Budget(cluster, keep)) {
		held, owned = append(held, obj), append(owned, objects.Canonical(obj))
	}
	seen := see(t, held...)
	if !seen.Snapshot.Auth.Whole() || len(seen.Credentials.Main.Operator) != 128 {
		t.Errorf("passwords are %v", seen.Snapshot.Auth)
	}
	want := engine.Snapshot{
		At: now,
		Cluster: engine.Cluster{
			Namespace: "ns", Name: "c", UID: "cluster-uid", Generation: 7, Paused: true, Finalizer: true,
			State: "Creating", Target: &engine.Topology{Shards: 3, ReplicasPerShard: 2},
		},
		Auth:    seen.Snapshot.Auth,
		Budget:  &keep,
		Objects: []engine.Object{owned[1], owned[2], owned[0]}, // ConfigMap, PodDisruptionBudget, Service
		Nodes: []engine.Node{{
			Name: "c-00001", UID: "c-00001-uid", Lifecycle: engine.Joining, ShardIndex: 1, LastID: "f00", HasConfig: true,
			Spec: engine.NodeSpec{
				Image: "valkey:9.1", CPU: "1", Memory: "1Gi", Settings: map[string]string{"save": "900 1"},
				Placement: engine.Placement{Zones: []string{"a", "b"}, ZoneSpread: "required"},
			},
			Pod: &engine.Pod{
				UID: "c-00001-pod-uid", Phase: "Running", HostNode: "host-1", Zone: "zone-1", Annotations: map[string]string{"a": "b"},
			},
		}},
	}
	if diff := cmp.Diff(want, seen.Snapshot); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatIsNotThereIsMissingAndNoError(t *testing.T) {
	cluster := newCluster()
	cluster.Status = v1alpha1.ValkeyClusterStatus{}
	n, _, _ := newNode(t, cluster, "c-00001", "")
	n.Spec.Lifecycle = ""
	seen := see(t, cluster, n).Snapshot
	if seen.Auth != nil || seen.Objects != nil || seen.Cluster.Target != nil || seen.Strays != nil {
		t.Errorf("%+v", seen)
	}
	got := seen.Nodes[0]
	if got.HasConfig || got.Pod != nil || got.Server != nil || got.Silence != "" || got.Lifecycle != engine.Active {
		t.Errorf("%+v", got)
	}
}

func TestOnlyWhatThisClusterControlsIsItsOwn(t *testing.T) {
	cluster, before, other := newCluster(), newCluster(), newCluster()
	before.UID, other.Name, other.UID = "older-uid", "other", "other-uid"
	older, olderConfig, olderPod := newNode(t, before, "c-0000a", "")
	foreign, _, foreignPod := newNode(t, other, "other-00001", "")
	mine := objects.Labels("c")
	claimed := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "theirs", Labels: mine}}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: objects.AuthName("c"), Labels: mine},
		Data:       map[string][]byte{objects.OperatorPasswordKey: []byte(strings.Repeat("a", 128))},
	}
	elsewhere := objects.AuthSecret(cluster)
	elsewhere.Namespace = "elsewhere"
	seen := see(t, cluster, older, olderConfig, olderPod, foreign, foreignPod, claimed, secret, elsewhere)
	if s := seen.Snapshot; s.Nodes != nil || s.Objects != nil || s.Auth != nil || s.Strays != nil {
		t.Errorf("%+v", s)
	}
	if seen.Credentials != (observe.Credentials{}) {
		t.Error("passwords of a Secret that is not the cluster's")
	}
}

func TestWhatANodeLeftBehindIsAStray(t *testing.T) {
	cluster := newCluster()
	n, config, pod := newNode(t, cluster, "c-00001", "")
	_, goneConfig, gonePod := newNode(t, cluster, "c-00000", "")
	_, _, again := newNode(t, cluster, "c-00001", "")
	again.OwnerReferences[0].UID, again.Name = "first-of-that-name", "c-00001-old"
	seen := see(t, cluster, n, config, pod, goneConfig, gonePod, again)
	want := []string{"ConfigMap/c-00000-config", "Pod/c-00000", "Pod/c-00001-old"}
	if diff := cmp.Diff(want, seen.Snapshot.Strays); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPasswordsThatAreMalformedAreNone(t *testing.T) {
	cluster := newCluster()
	for name, spoil := range map[string]func(*corev1.Secret){
		"too short":      func(s *corev1.Secret) { s.Data[objects.OperatorPasswordKey] = []byte("abc") },
		"no hexadecimal": func(s *corev1.Secret) { s.Data[objects.OperatorPasswordKey] = []byte(strings.Repeat("x", 128)) },
		"not there":      func(s *corev1.Secret) { delete(s.Data, objects.OperatorPasswordKey) },
	} {
		secret := objects.AuthSecret(cluster)
		spoil(secret)
		seen := see(t, cluster, secret)
		if a := seen.Snapshot.Auth; a == nil || a.OperatorHash != "" || a.ReplHash == "" || a.Whole() {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func TestPasswordsDoNotPrint(t *testing.T) {
	c := observe.Credentials{Main: objects.Credentials{Operator: "hunter2", Repl: "hunter3"}, Known: objects.Credentials{Operator: "hunter4"}}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, printed := range []string{fmt.Sprint(c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c), fmt.Sprint(&c), string(text)} {
		if strings.Contains(printed, "hunter") {
			t.Error(printed)
		}
	}
}

func TestAClusterThatIsGoneIsSaidByASentinel(t *testing.T) {
	_, err := newObserver(t, newKube(t)).Observe(context.Background(), key)
	if !errors.Is(err, observe.ErrNoCluster) {
		t.Errorf("error is %v", err)
	}
}

func TestKubernetesThatCannotBeReadIsAnError(t *testing.T) {
	down := errors.New("down")
	kube := interceptor.NewClient(newKube(t, newCluster()), interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return down },
	})
	_, err := newObserver(t, kube).Observe(context.Background(), key)
	if !errors.Is(err, down) || errors.Is(err, observe.ErrNoCluster) {
		t.Errorf("error is %v", err)
	}
}

func TestTheTLSSecretIsReadAndChecked(t *testing.T) {
	cluster := newCluster()
	cluster.Spec.TLS = &v1alpha1.TLS{SecretRef: "s"}
	if seen := see(t, cluster); seen.TLS.Problem != `TLS Secret "s" not found in namespace "ns"` {
		t.Errorf("%+v", seen.TLS)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}}
	if seen := see(t, cluster, secret); seen.TLS.Problem != `TLS Secret "s" has no data` {
		t.Errorf("%+v", seen.TLS)
	}
	secret.Data = secretOf(t, newAuthority(t, nil, "ca", now.AddDate(1, 0, 0)), leaf())
	if seen := see(t, cluster, secret); seen.TLS.Problem != "" || !seen.TLS.Expiry.Equal(leaf().NotAfter) {
		t.Errorf("%+v", seen.TLS)
	}
	if seen := see(t, newCluster()); seen.TLS != nil {
		t.Errorf("%+v", seen.TLS)
	}
}

func TestAPassReadsTheCacheOnlyAndWritesNothing(t *testing.T) {
	cluster := newCluster()
	n, config, pod := newNode(t, cluster, "c-00001", "")
	o := newObserver(t, newKube(t, cluster, n, config, pod, newHost()))
	o.Secrets = nil // the only way to the API server itself
	if _, err := o.Observe(context.Background(), key); err != nil {
		t.Fatal(err)
	}
}

func TestKubernetesNodesAreStripped(t *testing.T) {
	host := newHost()
	host.Spec.Unschedulable, host.Spec.PodCIDR = true, "10.0.0.0/24"
	host.Annotations = map[string]string{"long": "story"}
	host.Status.Images = []corev1.ContainerImage{{Names: []string{"valkey"}}}
	host.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse},
		{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Message: "Kubelet stopped posting node status."},
	}
	bare, err := observe.BareNode(host)
	if err != nil {
		t.Fatal(err)
	}
	want := newHost()
	want.Spec.Unschedulable = true
	want.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
	if diff := cmp.Diff(want, bare); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if other, err := observe.BareNode("tombstone"); other != "tombstone" || err != nil {
		t.Errorf("%v, %v", other, err)
	}
}

func TestAPodIsCordonedWithItsKubernetesNodeUnlessItWouldComeBackThere(t *testing.T) {
	for name, tc := range map[string]struct {
		tolerations []corev1.Toleration
		want        bool
	}{
		"it may not come back": {nil, true},
		"another taint is tolerated": {[]corev1.Toleration{
			{Key: "kubernetes.io/arch", Operator: corev1.TolerationOpEqual, Value: "arm64", Effect: corev1.TaintEffectNoSchedule},
		}, true},
		"every taint is tolerated": {[]corev1.Toleration{{Operator: corev1.TolerationOpExists}}, false},
		"the cordon is tolerated": {[]corev1.Toleration{
			{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
		}, false},
	} {
		cluster, host := newCluster(), newHost()
		host.Spec.Unschedulable = true
		n, config, pod := newNode(t, cluster, "c-00001", "")
		pod.Spec.Tolerations = tc.tolerations
		seen := see(t, cluster, n, config, pod, host)
		if got := seen.Snapshot.Nodes[0].Pod.Cordoned; got != tc.want {
			t.Errorf("%s: cordoned is %v", name, got)
		}
	}
}
