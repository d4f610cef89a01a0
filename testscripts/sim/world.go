// Package sim runs the operator's whole loop in a world that is made up: a Kubernetes in memory, a model of Valkey Cluster,
// and a clock that stands still while nothing happens. Servers, machines, networks, API servers and operators fail in it at
// any moment; what must hold all the same is checked at every command.
//
// All chance comes from one seed, and the clock is that of testing/synctest, so that what a seed did can be seen again. What
// is done to the world is a script, whether a person or a seed wrote it; script.go has the words.
//
// Not in the world: TLS, the keepers of the menu, servers before Valkey 9.
package sim

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine/topology"
	"valkey.gomomento.com/operator/testscripts/sim/kube"
	"valkey.gomomento.com/operator/testscripts/sim/model"
	"valkey.gomomento.com/operator/testscripts/sim/timeline"
)

const (
	namespace   = "default"
	clusterName = "shop"
	configName  = "small"
	imageName   = "valkey"
	// machines is how many there are, in three zones.
	machines = 6
	// trackedKeys is how many keys the client writes, spread evenly over the slots.
	trackedKeys = 8
	// replicationLag is the usual one.
	replicationLag = 2 * time.Millisecond
	// mountAfter is how long a kubelet takes to bring a changed ConfigMap to its Pods.
	mountAfter = time.Second
)

// A World is all there is. Make it with newWorld, within a synctest bubble.
type World struct {
	program   *Program
	line      *timeline.Line
	api       *kube.API
	machines  *kube.Machines
	servers   *model.Cluster
	operators []*operator
	judge     judge

	named map[string]int // nodes made so far, by shard
	users string         // users.acl as it is mounted
	// mounted is the version of the ConfigMap that it is from.
	mounted int
	stale   time.Duration // by how much caches lag beyond the usual
	broken  float64       // which part of requests to the API server fails
	// passwords are those of replication that have been given out.
	passwords map[string]bool
	started   time.Time
	// hasty ends the script with the first fault.
	hasty bool
	// restless is when somebody last had something to do.
	restless time.Time
}

func newWorld(program *Program, seed uint64) *World {
	line := timeline.New(seed)
	w := &World{
		program: program, line: line, api: kube.New(line), servers: model.New(line, replicationLag),
		named: map[string]int{}, passwords: map[string]bool{}, started: time.Now(),
	}
	w.judge = judge{w: w, fired: map[string]int{}}
	w.machines = kube.NewMachines(w.api, w, machines)
	w.api.Admit, w.api.Changed = w.admit, w.changed
	w.servers.Ended, w.servers.Broke = w.ended, w.broke
	w.servers.Ordered, w.servers.Succeeded = w.judge.ordered, w.judge.succeeded
	for i := range trackedKeys {
		w.servers.Keys = append(w.servers.Keys, &model.Key{Slot: (2*i + 1) * topology.SlotCount / (2 * trackedKeys)})
	}
	return w
}

// make creates the cluster and its menu.
func (w *World) make(shards, replicas int) {
	w.api.Put(&v1alpha1.ValkeyImage{
		ObjectMeta: metav1.ObjectMeta{Name: imageName},
		Spec:       v1alpha1.ValkeyImageSpec{Repository: "valkey", Tag: "9.1.0", Version: "9.1.0"},
	})
	w.api.Put(&v1alpha1.ValkeyConfig{
		ObjectMeta: metav1.ObjectMeta{Name: configName},
		Spec: v1alpha1.ValkeyConfigSpec{
			ImageRef: imageName, Resources: &v1alpha1.Resources{CPU: "100m", Memory: "256Mi"},
			Valkey: map[string]string{"maxmemory-policy": "allkeys-lru"},
		},
	})
	for role, access := range map[string]v1alpha1.Access{"reader": "deny", "writer": "allow"} {
		w.api.Put(&v1alpha1.ValkeyRole{ObjectMeta: metav1.ObjectMeta{Name: role}, Spec: v1alpha1.ValkeyRoleSpec{
			Categories: []v1alpha1.CategoryRule{{Name: "read", Access: "allow"}, {Name: "write", Access: access}},
		}})
	}
	w.api.Put(&v1alpha1.ValkeyCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: clusterName},
		Spec:       v1alpha1.ValkeyClusterSpec{ConfigRef: configName, Shards: int32(shards), ReplicasPerShard: int32(replicas)},
	})
}

