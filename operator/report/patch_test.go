package report_test

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/operator/report"
)

// The cache lends its own objects: what the API server replies is read into something else.
func TestTheReplyToANodesStatusIsNotReadIntoTheCache(t *testing.T) {
	pass := whole()
	pass.Snapshot.Nodes[1].Server = nil // what was known of it is kept
	seen := metav1.NewTime(now.Add(-time.Hour))
	cached := &v1alpha1.ValkeyNode{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cache-2"}, Status: v1alpha1.ValkeyNodeStatus{LastObserved: &seen},
	}
	d := newDesk(t, pass.Cluster, cached.DeepCopy())
	store, ok := d.kube.(client.WithWatch)
	if !ok {
		t.Fatal("the store cannot be watched")
	}
	lends := interceptor.NewClient(store, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if node, ok := obj.(*v1alpha1.ValkeyNode); ok && key.Name == cached.Name {
				*node = *cached
				return nil
			}
			return c.Get(ctx, key, obj, opts...)
		},
		SubResourcePatch: func(_ context.Context, _ client.Client, _ string, obj client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
			if node, ok := obj.(*v1alpha1.ValkeyNode); ok {
				node.Status.LastObserved.Time = now
			}
			return nil
		},
	})
	if err := report.New(lends, events.NewFakeRecorder(10), report.NewMetrics(prometheus.NewRegistry())).Report(t.Context(), pass); err != nil {
		t.Fatal(err)
	}
	if !cached.Status.LastObserved.Equal(&metav1.Time{Time: now.Add(-time.Hour)}) {
		t.Errorf("the cache now holds %s", cached.Status.LastObserved)
	}
}
