package actions

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// RemoveStrays deletes Pods and ConfigMaps, named as "Kind/name", that have
// outlived the node they were made for.
type RemoveStrays struct {
	Objects []string `expr:"objects"`
}

// String implements Action.
func (a *RemoveStrays) String() string { return list(a.Objects) }

// Execute implements Action.
func (a *RemoveStrays) Execute(ctx context.Context, env Env) error {
	return each(ctx, a.Objects, func(ctx context.Context, ref string) error {
		kind, name, _ := strings.Cut(ref, "/")
		switch kind {
		case "Pod":
			return removeStray(ctx, env, name, &corev1.Pod{})
		case "ConfigMap":
			return removeStray(ctx, env, name, &corev1.ConfigMap{})
		default:
			return fmt.Errorf("remove %s: only Pods and ConfigMaps are made for a node", ref)
		}
	})
}

// removeStray leaves alone what is not the cluster's, and what has a node.
func removeStray(ctx context.Context, env Env, name string, obj client.Object) error {
	err := env.Live.Get(ctx, env.key(name), obj)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %T %s: %w", obj, name, err)
	}
	if stray, err := isStray(ctx, env, obj); err != nil || !stray {
		return err
	}
	if pod, ok := obj.(*corev1.Pod); ok {
		return removePod(ctx, env, pod)
	}
	return remove(ctx, env, obj)
}

// isStray says that the object was made for a node that is gone. A node of
// the same name with another UID is not the one it was made for.
func isStray(ctx context.Context, env Env, obj client.Object) (bool, error) {
	owner := objects.NodeOf(obj)
	if owner == "" || !labelled(env, obj) {
		return false, nil
	}
	node := &v1alpha1.ValkeyNode{}
	err := env.Live.Get(ctx, env.key(owner), node)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read node %s: %w", owner, err)
	}
	return node.UID != objects.ControllerUID(obj), nil
}
