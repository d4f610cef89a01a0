package controller

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// A waker puts keys into a controller's queue for reasons that no watch knows of: a connection that broke, a cluster
// that came to use an object or ceased to. Before the controller starts it does nothing: every object gets a first pass
// then.
type waker struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[ctrl.Request]
}

// source gives the waker the queue of the controller that watches it.
func (w *waker) source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.queue = queue
		return nil
	})
}

// wake never blocks for long: a queue takes a key it holds already as one.
func (w *waker) wake(key types.NamespacedName) {
	w.mu.Lock()
	queue := w.queue
	w.mu.Unlock()
	if queue != nil {
		queue.Add(ctrl.Request{NamespacedName: key})
	}
}
