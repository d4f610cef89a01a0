package actions

import (
	"context"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// DeclareActive ends the bootstrap.
type DeclareActive struct{}

// String implements Action.
func (*DeclareActive) String() string { return "state Active" }

// Execute implements Action. It does nothing when the target is not the one
// that was found to be complete.
func (*DeclareActive) Execute(ctx context.Context, env Env) error {
	err := patchStatus(ctx, env, func(c *v1alpha1.ValkeyCluster) {
		if !apiequality.Semantic.DeepEqual(c.Status.TargetSpec, env.Cluster.Status.TargetSpec) {
			return
		}
		c.Status.State = v1alpha1.Active
		c.Status.TargetSpec = nil
	})
	if err != nil {
		return fmt.Errorf("declare the cluster active: %w", err)
	}
	return nil
}
