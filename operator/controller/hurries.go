package controller

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// hurriedReportLimit is how long a report may take, or still take, once a connection to a server of its cluster has broken.
// What is certain of a death is so only for a moment: as soon as the Pod's network is gone nobody refuses connections any more.
const hurriedReportLimit = 500 * time.Millisecond

// hurries tell passes under way of connections that broke after they had begun to look.
type hurries struct {
	mu   sync.Mutex
	ends map[types.NamespacedName]context.CancelFunc
}

func newHurries() *hurries { return &hurries{ends: map[types.NamespacedName]context.CancelFunc{}} }

// watch gives a pass over a cluster, which has one at a time, a context that ends when it is to hurry.
func (h *hurries) watch(ctx context.Context, key types.NamespacedName) (calm context.Context, over func()) {
	calm, cancel := context.WithCancel(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ends[key] = cancel
	return calm, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.ends, key)
		cancel()
	}
}

// hurry lets the pass under way, if there is one, hurry. It does not block.
func (h *hurries) hurry(key types.NamespacedName) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if end := h.ends[key]; end != nil {
		end()
	}
}

// limited is a context for a report: it ends after a time, and sooner if the pass is to hurry.
func limited(ctx, calm context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	stop := context.AfterFunc(calm, func() { time.AfterFunc(hurriedReportLimit, cancel) })
	return ctx, func() {
		stop()
		cancel()
	}
}
