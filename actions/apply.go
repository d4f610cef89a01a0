package actions

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions/objects"
)

// apply makes the object as it should be: created when there is none, mended
// when it is its owner's already. Someone else's object of that name is left
// alone and is the error.
func apply(ctx context.Context, env Env, want client.Object) error {
	live, err := createOrRead(ctx, env, want)
	if err != nil || live == nil {
		return err
	}
	if !ours(live, want) {
		return foreign(want)
	}
	if objects.Canonical(live) == objects.Canonical(want) {
		return nil
	}
	return mend(ctx, env, live, want)
}

// createOrRead creates the object and returns nil, or returns the one that is
// there, read from the API server: the cache may not hold what is not ours.
func createOrRead(ctx context.Context, env Env, want client.Object) (client.Object, error) {
	err := env.Kube.Create(ctx, copyOf(want))
	if err == nil {
		return nil, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("create %s: %w", objects.Ref(want), err)
	}
	live := copyOf(want)
	if err := env.Live.Get(ctx, client.ObjectKeyFromObject(want), live); err != nil {
		return nil, fmt.Errorf("read %s: %w", objects.Ref(want), err)
	}
	return live, nil
}

// copyOf keeps the API server's answers out of what is wanted.
func copyOf(obj client.Object) client.Object {
	return obj.DeepCopyObject().(client.Object)
}

// ours says that the live object has the wanted one's owner, or has lost its
// owner and still bears our labels, as one restored from a backup does.
func ours(live, want client.Object) bool {
	if owner := objects.ControllerUID(live); owner != "" {
		return owner == objects.ControllerUID(want)
	}
	for key, value := range want.GetLabels() {
		if live.GetLabels()[key] != value {
			return false
		}
	}
	return true
}

// foreign tells the user what is in the way.
func foreign(want client.Object) error {
	return fmt.Errorf("%s %q exists in namespace %q and does not belong to this cluster: delete it, or give the cluster another name",
		objects.Kind(want), want.GetName(), want.GetNamespace())
}

// mend patches what the operator keeps. What the API server does not let be
// changed is made anew.
func mend(ctx context.Context, env Env, live, want client.Object) error {
	mended := copyOf(live)
	transplant(mended, want)
	err := env.Kube.Patch(ctx, mended, client.MergeFrom(live))
	if apierrors.IsInvalid(err) {
		return replace(ctx, env, live, want)
	}
	if err != nil {
		return fmt.Errorf("mend %s: %w", objects.Ref(want), err)
	}
	return nil
}

func replace(ctx context.Context, env Env, live, want client.Object) error {
	if err := remove(ctx, env, live); err != nil {
		return err
	}
	if err := env.Kube.Create(ctx, copyOf(want)); err != nil {
		return fmt.Errorf("create %s again: %w", objects.Ref(want), err)
	}
	return nil
}

// transplant copies onto an object what the operator keeps of the wanted one.
func transplant(obj, want client.Object) {
	labels := maps.Clone(obj.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, want.GetLabels())
	obj.SetLabels(labels)
	if metav1.GetControllerOf(obj) == nil {
		obj.SetOwnerReferences(append(obj.GetOwnerReferences(), want.GetOwnerReferences()...))
	}
	switch w := want.(type) {
	case *corev1.Service:
		transplantService(obj.(*corev1.Service), w)
	case *corev1.ConfigMap:
		o := obj.(*corev1.ConfigMap)
		o.Data, o.BinaryData = w.Data, nil
	case *corev1.Secret:
		transplantSecret(obj.(*corev1.Secret), w)
	case *policyv1.PodDisruptionBudget:
		obj.(*policyv1.PodDisruptionBudget).Spec = w.Spec
	}
}

func transplantService(s, want *corev1.Service) {
	s.Spec.Type = want.Spec.Type
	s.Spec.ClusterIP = want.Spec.ClusterIP
	s.Spec.Ports = want.Spec.Ports
	s.Spec.Selector = want.Spec.Selector
	s.Spec.PublishNotReadyAddresses = want.Spec.PublishNotReadyAddresses
}

// transplantSecret replaces certificates, and never passwords: servers use those.
func transplantSecret(s, want *corev1.Secret) {
	if want.Type != corev1.SecretTypeTLS {
		return
	}
	annotations := maps.Clone(s.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	maps.Copy(annotations, want.Annotations)
	s.Annotations, s.Type, s.Data = annotations, want.Type, want.Data
}

// remove deletes the object, if it is still the one that was seen.
func remove(ctx context.Context, env Env, obj client.Object, options ...client.DeleteOption) error {
	uid := obj.GetUID()
	options = append(options, client.Preconditions{UID: &uid})
	err := env.Kube.Delete(ctx, copyOf(obj), options...)
	if client.IgnoreNotFound(err) == nil || apierrors.IsConflict(err) {
		return nil // A conflict says that another object has the name by now.
	}
	return fmt.Errorf("delete %s: %w", objects.Ref(obj), err)
}
