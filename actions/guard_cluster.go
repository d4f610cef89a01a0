package actions

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// GuardCluster puts the operator's finalizer on the cluster.
type GuardCluster struct{}

// String implements Action.
func (*GuardCluster) String() string { return objects.ClusterFinalizer }

// Execute implements Action. The API server takes no finalizer for a cluster
// that is being deleted.
func (*GuardCluster) Execute(ctx context.Context, env Env) error {
	cluster, err := liveCluster(ctx, env)
	if err != nil || cluster == nil || !cluster.DeletionTimestamp.IsZero() {
		return err
	}
	if err := patchCluster(ctx, env, cluster, func(c *v1alpha1.ValkeyCluster) {
		controllerutil.AddFinalizer(c, objects.ClusterFinalizer)
	}); err != nil {
		return fmt.Errorf("add the finalizer: %w", err)
	}
	return nil
}

// patchCluster changes the cluster if nobody else has since it was read.
func patchCluster(
	ctx context.Context, env Env, cluster *v1alpha1.ValkeyCluster, change func(*v1alpha1.ValkeyCluster),
) error {
	changed := cluster.DeepCopy()
	change(changed)
	patch := client.MergeFromWithOptions(cluster, client.MergeFromWithOptimisticLock{})
	return env.Kube.Patch(ctx, changed, patch)
}