// admit gives what the operator names or makes up at random the same name and content in every run. A node's name tells
// its shard: shop-20001 is the second one of shard 2.
func (w *World) admit(obj client.Object) {
	switch o := obj.(type) {
	case *v1alpha1.ValkeyNode:
		shard := strconv.Itoa(int(o.Spec.ShardIndex))
		o.Name = fmt.Sprintf("%s-%x%04x", clusterName, o.Spec.ShardIndex%16, w.named[shard])
		w.named[shard]++
	case *corev1.Secret:
		w.admitSecret(o)
	}
}

// admitSecret puts passwords that are the same in every run in the place of new ones, as long as those that it has given out
// itself.
func (w *World) admitSecret(s *corev1.Secret) {
	given := objects.Passwords(s.Data)
	if !given.Whole() || w.passwords[given.Repl] {
		return
	}
	n := len(w.passwords)
	same := objects.Credentials{Operator: strings.Repeat(fmt.Sprintf("%02x", 2*n+10), 64), Repl: strings.Repeat(fmt.Sprintf("%02x", 2*n+11), 64)}
	w.passwords[same.Repl] = true
	maps.Copy(s.Data, objects.AuthSecretOf(w.cluster(), same).Data)
}

// changed does what follows from a change of an object outside the operator.
func (w *World) changed(was, is client.Object) {
	w.machines.Changed(was, is)
	file, ok := is.(*corev1.ConfigMap)
	if ok && file.Name == objects.ACLName(clusterName) {
		w.line.After(mountAfter, func() { w.mount(file) })
	}
}

// mount brings the users to the Pods. A kubelet never brings an older version after a newer one.
func (w *World) mount(file *corev1.ConfigMap) {
	if version, err := strconv.Atoi(file.ResourceVersion); err == nil && version >= w.mounted {
		w.users, w.mounted = file.Data[objects.ACLKey], version
	}
}

// Start implements kube.Runtime: a server starts with what its Pod has mounted.
func (w *World) Start(pod *corev1.Pod) bool {
	node := kube.Get[v1alpha1.ValkeyNode](w.api, namespace, pod.Name)
	secret := kube.Get[corev1.Secret](w.api, namespace, objects.AuthName(clusterName))
	file := kube.Get[corev1.ConfigMap](w.api, namespace, objects.ACLName(clusterName))
	conf := kube.Get[corev1.ConfigMap](w.api, namespace, objects.ConfigName(pod.Name))
	if node == nil || secret == nil || file == nil || conf == nil {
		return false
	}
	w.mount(file)
	w.servers.Start(model.Process{
		Name: pod.Name, IP: pod.Status.PodIP, Host: pod.Spec.NodeName, UID: pod.UID,
		Version: node.Spec.Version, Settings: node.Spec.ValkeySettings,
		Users: func() string { return w.users }, Password: objects.Passwords(secret.Data).Repl,
	})
	return true
}

// on does it to the Pod's server, if there is one.
func (w *World) on(uid types.UID, do func(*model.Server)) {
	if s := w.servers.Find(uid); s != nil {
		do(s)
	}
}

// Terminate implements kube.Runtime.
func (w *World) Terminate(uid types.UID) { w.on(uid, (*model.Server).Terminate) }

// Kill implements kube.Runtime.
func (w *World) Kill(uid types.UID) { w.on(uid, (*model.Server).Kill) }

// Vanish implements kube.Runtime.
func (w *World) Vanish(uid types.UID) {
	w.on(uid, func(s *model.Server) {
		s.Struck()
		s.Vanish()
	})
}

// Unplug implements kube.Runtime.
func (w *World) Unplug(uid types.UID) { w.on(uid, (*model.Server).Unplug) }

// ended tells the kubelet that a container has ended.
func (w *World) ended(s *model.Server, code int32) { w.machines.Ended(s.Name, s.UID, code) }

// broke wakes the operators that had a connection to the server.
func (w *World) broke(s *model.Server) {
	for _, o := range w.operators {
		if !w.servers.Net.Cut(s.Name, o.name) {
			w.line.After(time.Millisecond, o.wakeUp)
		}
	}
}

// spec is the cluster as the API server has it.
func (w *World) cluster() *v1alpha1.ValkeyCluster {
	return kube.Get[v1alpha1.ValkeyCluster](w.api, namespace, clusterName)
}

// nodes are the ValkeyNodes as the API server has them.
func (w *World) nodes() []*v1alpha1.ValkeyNode { return kube.All[v1alpha1.ValkeyNode](w.api) }

// pod is the Pod of that name, nil when there is none.
func (w *World) pod(name string) *corev1.Pod { return kube.Get[corev1.Pod](w.api, namespace, name) }

// operator is the living one of that name, nil when there is none.
func (w *World) operator(name string) *operator {
	for _, o := range w.operators {
		if o.name == name && !o.dead {
			return o
		}
	}
	return nil
}
