package report

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// writers is how many node statuses are written at a time: enough that a cluster of a hundred nodes is told of within a
// pass, few enough to leave the API server to others.
const writers = 8

// writeStatus patches what differs from base, which is what the cache held when the pass began. The patch names only
// fields that changed since, so that it cannot undo what an action wrote to status meanwhile.
func (r *Reporter) writeStatus(ctx context.Context, base *v1alpha1.ValkeyCluster, status v1alpha1.ValkeyClusterStatus) error {
	if equality.Semantic.DeepEqual(base.Status, status) {
		return nil
	}
	changed := base.DeepCopy()
	changed.Status = status
	return client.IgnoreNotFound(r.kube.Status().Patch(ctx, changed, client.MergeFrom(base)))
}

// writeNodes brings the status of the cluster's ValkeyNodes up to date.
func (r *Reporter) writeNodes(ctx context.Context, p Pass) error {
	lags := lags(p.Snapshot)
	changed := make([]func() error, 0, len(p.Snapshot.Nodes))
	for i := range p.Snapshot.Nodes {
		seen := &p.Snapshot.Nodes[i]
		base := &v1alpha1.ValkeyNode{} // as the cache holds it, since most are as they should be: it must not be changed
		key := types.NamespacedName{Namespace: p.Cluster.Namespace, Name: seen.Name}
		if err := r.kube.Get(ctx, key, base, client.UnsafeDisableDeepCopy); err != nil {
			if client.IgnoreNotFound(err) != nil {
				return err
			}
			continue
		}
		status := nodeStatus(base.Status, seen, lags[seen.Name], p.Snapshot.At)
		if !worthWriting(base.Status, status) {
			continue
		}
		node := base.DeepCopy()
		status.DeepCopyInto(&node.Status) // the reply is read into it, and what it shares with base is the cache's
		changed = append(changed, func() error {
			return client.IgnoreNotFound(r.kube.Status().Patch(ctx, node, client.MergeFrom(base)))
		})
	}
	return inParallel(changed)
}

// inParallel runs all and returns the error of the first in order that has one.
func inParallel(all []func() error) error {
	errs := make([]error, len(all))
	var group sync.WaitGroup
	free := make(chan struct{}, writers)
	for i, one := range all {
		free <- struct{}{}
		group.Go(func() {
			defer func() { <-free }()
			errs[i] = one()
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
