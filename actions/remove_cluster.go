package actions

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

const (
	// sweepPatience is how long one execution waits for what it deleted to be gone:
	// long enough that the loop does not spin, short enough to be a step.
	sweepPatience = time.Second
	// sweepInterval is how often it looks meanwhile.
	sweepInterval = 200 * time.Millisecond
)

// RemoveCluster deletes everything the cluster owns, and lets the cluster go
// when nothing is left.
type RemoveCluster struct {
	// Remains is what was seen to be left, for people: what is deleted is what
	// the API server has.
	Remains []string `expr:"remains"`
}

// String implements Action.
func (a *RemoveCluster) String() string {
	if len(a.Remains) == 0 {
		return "the finalizer: nothing is left"
	}
	return list(a.Remains)
}

// Execute implements Action. It touches nothing of a cluster that is not being
// deleted, nor of another cluster that has its name by now.
func (a *RemoveCluster) Execute(ctx context.Context, env Env) error {
	cluster, err := liveCluster(ctx, env)
	if err != nil || cluster == nil || cluster.DeletionTimestamp.IsZero() {
		return err
	}
	for start := time.Now(); ; {
		left, err := survey(ctx, env)
		if err != nil {
			return err
		}
		if left.empty() {
			return letGo(ctx, env, cluster)
		}
		if err := left.sweep(ctx, env); err != nil {
			return err
		}
		if time.Since(start) > sweepPatience || !pause(ctx, sweepInterval) {
			return nil
		}
	}
}

// pause waits, and says whether there is still somebody to wait for.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// letGo takes the finalizer off the cluster.
func letGo(ctx context.Context, env Env, cluster *v1alpha1.ValkeyCluster) error {
	if !controllerutil.ContainsFinalizer(cluster, objects.ClusterFinalizer) {
		return nil
	}
	err := patchCluster(ctx, env, cluster, func(c *v1alpha1.ValkeyCluster) {
		controllerutil.RemoveFinalizer(c, objects.ClusterFinalizer)
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("let the cluster go: %w", err)
	}
	return nil
}
