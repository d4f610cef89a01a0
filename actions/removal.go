package actions

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

const (
	// shortGraceSeconds is what a Pod gets that is not to hand anything over. A
	// server ends within it, and the kubelet cuts the preStop sleep to it.
	shortGraceSeconds int64 = 1
	// killAfter is when a deleted Pod that is still there is struck from the API
	// server without its kubelet's word. A kubelet that is there takes about two
	// seconds; one that is not never comes back in time, and a cluster's deletion
	// is to be done within 30 s.
	killAfter = 10 * time.Second
)

// removePod deletes the Pod, gently at first. It is struck from the API
// server at once when nobody is there to end it.
func removePod(ctx context.Context, env Env, pod *corev1.Pod) error {
	unreachable, err := hostLost(ctx, env, pod)
	if err != nil {
		return err
	}
	if unreachable || overdue(pod, time.Now()) {
		return remove(ctx, env, pod, client.GracePeriodSeconds(0))
	}
	if grace := pod.DeletionGracePeriodSeconds; grace != nil && *grace <= shortGraceSeconds {
		return nil
	}
	return remove(ctx, env, pod, client.GracePeriodSeconds(shortGraceSeconds))
}

// overdue says that the Pod was deleted longer ago than any kubelet takes. The
// API server's deletion timestamp is when the grace period ends.
func overdue(pod *corev1.Pod, now time.Time) bool {
	if pod.DeletionTimestamp.IsZero() {
		return false
	}
	deleted := pod.DeletionTimestamp.Time
	if grace := pod.DeletionGracePeriodSeconds; grace != nil {
		deleted = deleted.Add(-time.Duration(*grace) * time.Second)
	}
	return now.Sub(deleted) > killAfter
}

// hostLost says that the Pod's machine is gone or not ready.
func hostLost(ctx context.Context, env Env, pod *corev1.Pod) (bool, error) {
	if pod.Spec.NodeName == "" {
		return false, nil
	}
	host := &corev1.Node{}
	err := env.Live.Get(ctx, types.NamespacedName{Name: pod.Spec.NodeName}, host)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read machine %s: %w", pod.Spec.NodeName, err)
	}
	return objects.HostLost(host), nil
}

// removeNode deletes the node, and lets it go once its Pod is gone.
func removeNode(ctx context.Context, env Env, node *v1alpha1.ValkeyNode, podGone bool) error {
	if node.DeletionTimestamp.IsZero() {
		if err := remove(ctx, env, node); err != nil {
			return err
		}
	}
	if !podGone || !controllerutil.ContainsFinalizer(node, objects.NodeFinalizer) {
		return nil
	}
	free := node.DeepCopy()
	controllerutil.RemoveFinalizer(free, objects.NodeFinalizer)
	err := env.Kube.Patch(ctx, free, client.MergeFrom(node))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("let node %s go: %w", node.Name, err)
	}
	return nil
}
