package controller

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/operator/observe"
)

const (
	// workers is how many clusters have a pass at the same time. A pass mostly waits for answers, so that many cost
	// little, and it takes as many clusters with black holes to make another one wait.
	workers = 32
	// keepersWorkers is for the menu, whose passes touch no server.
	keepersWorkers = 2
	// firstRetry and lastRetry bound the doubling delay after a pass that failed: at first soon, since most failures are
	// of the moment, and never so late that a repaired cause is not noticed while people look on.
	firstRetry = 100 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// CacheOptions narrows the cache to the given namespaces, all if there are none, and to what an Observer reads.
func CacheOptions(namespaces []string) cache.Options {
	options := cache.Options{DefaultTransform: cache.TransformStripManagedFields(), ByObject: observe.ByObject()}
	if len(namespaces) > 0 {
		options.DefaultNamespaces = map[string]cache.Config{}
		for _, name := range namespaces {
			options.DefaultNamespaces[name] = cache.Config{}
		}
	}
	return options
}

// AddTo adds the loop and the keepers of the menu to the manager, with the indexes that they and the Observer read by.
func (l *Loop) AddTo(ctx context.Context, mgr ctrl.Manager) error {
	if err := observe.Index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	if err := indexHosts(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	b := l.watch(ctrl.NewControllerManagedBy(mgr).WithOptions(optionsFor(workers)))
	if err := b.WithLogConstructor(logFor(mgr.GetLogger(), "cluster")).Complete(l); err != nil {
		return fmt.Errorf("add the controller of clusters: %w", err)
	}
	for _, k := range []*keeper{
		{l.kube, configKind, func() client.Object { return &v1alpha1.ValkeyConfig{} }},
		{l.kube, imageKind, func() client.Object { return &v1alpha1.ValkeyImage{} }},
		{l.kube, roleKind, func() client.Object { return &v1alpha1.ValkeyRole{} }},
	} {
		if err := l.addKeeper(mgr, k); err != nil {
			return fmt.Errorf("add the controller of %s: %w", k.kind, err)
		}
	}
	return nil
}

func (l *Loop) addKeeper(mgr ctrl.Manager, k *keeper) error {
	b := ctrl.NewControllerManagedBy(mgr).WithOptions(optionsFor(keepersWorkers)).
		For(k.fresh(), builder.WithPredicates(specOrMetadata())).
		WatchesRawSource(l.keepers[k.kind].source()).
		WithLogConstructor(logFor(mgr.GetLogger(), k.kind))
	if k.kind == configKind {
		// Whether a chain resolves depends on what its other configs and its image say.
		all := handler.EnqueueRequestsFromMapFunc(k.allConfigs)
		b = b.Watches(&v1alpha1.ValkeyConfig{}, all, builder.WithPredicates(spec())).
			Watches(&v1alpha1.ValkeyImage{}, all, builder.WithPredicates(spec()))
	}
	return b.Complete(k)
}

// optionsFor are those of a controller with so many workers. Those that stand by for the lease keep their caches filled,
// so that a new leader begins at once.
func optionsFor(n int) controller.Options {
	warm := true
	return controller.Options{
		MaxConcurrentReconciles: n,
		EnableWarmup:            &warm,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](firstRetry, lastRetry),
	}
}

// logFor gives each line the object it is about: field is what the object's name is called.
func logFor(base logr.Logger, field string) func(*ctrl.Request) logr.Logger {
	return func(request *ctrl.Request) logr.Logger {
		if request == nil {
			return base
		}
		if request.Namespace == "" {
			return base.WithValues(field, request.Name)
		}
		return base.WithValues("namespace", request.Namespace, field, request.Name)
	}
}
