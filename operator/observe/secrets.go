package observe

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// LiveSecrets reads Secrets from the API server itself, one request a pass, and hears of no change.
type LiveSecrets struct {
	// API reads without a cache.
	API client.Reader
}

// Secret reads the Secret.
func (l LiveSecrets) Secret(ctx context.Context, cluster types.NamespacedName, name string) (*corev1.Secret, error) {
	var s corev1.Secret
	err := l.API.Get(ctx, types.NamespacedName{Namespace: cluster.Namespace, Name: name}, &s)
	return &s, err
}

// Release has nothing to release.
func (LiveSecrets) Release(types.NamespacedName) {}

// WatchedSecrets reads the Secrets that clusters name, and no other: each by a watch of its own, which costs a
// stream on the one connection to the API server. An informer would hold every Secret of every user, since nothing
// marks those that belong to a cluster. A Secret is watched from the first time it is read until no cluster names
// it; a pass reads it without a request, and a change wakes the clusters that named it.
type WatchedSecrets struct {
	// API reads and watches without a cache.
	API client.WithWatch
	// OnChange is called when a Secret that the cluster named has changed. It must be set BEFORE the first use and
	// must not block.
	OnChange func(cluster types.NamespacedName)

	mu      sync.Mutex
	watched map[types.NamespacedName]*watchedSecret
	named   map[types.NamespacedName]types.NamespacedName // cluster → Secret
}

// A watchedSecret is the watch of one Secret.
type watchedSecret struct {
	store  cache.Store
	synced func() bool
	stop   chan struct{}
}

// Secret is the Secret as the watch has it, and as the API server has it while the watch begins.
func (w *WatchedSecrets) Secret(ctx context.Context, cluster types.NamespacedName, name string) (*corev1.Secret, error) {
	key := types.NamespacedName{Namespace: cluster.Namespace, Name: name}
	watched := w.name(cluster, key)
	if !watched.synced() {
		return LiveSecrets{API: w.API}.Secret(ctx, cluster, name)
	}
	held, found, err := watched.store.GetByKey(key.String())
	if err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", key, err)
	}
	secret, is := held.(*corev1.Secret)
	if !found || !is {
		return nil, apierrors.NewNotFound(corev1.Resource("secrets"), name)
	}
	return secret, nil
}

// Release ends the watch of what only this cluster named.
func (w *WatchedSecrets) Release(cluster types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unname(cluster)
}

// Close ends all watches.
func (w *WatchedSecrets) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for cluster := range w.named {
		w.unname(cluster)
	}
}

// name notes that the cluster names the Secret, no longer another, and watches it.
func (w *WatchedSecrets) name(cluster, secret types.NamespacedName) *watchedSecret {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.named == nil {
		w.named, w.watched = map[types.NamespacedName]types.NamespacedName{}, map[types.NamespacedName]*watchedSecret{}
	}
	if w.named[cluster] != secret {
		w.unname(cluster)
		w.named[cluster] = secret
	}
	if w.watched[secret] == nil {
		w.watched[secret] = w.watch(secret)
	}
	return w.watched[secret]
}

// unname must be called with the lock held.
func (w *WatchedSecrets) unname(cluster types.NamespacedName) {
	secret := w.named[cluster]
	delete(w.named, cluster)
	for _, other := range w.named {
		if other == secret {
			return
		}
	}
	if watched := w.watched[secret]; watched != nil {
		close(watched.stop)
		delete(w.watched, secret)
	}
}

// watch begins to watch one Secret.
func (w *WatchedSecrets) watch(secret types.NamespacedName) *watchedSecret {
	store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: w.source(secret),
		ObjectType:    &corev1.Secret{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { w.changed(secret) },
			UpdateFunc: func(any, any) { w.changed(secret) },
			DeleteFunc: func(any) { w.changed(secret) },
		},
	})
	watched := &watchedSecret{store: store, synced: controller.HasSynced, stop: make(chan struct{})}
	go controller.Run(watched.stop)
	return watched
}

// source lists and watches one Secret.
func (w *WatchedSecrets) source(secret types.NamespacedName) cache.ListerWatcher {
	options := func(o metav1.ListOptions) *client.ListOptions {
		return &client.ListOptions{
			Namespace: secret.Namespace, FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, secret.Name), Raw: &o,
		}
	}
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			var list corev1.SecretList
			return &list, w.API.List(ctx, &list, options(o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return w.API.Watch(ctx, &corev1.SecretList{}, options(o))
		},
	}, w.API)
}

// changed wakes the clusters that name the Secret.
func (w *WatchedSecrets) changed(secret types.NamespacedName) {
	var clusters []types.NamespacedName
	w.mu.Lock()
	for cluster, named := range w.named {
		if named == secret {
			clusters = append(clusters, cluster)
		}
	}
	w.mu.Unlock()
	for _, cluster := range clusters {
		w.OnChange(cluster)
	}
}
