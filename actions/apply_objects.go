package actions

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions/objects"
)

// ApplyObjects creates or mends objects that the cluster owns, named as
// "Kind/name".
type ApplyObjects struct {
	Objects []string `expr:"objects"`
}

// String implements Action.
func (a *ApplyObjects) String() string { return list(a.Objects) }

// Execute implements Action.
func (a *ApplyObjects) Execute(ctx context.Context, env Env) error {
	wanted := slices.DeleteFunc(objects.Owned(env.Cluster, env.Desired), func(o client.Object) bool {
		return !slices.Contains(a.Objects, objects.Ref(o))
	})
	return each(ctx, wanted, func(ctx context.Context, want client.Object) error {
		return apply(ctx, env, want)
	})
}
