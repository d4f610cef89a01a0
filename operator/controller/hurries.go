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

// hurries end reports that the API server does not take while something has come up that their pass has not seen.
type hurries struct {
	mu sync.Mutex
	// due are the clusters of which something has come up since their last look.
	due map[types.NamespacedName]bool
	// ends end the reports under way, at most one a cluster.
	ends map[types.NamespacedName]context.CancelFunc
}

func newHurries() *hurries {
	return &hurries{due: map[types.NamespacedName]bool{}, ends: map[types.NamespacedName]context.CancelFunc{}}
}

// look says that a cluster is being looked at: what comes up from now on may escape the look.
func (h *hurries) look(key types.NamespacedName) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.due, key)
}

// begin begins a report that may take as long as limit. It is over when over is called.
func (h *hurries) begin(ctx context.Context, key types.NamespacedName, limit time.Duration) (hurried context.Context, over func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.due[key] {
		limit = min(limit, hurriedReportLimit)
	}
	hurried, cancel := context.WithTimeout(ctx, limit)
	h.ends[key] = cancel
	return hurried, func() {
		cancel()
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.ends, key)
	}
}

// hurry says that something has come up. It does not block.
func (h *hurries) hurry(key types.NamespacedName) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.due[key] = true
	if end := h.ends[key]; end != nil {
		time.AfterFunc(hurriedReportLimit, end)
	}
}
