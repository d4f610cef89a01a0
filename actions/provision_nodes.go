package actions

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// ProvisionNodes makes the configuration and the Pod of nodes that lack them,
// from what the node itself records.
type ProvisionNodes struct {
	Nodes []string `expr:"nodes"`
}

// String implements Action.
func (a *ProvisionNodes) String() string { return list(a.Nodes) }

// Execute implements Action.
func (a *ProvisionNodes) Execute(ctx context.Context, env Env) error {
	return each(ctx, a.Nodes, func(ctx context.Context, name string) error {
		node, err := liveNode(ctx, env, name)
		if err != nil || node == nil || !node.DeletionTimestamp.IsZero() {
			return err
		}
		conf, err := confOf(env, node)
		if err != nil {
			return fmt.Errorf("configuration of %s: %w", name, err)
		}
		return provision(ctx, env, node, conf)
	})
}

// confOf is the node's valkey.conf: rendered anew only when the node was made
// from other specs than today's.
func confOf(env Env, node *v1alpha1.ValkeyNode) (string, error) {
	if env.Desired.Conf != "" && maps.Equal(node.Spec.ValkeySettings, env.Desired.Node.Settings) {
		return env.Desired.Conf, nil
	}
	return env.Conf(node.Spec.ValkeySettings)
}

// provision makes what the node lacks.
//
// A node whose server was ever heard of gets no second Pod: its data and its
// identity went with the first, and only a new node can take its place.
func provision(ctx context.Context, env Env, node *v1alpha1.ValkeyNode, conf string) error {
	if err := apply(ctx, env, objects.NodeConfig(node, conf)); err != nil {
		return err
	}
	if node.Status.NodeID != "" {
		return nil
	}
	pod, err := objects.Pod(node, env.Pods, env.Desired.PodAnnotations)
	if err != nil {
		return err
	}
	err = env.Kube.Create(ctx, pod)
	if err == nil {
		return nil
	}
	if apierrors.IsAlreadyExists(err) {
		return alreadyIts(ctx, env, pod)
	}
	return fmt.Errorf("create pod %s: %w", pod.Name, err)
}

// alreadyIts is an error when the Pod that is there is not the node's.
func alreadyIts(ctx context.Context, env Env, want *corev1.Pod) error {
	live := &corev1.Pod{}
	if err := env.Live.Get(ctx, env.key(want.Name), live); err != nil {
		return fmt.Errorf("read pod %s: %w", want.Name, err)
	}
	if objects.ControllerUID(live) != objects.ControllerUID(want) {
		return foreign(want)
	}
	return nil
}
