package observe

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var began = metav1.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// status is a Pod's status with the server's container in the given state.
func status(phase corev1.PodPhase, state corev1.ContainerState) corev1.PodStatus {
	return corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{{Name: "valkey", State: state}}}
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func terminated(reason string, code int32, message string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: reason, ExitCode: code, Message: message, StartedAt: began}}
}

func running() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: began}}
}

func unschedulable(message string) corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message,
	}}}
}

func TestWhyAPodDoesNotRun(t *testing.T) {
	evicted := corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory."}
	evicted.ContainerStatuses = status(corev1.PodFailed, terminated("Error", 137, "")).ContainerStatuses
	withSidecar := status(corev1.PodRunning, running())
	withSidecar.ContainerStatuses = append(withSidecar.ContainerStatuses, corev1.ContainerStatus{Name: "mesh", State: terminated("Completed", 0, "")})
	gated := unschedulable("")
	gated.Conditions[0].Reason = corev1.PodReasonSchedulingGated
	initFails := corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{{Name: "mesh-init", State: terminated("Error", 1, "no iptables")}}}
	cases := map[string]struct {
		status corev1.PodStatus
		want   string
	}{
		"it runs":                      {status(corev1.PodRunning, running()), ""},
		"it is new":                    {corev1.PodStatus{Phase: corev1.PodPending}, ""},
		"its container is being made":  {status(corev1.PodPending, waiting("ContainerCreating", "")), ""},
		"there is no room":             {unschedulable("0/3 nodes are available:\n 3 Insufficient memory."), "Unschedulable: 0/3 nodes are available: 3 Insufficient memory."},
		"it waits for a gate":          {gated, ""},
		"there is no such image":       {status(corev1.PodPending, waiting("ErrImagePull", "not found")), "ErrImagePull: not found"},
		"there is still no such image": {status(corev1.PodPending, waiting("ImagePullBackOff", "Back-off pulling image")), "ImagePullBackOff: Back-off pulling image"},
		"the image has no name":        {status(corev1.PodPending, waiting("InvalidImageName", "")), "InvalidImageName"},
		"a Secret is missing":          {status(corev1.PodPending, waiting("CreateContainerConfigError", `secret "x" not found`)), `CreateContainerConfigError: secret "x" not found`},
		"the container is not made":    {status(corev1.PodPending, waiting("CreateContainerError", "x")), "CreateContainerError: x"},
		"the container does not run":   {status(corev1.PodPending, waiting("RunContainerError", "x")), "RunContainerError: x"},
		"it was killed for its memory": {status(corev1.PodFailed, terminated("OOMKilled", 137, "")), "OOMKilled (exit code 137)"},
		"a directive is refused": {
			status(corev1.PodFailed, terminated("Error", 1, "*** FATAL CONFIG FILE ERROR ***\n>>> 'actokey x'\nBad directive\n")),
			"Error (exit code 1): *** FATAL CONFIG FILE ERROR *** >>> 'actokey x' Bad directive",
		},
		"it ended of itself":          {status(corev1.PodSucceeded, terminated("Completed", 0, "")), "Completed (exit code 0)"},
		"it was evicted":              {evicted, "Evicted: The node was low on resource: memory."},
		"a sidecar ended well":        {withSidecar, ""},
		"what comes before it failed": {initFails, "Error (exit code 1): no iptables"},
	}
	for name, c := range cases {
		if got := trouble(&corev1.Pod{Status: c.status}); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestLastWordsAreCutToTheirEnd(t *testing.T) {
	got := trouble(&corev1.Pod{Status: status(corev1.PodFailed, terminated("Error", 1, strings.Repeat("é", 4000)+" Bad directive"))})
	if !strings.HasPrefix(got, "Error (exit code 1): …") || !strings.HasSuffix(got, "é Bad directive") || len(got) > 600 {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	if strings.ToValidUTF8(got, "") != got {
		t.Errorf("not UTF-8: %q", got)
	}
}

func TestWhenAPodStarted(t *testing.T) {
	cases := map[string]struct {
		status corev1.PodStatus
		want   time.Time
	}{
		"it has not": {status(corev1.PodPending, waiting("ContainerCreating", "")), time.Time{}},
		"it runs":    {status(corev1.PodRunning, running()), began.Time},
		"it ran":     {status(corev1.PodFailed, terminated("Error", 1, "")), began.Time},
		"only a sidecar did": {
			corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "mesh", State: running()}}}, time.Time{},
		},
	}
	for name, c := range cases {
		if got := started(&corev1.Pod{Status: c.status}); !got.Equal(c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
