package actions

import (
	"context"

	"valkey.gomomento.com/operator/actions/objects"
)

// SetBudget says how many of the cluster's Pods an eviction must leave.
type SetBudget struct {
	Keep int `expr:"keep"`
}

// String implements Action.
func (a *SetBudget) String() string { return count(a.Keep, "Pod") + " to stay" }

// Execute implements Action. A budget of nothing would let all Pods be evicted.
func (a *SetBudget) Execute(ctx context.Context, env Env) error {
	if a.Keep == 0 {
		return nil
	}
	return apply(ctx, env, objects.Budget(env.Cluster, a.Keep))
}
