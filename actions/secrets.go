package actions

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// ownSecret is the cluster's own Secret of that name as the API server has it;
// nil when there is none. One that an earlier cluster of this name has left,
// and that only its finalizer keeps, is let go.
func ownSecret(ctx context.Context, env Env, name string) (*corev1.Secret, error) {
	s, err := liveSecret(ctx, env, name)
	if err != nil || s == nil {
		return nil, err
	}
	if owns(env, s) || objects.ControllerUID(s) == "" && labelled(env, s) {
		return s, nil
	}
	if leftBehind(s) {
		return nil, unguard(ctx, env.Kube, s)
	}
	return nil, foreign(s)
}

// leftBehind says that only the operator's finalizer keeps the Secret.
func leftBehind(s *corev1.Secret) bool {
	return !s.DeletionTimestamp.IsZero() && controllerutil.ContainsFinalizer(s, objects.SecretFinalizer)
}

// ReleaseSecrets lets go of the Secrets of a cluster that is gone, where only
// the operator's finalizer keeps them: somebody took the cluster's own finalizer
// off it, or kept its objects. Nothing else would, and their namespace could
// not be deleted.
func ReleaseSecrets(ctx context.Context, kube client.Client, live client.Reader, cluster types.NamespacedName) error {
	var all corev1.SecretList
	if err := kube.List(ctx, &all, client.InNamespace(cluster.Namespace), client.MatchingLabels(objects.Labels(cluster.Name))); err != nil {
		return fmt.Errorf("list Secrets of a cluster that is gone: %w", err)
	}
	left := slices.DeleteFunc(all.Items, func(s corev1.Secret) bool { return !leftBehind(&s) })
	if len(left) == 0 {
		return nil
	}
	err := live.Get(ctx, cluster, &v1alpha1.ValkeyCluster{})
	if !apierrors.IsNotFound(err) {
		return err // it is there after all, or nobody knows
	}
	return each(ctx, left, func(ctx context.Context, s corev1.Secret) error { return unguard(ctx, kube, &s) })
}

// unguard takes the operator's finalizer off the Secret, unless somebody has
// changed it since it was read.
func unguard(ctx context.Context, kube client.Client, s *corev1.Secret) error {
	if !controllerutil.ContainsFinalizer(s, objects.SecretFinalizer) {
		return nil
	}
	free := s.DeepCopy()
	controllerutil.RemoveFinalizer(free, objects.SecretFinalizer)
	patch := client.MergeFromWithOptions(s, client.MergeFromWithOptimisticLock{})
	if err := kube.Patch(ctx, free, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("let Secret %s go: %w", s.Name, err)
	}
	return nil
}

// removeSecret removes the Secret for good, whoever has deleted it before.
func removeSecret(ctx context.Context, env Env, s *corev1.Secret) error {
	if err := unguard(ctx, env.Kube, s); err != nil || !s.DeletionTimestamp.IsZero() {
		return err
	}
	return remove(ctx, env, s)
}

// putSecret makes the Secret what it should be. What is immutable is made
// anew, and so is what somebody has deleted: a deletion cannot be taken back.
func putSecret(ctx context.Context, env Env, want *corev1.Secret) error {
	live, err := ownSecret(ctx, env, want.Name)
	if err != nil {
		return err
	}
	if live != nil {
		if live.DeletionTimestamp.IsZero() && objects.Guarded(live) && maps.EqualFunc(live.Data, want.Data, bytes.Equal) {
			return nil
		}
		if err := removeSecret(ctx, env, live); err != nil {
			return err
		}
	}
	if err := env.Kube.Create(ctx, want); err != nil {
		return fmt.Errorf("create Secret %s: %w", want.Name, err)
	}
	return nil
}

// patchSecret changes the Secret if nobody else has since it was read.
func patchSecret(ctx context.Context, env Env, live, changed client.Object) error {
	return env.Kube.Patch(ctx, changed, client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{}))
}

// secretsNow are the main Secret and the one beside it, as the API server has them.
func secretsNow(ctx context.Context, env Env) (main, next *corev1.Secret, err error) {
	if main, err = ownSecret(ctx, env, objects.AuthName(env.Cluster.Name)); err != nil {
		return nil, nil, err
	}
	next, err = ownSecret(ctx, env, objects.NextAuthName(env.Cluster.Name))
	return main, next, err
}

// passwordsOf are the Secret's passwords, none when there is no Secret.
func passwordsOf(s *corev1.Secret) objects.Credentials {
	if s == nil {
		return objects.Credentials{}
	}
	return objects.Passwords(s.Data)
}
