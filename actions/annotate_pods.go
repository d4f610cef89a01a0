package actions

import (
	"context"
	"fmt"
	"maps"

	"sigs.k8s.io/controller-runtime/pkg/client"
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
	pod, err := ownPod(ctx, env, node)
	if err != nil || pod == nil {
		return err
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
