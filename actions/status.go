package actions

import (
	"context"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// patchStatus changes the status of the cluster as the API server has it, if
// nobody else has since. It writes nothing when there is nothing to change.
func patchStatus(ctx context.Context, env Env, change func(*v1alpha1.ValkeyCluster)) error {
	cluster, err := liveCluster(ctx, env)
	if err != nil || cluster == nil {
		return err
	}
	changed := cluster.DeepCopy()
	change(changed)
	if apiequality.Semantic.DeepEqual(cluster.Status, changed.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(cluster, client.MergeFromWithOptimisticLock{})
	return env.Kube.Status().Patch(ctx, changed, patch)
}
