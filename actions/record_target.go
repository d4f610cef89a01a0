package actions

import (
	"context"
	"fmt"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// RecordTarget writes the spec that a bootstrap builds into the status.
type RecordTarget struct{}

// String implements Action.
func (*RecordTarget) String() string { return "status.targetSpec" }

// Execute implements Action. A target that is recorded stays: nodes may have
// been made for it. What is recorded is the spec that was decided on, and not
// one that was edited since.
func (*RecordTarget) Execute(ctx context.Context, env Env) error {
	err := patchStatus(ctx, env, func(c *v1alpha1.ValkeyCluster) {
		if c.Status.TargetSpec != nil || c.Generation != env.Cluster.Generation {
			return
		}
		c.Status.TargetSpec = env.Cluster.Spec.DeepCopy()
		c.Status.State = v1alpha1.Creating
	})
	if err != nil {
		return fmt.Errorf("record the target: %w", err)
	}
	return nil
}
