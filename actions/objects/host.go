package objects

import corev1 "k8s.io/api/core/v1"

// HostLost says that a Kubernetes node is not ready: its kubelet has said nothing for as long as the control plane waits
// (node-monitor-grace-period, 50 s by default), or says that it cannot run Pods.
func HostLost(host *corev1.Node) bool {
	for _, c := range host.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status != corev1.ConditionTrue
		}
	}
	return false
}
