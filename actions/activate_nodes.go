package actions

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// ActivateNodes declares nodes working members of the cluster, replicas once they are sent what their primaries write: from
// then on others may go because these are there.
type ActivateNodes struct {
	Nodes []string `expr:"nodes"`
}

// String implements Action.
func (a *ActivateNodes) String() string { return list(a.Nodes) }

// Execute implements Action.
func (a *ActivateNodes) Execute(ctx context.Context, env Env) error {
	return each(ctx, a.Nodes, func(ctx context.Context, name string) error {
		return activate(ctx, env, name)
	})
}

// activate leaves alone a node that is not joining, above all one that is leaving.
func activate(ctx context.Context, env Env, name string) error {
	node, err := liveNode(ctx, env, name)
	if err != nil || node == nil || node.Spec.Lifecycle != v1alpha1.LifecycleJoining {
		return err
	}
	primary, known := leaderOf(env.Snapshot, name)
	if !known {
		return nil
	}
	if primary != "" {
		if following, err := follows(ctx, env, name, primary); !following {
			return err
		}
	}
	active := node.DeepCopy()
	active.Spec.Lifecycle = v1alpha1.LifecycleActive
	patch := client.MergeFromWithOptions(node, client.MergeFromWithOptimisticLock{})
	if err := env.Kube.Patch(ctx, active, patch); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("activate %s: %w", name, err)
	}
	return nil
}
