package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// hostField indexes the cached Pods by the Kubernetes node they run on.
const hostField = "spec.nodeName"

// watch adds to the cluster controller all that wakes a cluster.
func (l *Loop) watch(b *builder.Builder) *builder.Builder {
	b = b.For(&v1alpha1.ValkeyCluster{}, builder.WithPredicates(specOrMetadata())).
		Watches(&v1alpha1.ValkeyNode{}, handler.EnqueueRequestsFromMapFunc(owner), builder.WithPredicates(specOrMetadata()))
	for _, obj := range []client.Object{
		&corev1.Pod{}, &corev1.ConfigMap{}, &corev1.Service{}, &corev1.Secret{}, &policyv1.PodDisruptionBudget{},
	} {
		b = b.Watches(obj, handler.EnqueueRequestsFromMapFunc(owner))
	}
	for kind, obj := range map[string]client.Object{
		configKind: &v1alpha1.ValkeyConfig{}, imageKind: &v1alpha1.ValkeyImage{}, roleKind: &v1alpha1.ValkeyRole{},
	} {
		b = b.Watches(obj, handler.EnqueueRequestsFromMapFunc(l.usersOf(kind)), builder.WithPredicates(spec()))
	}
	return b.
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(l.onHost), builder.WithPredicates(placement())).
		WatchesRawSource(l.waker.source())
}

// owner maps an owned object to its cluster, by its label. An object of another cluster that bears ours by mistake
// wakes one pass too many, which finds nothing to do.
func owner(_ context.Context, obj client.Object) []ctrl.Request {
	name := obj.GetLabels()[objects.LabelInstance]
	if name == "" {
		return nil
	}
	return []ctrl.Request{request(types.NamespacedName{Namespace: obj.GetNamespace(), Name: name})}
}

// usersOf maps an object of the menu to the clusters that resolve through it or look for it in vain.
func (l *Loop) usersOf(kind string) handler.MapFunc {
	return func(_ context.Context, obj client.Object) []ctrl.Request {
		return requests(l.references.clusters(reference{kind: kind, name: obj.GetName()}))
	}
}

// onHost maps a Kubernetes node to the clusters that have Pods on it.
func (l *Loop) onHost(ctx context.Context, node client.Object) []ctrl.Request {
	var pods corev1.PodList
	if err := l.kube.List(ctx, &pods, client.MatchingFields{hostField: node.GetName()}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "clusters on a Kubernetes node are not found", "node", node.GetName())
		return nil
	}
	var all []ctrl.Request
	for i := range pods.Items {
		all = append(all, owner(ctx, &pods.Items[i])...)
	}
	return all
}

// indexHosts prepares the cache for onHost.
func indexHosts(ctx context.Context, indexer client.FieldIndexer) error {
	host := func(obj client.Object) []string {
		if pod, ok := obj.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
			return []string{pod.Spec.NodeName}
		}
		return nil
	}
	if err := indexer.IndexField(ctx, &corev1.Pod{}, hostField, host); err != nil {
		return fmt.Errorf("index Pods by Kubernetes node: %w", err)
	}
	return nil
}

func request(key types.NamespacedName) ctrl.Request { return ctrl.Request{NamespacedName: key} }

func requests(keys []types.NamespacedName) []ctrl.Request {
	all := make([]ctrl.Request, 0, len(keys))
	for _, key := range keys {
		all = append(all, request(key))
	}
	return all
}
