package actions

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
)

// DeleteNodes removes nodes that are dead, have not joined, or are done leaving.
type DeleteNodes struct {
	Nodes []string `expr:"nodes"`
}

// String implements Action.
func (a *DeleteNodes) String() string { return list(a.Nodes) }

// Execute implements Action.
func (a *DeleteNodes) Execute(ctx context.Context, env Env) error {
	return each(ctx, a.Nodes, func(ctx context.Context, name string) error {
		return deleteNode(ctx, env, name)
	})
}

// deleteNode does nothing to a node that turns out to be of use.
func deleteNode(ctx context.Context, env Env, name string) error {
	node, err := liveNode(ctx, env, name)
	if err != nil || node == nil {
		return err
	}
	pod, err := podOf(ctx, env, node)
	if err != nil {
		return err
	}
	if used, err := inUse(ctx, env, node, pod); used || err != nil {
		return err
	}
	if pod != nil {
		if err := removePod(ctx, env, pod); err != nil {
			return err
		}
		if pod, err = podOf(ctx, env, node); err != nil {
			return err
		}
	}
	if err := removeConfig(ctx, env, node); err != nil {
		return err
	}
	return removeNode(ctx, env, node, pod == nil)
}

// inUse says that the node may be a working member: that it was not deleted,
// is not leaving, and has a Pod that runs, with a server that has joined.
// A joining node whose server does not answer holds nothing.
func inUse(ctx context.Context, env Env, node *v1alpha1.ValkeyNode, pod *corev1.Pod) (bool, error) {
	if !node.DeletionTimestamp.IsZero() || node.Spec.Lifecycle == v1alpha1.LifecycleLeaving {
		return false, nil
	}
	if pod == nil || !pod.DeletionTimestamp.IsZero() || hasEnded(pod) {
		return false, nil
	}
	if node.Spec.Lifecycle != v1alpha1.LifecycleJoining {
		lost, err := hostLost(ctx, env, pod)
		return !lost || !abandoned(ctx, env, node.Name), err
	}
	if pod.Status.Phase != corev1.PodRunning {
		return false, nil
	}
	v, _, err := look(ctx, env, node.Name)
	return err == nil && (!v.alone() || len(v.self().Slots) > 0), nil
}

// abandoned says of a server on a lost Kubernetes node that the cluster goes on without it: it does not answer, and those
// who do are a majority, have failed it, and give no slots to it.
func abandoned(ctx context.Context, env Env, name string) bool {
	heard, _ := canvass(ctx, env, "server")
	if heard.haveNode(name) || !heard.quorate() {
		return false
	}
	i := slices.IndexFunc(env.Snapshot.Nodes, func(n engine.Node) bool { return n.Name == name })
	if i < 0 {
		return false
	}
	return !slices.ContainsFunc(heard, func(v voice) bool {
		m, known := v.member(env.Snapshot.Nodes[i].LastID)
		return known && (!m.Failed || len(m.Slots) > 0)
	})
}

// hasEnded says that the Pod's container has stopped for good.
func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// podOf is the node's Pod as the API server has it, nil when there is none.
func podOf(ctx context.Context, env Env, node *v1alpha1.ValkeyNode) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	err := env.Live.Get(ctx, env.key(node.Name), pod)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read pod %s: %w", node.Name, err)
	}
	if objects.ControllerUID(pod) != node.UID {
		return nil, nil
	}
	return pod, nil
}

func removeConfig(ctx context.Context, env Env, node *v1alpha1.ValkeyNode) error {
	config := &corev1.ConfigMap{}
	err := env.Live.Get(ctx, env.key(objects.ConfigName(node.Name)), config)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read configuration of %s: %w", node.Name, err)
	}
	if objects.ControllerUID(config) != node.UID {
		return nil
	}
	return remove(ctx, env, config)
}
