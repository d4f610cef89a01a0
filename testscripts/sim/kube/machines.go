package kube

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions/objects"
)

// Times of a Kubernetes that is quick to notice: the real ones are 40 s and five minutes, in which nothing happens.
const (
	bindAfter    = 40 * time.Millisecond
	startAfter   = 400 * time.Millisecond
	remount      = 500 * time.Millisecond // until a kubelet tries again to mount what was not there
	stopNotice   = 300 * time.Millisecond // until a container's end is in its Pod's status
	gone         = 100 * time.Millisecond // until a Pod whose container has ended is gone
	unreadyAfter = 10 * time.Second
	evictAfter   = 15 * time.Second
)

// A Runtime runs the containers of Pods, by the UID of the Pod.
type Runtime interface {
	// Start runs the Pod's container. False says that what it mounts is not there, for which a kubelet waits.
	Start(pod *corev1.Pod) bool
	// Terminate asks the server to end; Kill ends it now. Whoever has been told of the end already is told of it no more.
	Terminate(uid types.UID)
	Kill(uid types.UID)
	// Vanish ends it without a packet: its machine is gone.
	Vanish(uid types.UID)
	// Unplug takes the address away from where nothing runs any more.
	Unplug(uid types.UID)
}

// Machines are a scheduler and the kubelets of some machines.
type Machines struct {
	api     *API
	runtime Runtime
	down    map[string]bool
	// killing are the Pods whose end has been planned, with when it is due at the latest.
	killing map[types.UID]time.Time
	made    int
}

// NewMachines makes so many machines, spread over three zones.
func NewMachines(api *API, runtime Runtime, count int) *Machines {
	m := &Machines{api: api, runtime: runtime, down: map[string]bool{}, killing: map[types.UID]time.Time{}}
	for i := range count {
		api.Put(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("machine-%d", i), Labels: map[string]string{corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%3)},
			},
			Status: readiness(corev1.ConditionTrue),
		})
	}
	return m
}

func readiness(ready corev1.ConditionStatus) corev1.NodeStatus {
	return corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}}
}

// Changed does the scheduler's and the kubelets' part in a change.
func (m *Machines) Changed(was, is client.Object) {
	before, _ := was.(*corev1.Pod)
	after, _ := is.(*corev1.Pod)
	switch {
	case before == nil && after == nil:
	case before == nil:
		m.api.Line.After(bindAfter, func() { m.bind(after.Name, after.UID) })
	case after == nil:
		m.struck(before)
	case after.DeletionTimestamp != nil:
		m.plan(after)
	}
}

// pod is the Pod of that name if it is still that one.
func (m *Machines) pod(name string, uid types.UID) *corev1.Pod {
	for _, p := range All[corev1.Pod](m.api) {
		if p.Name == name && p.UID == uid {
			return p
		}
	}
	return nil
}

// bind gives a Pod a machine, or tries again later.
func (m *Machines) bind(name string, uid types.UID) {
	pod := m.pod(name, uid)
	if pod == nil || pod.Spec.NodeName != "" {
		return
	}
	host := m.choose(pod)
	if host == "" {
		m.api.Line.After(time.Second, func() { m.bind(name, uid) })
		return
	}
	bound := pod.DeepCopy()
	bound.Spec.NodeName = host
	m.api.store(pod, bound)
	m.api.Line.After(m.api.Line.Between(startAfter, 2*startAfter, name), func() { m.start(name, uid) })
}

// choose is the machine with the fewest Pods of the shard, then of the shard in its zone, then of all.
func (m *Machines) choose(pod *corev1.Pod) string {
	best, least := "", [3]int{}
	for _, n := range All[corev1.Node](m.api) {
		if n.Spec.Unschedulable || m.down[n.Name] || !fits(pod, n) {
			continue
		}
		have := m.crowd(pod, n)
		if best == "" || slices.Compare(have[:], least[:]) < 0 {
			best, least = n.Name, have
		}
	}
	return best
}

