package kube

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fail takes a machine's power: nothing on it answers any more, and after a while Kubernetes notices.
func (m *Machines) Fail(host string) {
	if m.down[host] || Get[corev1.Node](m.api, "", host) == nil {
		return
	}
	m.down[host] = true
	for _, p := range m.on(host) {
		m.runtime.Vanish(p.UID)
	}
	m.api.Line.After(unreadyAfter, func() { m.setReady(host, corev1.ConditionUnknown) })
	m.api.Line.After(evictAfter, func() {
		if m.down[host] {
			for _, p := range m.on(host) {
				m.api.delete(p, nil)
			}
		}
	})
}

func (m *Machines) on(host string) []*corev1.Pod {
	return slices.DeleteFunc(All[corev1.Pod](m.api), func(p *corev1.Pod) bool { return p.Spec.NodeName != host })
}

func (m *Machines) setReady(host string, ready corev1.ConditionStatus) {
	n := Get[corev1.Node](m.api, "", host)
	if n == nil || m.down[host] != (ready != corev1.ConditionTrue) {
		return
	}
	is := n.DeepCopy()
	is.Status = readiness(ready)
	m.api.store(n, is)
}

// Recover brings a machine back: it has booted, and what ran on it has ended.
func (m *Machines) Recover(host string) {
	if !m.down[host] {
		return
	}
	m.down[host] = false
	m.setReady(host, corev1.ConditionTrue)
	for _, p := range m.on(host) {
		switch {
		case p.DeletionTimestamp != nil:
			m.api.Line.After(gone, func() { m.finish(p.Name, p.UID) })
		case p.Status.Phase == corev1.PodRunning:
			m.Ended(p.Name, p.UID, 255)
		default:
			m.api.Line.After(startAfter, func() { m.start(p.Name, p.UID) })
		}
	}
}

// Cordon says whether a machine takes new Pods.
func (m *Machines) Cordon(host string, cordoned bool) {
	if n := Get[corev1.Node](m.api, "", host); n != nil {
		is := n.DeepCopy()
		is.Spec.Unschedulable = cordoned
		m.api.store(n, is)
	}
}

// Hosts are the names of the machines.
func (m *Machines) Hosts() []string {
	var names []string
	for _, n := range All[corev1.Node](m.api) {
		names = append(names, n.Name)
	}
	slices.SortFunc(names, strings.Compare)
	return names
}

// Evict evicts the Pods of a machine as far as disruption budgets let it, and says whether some are left.
func (m *Machines) Evict(host string, granted func(*corev1.Pod)) bool {
	left := false
	for _, p := range m.on(host) {
		switch {
		case p.DeletionTimestamp != nil:
		case m.spare(p):
			granted(p)
			m.api.delete(p, nil)
		default:
			left = true
		}
	}
	return left
}

// spare says that every disruption budget of the Pod leaves room for its end. As with a real one, a Pod that does not run may
// always go, and one that is being deleted counts as gone.
func (m *Machines) spare(pod *corev1.Pod) bool {
	for _, b := range All[policyv1.PodDisruptionBudget](m.api) {
		healthy := 0
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil || !selector.Matches(labelsOf(pod)) || b.Spec.MinAvailable == nil {
			continue
		}
		for _, p := range All[corev1.Pod](m.api) {
			if selector.Matches(labelsOf(p)) && p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
				healthy++
			}
		}
		if pod.Status.Phase == corev1.PodRunning && healthy <= b.Spec.MinAvailable.IntValue() {
			return false
		}
	}
	return true
}
