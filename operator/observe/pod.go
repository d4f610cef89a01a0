package observe

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/engine"
)

// longestMessage keeps the end of a container's last words, which says why it ended, inside what a
// condition can hold.
const longestMessage = 512

func podOf(p *corev1.Pod, on host) *engine.Pod {
	return &engine.Pod{
		UID: string(p.UID), Phase: string(p.Status.Phase),
		IP: p.Status.PodIP, HostNode: p.Spec.NodeName, Zone: on.zone,
		Cordoned:    on.cordoned && !toleratesCordon(p),
		HostLost:    on.lost,
		Deleting:    p.DeletionTimestamp != nil,
		Started:     started(p),
		Trouble:     trouble(p),
		Annotations: p.Annotations,
	}
}

// toleratesCordon says that the scheduler would put the Pod on a cordoned Kubernetes node all the same, and what replaces it
// as well: to replace it there would never end.
func toleratesCordon(p *corev1.Pod) bool {
	cordon := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	return slices.ContainsFunc(p.Spec.Tolerations, func(t corev1.Toleration) bool {
		return t.ToleratesTaint(logr.Discard(), &cordon, false)
	})
}

// started is when the server's container was last seen to start.
func started(p *corev1.Pod) time.Time {
	for _, c := range p.Status.ContainerStatuses {
		switch {
		case c.Name != objects.ContainerName:
		case c.State.Running != nil:
			return c.State.Running.StartedAt.Time
		case c.State.Terminated != nil:
			return c.State.Terminated.StartedAt.Time
		}
	}
	return time.Time{}
}

// hopeless are the reasons to wait that do not pass by themselves, or not soon; the others (ContainerCreating,
// PodInitializing) are a Pod on its way.
var hopeless = []string{
	"CreateContainerConfigError", "CreateContainerError", "ErrImageNeverPull", "ErrImagePull", "ImageInspectError",
	"ImagePullBackOff", "InvalidImageName", "RegistryUnavailable", "RunContainerError",
}

// trouble is why a Pod does not run, "" when nothing is wrong: what the kubelet says of the whole Pod, else of a
// container, else what the scheduler says.
func trouble(p *corev1.Pod) string {
	if p.Status.Phase == corev1.PodFailed && p.Status.Reason != "" {
		return sentence(p.Status.Reason, p.Status.Message)
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if t := containerTrouble(c); t != "" {
			return t
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return sentence(c.Reason, c.Message)
		}
	}
	return ""
}

func containerTrouble(c corev1.ContainerStatus) string {
	if w := c.State.Waiting; w != nil && slices.Contains(hopeless, w.Reason) {
		return sentence(w.Reason, w.Message)
	}
	if t := c.State.Terminated; t != nil && (t.ExitCode != 0 || c.Name == objects.ContainerName) {
		return sentence(fmt.Sprintf("%s (exit code %d)", t.Reason, t.ExitCode), t.Message)
	}
	return ""
}

// sentence joins a reason and a message, the message on one line and no longer than longestMessage.
func sentence(reason, message string) string {
	message = strings.Join(strings.Fields(message), " ")
	if message == "" {
		return reason
	}
	if cut := len(message) - longestMessage; cut > 0 {
		message = "…" + strings.ToValidUTF8(message[cut:], "")
	}
	return reason + ": " + message
}
