package kube

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
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
