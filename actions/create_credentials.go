package actions

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"valkey.gomomento.com/operator/actions/objects"
)

// CreateCredentials makes the Secret with the system passwords, once. It never
// changes one that servers may be using.
type CreateCredentials struct{}

// String implements Action.
func (*CreateCredentials) String() string { return "a Secret with new passwords" }

// Execute implements Action.
func (*CreateCredentials) Execute(ctx context.Context, env Env) error {
	live, err := ownSecret(ctx, env, objects.AuthName(env.Cluster.Name))
	if err != nil {
		return err
	}
	nodes, err := liveNodes(ctx, env)
	if err != nil {
		return err
	}
	switch {
	case passwordsOf(live).Whole():
		return guard(ctx, env, live)
	case len(nodes) > 0:
		return nil // the cache was behind
	default:
		return putSecret(ctx, env, objects.AuthSecret(env.Cluster))
	}
}

// GuardCredentials makes the Secret with the system passwords immutable and
// gives it the operator's finalizer.
type GuardCredentials struct{}

// String implements Action.
func (*GuardCredentials) String() string { return objects.SecretFinalizer }

// Execute implements Action.
func (*GuardCredentials) Execute(ctx context.Context, env Env) error {
	live, err := ownSecret(ctx, env, objects.AuthName(env.Cluster.Name))
	if err != nil || !passwordsOf(live).Whole() {
		return err
	}
	return guard(ctx, env, live)
}

// guard also gives the Secret back the owner and the labels it may have lost,
// as one restored from a backup has.
func guard(ctx context.Context, env Env, live *corev1.Secret) error {
	if !live.DeletionTimestamp.IsZero() {
		return nil
	}
	guarded := live.DeepCopy()
	transplant(guarded, objects.AuthSecretOf(env.Cluster, objects.Credentials{}))
	objects.Guard(guarded)
	if apiequality.Semantic.DeepEqual(live, guarded) {
		return nil
	}
	if err := patchSecret(ctx, env, live, guarded); err != nil {
		return fmt.Errorf("guard Secret %s: %w", live.GetName(), err)
	}
	return nil
}
