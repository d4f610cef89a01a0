package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine/derivation"
)

// InUseFinalizer keeps an object of the menu until no cluster uses it.
const InUseFinalizer = "valkey.gomomento.com/in-use"

// The conditions of menu objects.
const (
	// InUse says which clusters use the object and so keep it from being deleted.
	InUse = "InUse"
	// Resolved says that a config's chain ends in an image that exists.
	Resolved = "Resolved"
)

// namedUsers is how many clusters a condition names; the rest are counted.
const namedUsers = 5

// A keeper looks after one kind of the menu: it keeps objects that are in use and says who uses them.
type keeper struct {
	kube client.Client
	kind string
	// fresh makes an empty object of the kind.
	fresh func() client.Object
}

// Reconcile brings one object's finalizer and status up to date.
func (k *keeper) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	base := k.fresh()
	if err := k.kube.Get(ctx, request.NamespacedName, base); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	using, err := users(ctx, k.kube, reference{kind: k.kind, name: request.Name})
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("find users of %s %q: %w", k.kind, request.Name, err)
	}
	err = k.guard(ctx, base, len(using) > 0)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: atOnce}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("guard %s %q: %w", k.kind, request.Name, err)
	}
	if err := k.describe(ctx, base, using); err != nil {
		return ctrl.Result{}, fmt.Errorf("write status of %s %q: %w", k.kind, request.Name, err)
	}
	return ctrl.Result{}, nil
}

// allConfigs maps a change to every config: few enough that which of them it concerns need not be known.
func (k *keeper) allConfigs(ctx context.Context, _ client.Object) []ctrl.Request {
	var configs v1alpha1.ValkeyConfigList
	if err := k.kube.List(ctx, &configs); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "configs are not looked at again")
		return nil
	}
	all := make([]ctrl.Request, 0, len(configs.Items))
	for i := range configs.Items {
		all = append(all, request(client.ObjectKeyFromObject(&configs.Items[i])))
	}
	return all
}

// guard puts the finalizer on an object that is used and takes it off one that is not. One that is being deleted gets
// no new finalizer: the API server would refuse it.
func (k *keeper) guard(ctx context.Context, base client.Object, used bool) error {
	guarded := controllerutil.ContainsFinalizer(base, InUseFinalizer)
	if guarded == used || (used && base.GetDeletionTimestamp() != nil) {
		return nil
	}
	changed, ok := base.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("copy of %T is no object", base)
	}
	if used {
		controllerutil.AddFinalizer(changed, InUseFinalizer)
	} else {
		controllerutil.RemoveFinalizer(changed, InUseFinalizer)
	}
	// Finalizers are a list, which a merge patch replaces whole: the lock keeps another's from being lost.
	lock := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(k.kube.Patch(ctx, changed, lock))
}

// describe writes the object's status, if it says something new.
func (k *keeper) describe(ctx context.Context, base client.Object, using []types.NamespacedName) error {
	changed, ok := base.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("copy of %T is no object", base)
	}
	if err := k.fill(ctx, changed, using); err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(base, changed) {
		return nil
	}
	return client.IgnoreNotFound(k.kube.Status().Patch(ctx, changed, client.MergeFrom(base)))
}

func (k *keeper) fill(ctx context.Context, obj client.Object, using []types.NamespacedName) error {
	use := inUse(obj, using)
	switch o := obj.(type) {
	case *v1alpha1.ValkeyConfig:
		o.Status.Clusters = int32(len(using))
		meta.SetStatusCondition(&o.Status.Conditions, use)
		found, err := resolved(ctx, k.kube, o)
		if err != nil {
			return err
		}
		meta.SetStatusCondition(&o.Status.Conditions, found)
	case *v1alpha1.ValkeyImage:
		meta.SetStatusCondition(&o.Status.Conditions, use)
	case *v1alpha1.ValkeyRole:
		meta.SetStatusCondition(&o.Status.Conditions, use)
	default:
		return fmt.Errorf("%T is not on the menu", obj)
	}
	return nil
}

// inUse names the users and what they mean for a deletion.
func inUse(obj client.Object, using []types.NamespacedName) metav1.Condition {
	c := metav1.Condition{
		Type: InUse, Status: metav1.ConditionFalse, Reason: "NoClusters",
		Message: "No cluster uses it.", ObservedGeneration: obj.GetGeneration(),
	}
	if len(using) == 0 {
		return c
	}
	c.Status, c.Reason, c.Message = metav1.ConditionTrue, "UsedByClusters", "Used by "+names(using)+"."
	if obj.GetDeletionTimestamp() != nil {
		c.Reason = "DeletionWaits"
		c.Message += " Its deletion waits until none does; clusters that run are looked after meanwhile."
	}
	return c
}

func names(keys []types.NamespacedName) string {
	named := make([]string, 0, namedUsers)
	for _, key := range keys[:min(len(keys), namedUsers)] {
		named = append(named, key.String())
	}
	text := strings.Join(named, ", ")
	if more := len(keys) - len(named); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// resolved says whether the config's chain leads to an image, in the words that a cluster which uses it would get.
func resolved(ctx context.Context, kube client.Reader, config *v1alpha1.ValkeyConfig) (metav1.Condition, error) {
	probe := &v1alpha1.ValkeyCluster{Spec: v1alpha1.ValkeyClusterSpec{ConfigRef: config.Name}}
	read, err := readMenu(ctx, kube, probe, func(reference) {})
	if err != nil {
		return metav1.Condition{}, err
	}
	c := metav1.Condition{
		Type: Resolved, Status: metav1.ConditionTrue, Reason: Resolved,
		Message: "The chain of configs leads to an image.", ObservedGeneration: config.Generation,
	}
	if reason, problem := unresolved(read); problem != "" {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, reason, problem
	}
	return c, nil
}

func unresolved(read menu) (reason, problem string) {
	if read.chain.Problem != "" {
		return read.chain.Reason, read.chain.Problem
	}
	i := slices.IndexFunc(read.chain.Configs, func(c derivation.NamedConfig) bool { return c.Spec.ImageRef != "" })
	if i < 0 {
		last := read.chain.Configs[len(read.chain.Configs)-1]
		return "NoImageRef", fmt.Sprintf("no imageRef in config chain ending at %q", last.Name)
	}
	image := read.chain.Configs[i].Spec.ImageRef
	if _, found := read.images[image]; !found {
		return "ImageNotFound", fmt.Sprintf("ValkeyImage %q not found", image)
	}
	return "", ""
}
