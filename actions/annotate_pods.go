package actions

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions/objects"
)

// AnnotatePods brings podAnnotations to running Pods. Annotations of others
// stay, and so do those that podAnnotations no longer names.
type AnnotatePods struct {
	Nodes []string `expr:"nodes"`
}

// String implements Action.
func (a *AnnotatePods) String() string { return list(a.Nodes) }

// Execute implements Action.
func (a *AnnotatePods) Execute(ctx context.Context, env Env) error {
	return each(ctx, a.Nodes, func(ctx context.Context, node string) error {
		return annotate(ctx, env, node, env.Desired.PodAnnotations)
	})
}

// annotate writes the annotations to the node's Pod, if it lacks any of them.
func annotate(ctx context.Context, env Env, node string, annotations map[string]string) error {
	pod := &corev1.Pod{}
	err := env.Live.Get(ctx, env.key(node), pod)
	if apierrors.IsNotFound(err) || (err == nil && (objects.NodeOf(pod) != node || !labelled(env, pod))) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read pod %s: %w", node, err)
	}
	annotated := pod.DeepCopy()
	if annotated.Annotations == nil {
		annotated.Annotations = map[string]string{}
	}
	maps.Copy(annotated.Annotations, annotations)
	if maps.Equal(pod.Annotations, annotated.Annotations) {
		return nil
	}
	if err := env.Kube.Patch(ctx, annotated, client.MergeFrom(pod)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("annotate pod %s: %w", node, err)
	}
	return nil
}