// crowd counts the Pods of the shard on the machine, those of the shard in its zone, and all on the machine.
func (m *Machines) crowd(pod *corev1.Pod, n *corev1.Node) (have [3]int) {
	for _, other := range All[corev1.Pod](m.api) {
		same := other.Labels[objects.LabelShard] == pod.Labels[objects.LabelShard]
		if other.Spec.NodeName == n.Name {
			have[2]++
		}
		if same && other.Spec.NodeName == n.Name {
			have[0]++
		}
		if same && other.Spec.NodeName != "" && m.zone(other.Spec.NodeName) == n.Labels[corev1.LabelTopologyZone] {
			have[1]++
		}
	}
	return have
}

// fits says that the Pod's node selector lets it run there.
func fits(pod *corev1.Pod, n *corev1.Node) bool {
	for key, value := range pod.Spec.NodeSelector {
		if n.Labels[key] != value {
			return false
		}
	}
	return true
}

func (m *Machines) zone(host string) string {
	if n := Get[corev1.Node](m.api, "", host); n != nil {
		return n.Labels[corev1.LabelTopologyZone]
	}
	return ""
}

// start runs a Pod's container.
func (m *Machines) start(name string, uid types.UID) {
	pod := m.pod(name, uid)
	if pod == nil || m.down[pod.Spec.NodeName] || pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodPending {
		return
	}
	made := m.made + 1
	running := pod.DeepCopy()
	running.Status.Phase, running.Status.PodIP = corev1.PodRunning, fmt.Sprintf("10.1.%d.%d", made/250, made%250+1)
	running.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: objects.ContainerName, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: m.api.second()}},
	}}
	if !m.runtime.Start(running) {
		m.api.Line.After(remount, func() { m.start(name, uid) })
		return
	}
	m.made = made
	m.api.store(pod, running)
}

// plan does what a kubelet does for a Pod that is being deleted: the preStop sleep, SIGTERM, and SIGKILL at the end.
func (m *Machines) plan(pod *corev1.Pod) {
	ends := m.api.Line.Now().Add(time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second)
	if due, planned := m.killing[pod.UID]; planned && !ends.Before(due) || m.down[pod.Spec.NodeName] {
		return
	}
	m.killing[pod.UID] = ends
	if pod.Status.Phase != corev1.PodRunning {
		m.api.Line.After(gone, func() { m.finish(pod.Name, pod.UID) })
		return
	}
	sleep := min(preStop(pod), ends.Sub(m.api.Line.Now()))
	m.api.Line.After(sleep, m.ifUp(pod, func() { m.runtime.Terminate(pod.UID) }))
	m.api.Line.At(ends.Add(gone), m.ifUp(pod, func() { m.runtime.Kill(pod.UID) }))
}

// ifUp does it if the Pod's machine is up by then.
func (m *Machines) ifUp(pod *corev1.Pod, do func()) func() {
	return func() {
		if !m.down[pod.Spec.NodeName] {
			do()
		}
	}
}

func preStop(pod *corev1.Pod) time.Duration {
	if l := pod.Spec.Containers[0].Lifecycle; l != nil && l.PreStop != nil && l.PreStop.Sleep != nil {
		return time.Duration(l.PreStop.Sleep.Seconds) * time.Second
	}
	return 0
}

// struck ends what a Pod that the API server has no more still runs.
func (m *Machines) struck(pod *corev1.Pod) {
	m.api.Line.After(gone, m.ifUp(pod, func() {
		m.runtime.Kill(pod.UID)
		m.runtime.Unplug(pod.UID)
	}))
}

// Ended tells that a Pod's container has ended by itself.
func (m *Machines) Ended(name string, uid types.UID, code int32) {
	m.api.Line.After(stopNotice, func() {
		pod := m.pod(name, uid)
		switch {
		case pod == nil || m.down[pod.Spec.NodeName]:
		case pod.DeletionTimestamp != nil:
			m.finish(name, uid)
		default:
			m.api.store(pod, ended(pod, code))
		}
	})
}

func ended(pod *corev1.Pod, code int32) *corev1.Pod {
	is := pod.DeepCopy()
	is.Status.Phase = corev1.PodFailed
	if code == 0 {
		is.Status.Phase = corev1.PodSucceeded
	}
	is.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: objects.ContainerName, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error"}},
	}}
	return is
}

// finish takes a Pod away that is being deleted and runs nothing any more.
func (m *Machines) finish(name string, uid types.UID) {
	if pod := m.pod(name, uid); pod != nil && pod.DeletionTimestamp != nil {
		m.api.drop(pod)
	}
}
