package actions

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// liveCluster is the cluster as the API server has it; nil when it is gone, or
// another cluster has its name.
func liveCluster(ctx context.Context, env Env) (*v1alpha1.ValkeyCluster, error) {
	cluster := &v1alpha1.ValkeyCluster{}
	err := env.Live.Get(ctx, client.ObjectKeyFromObject(env.Cluster), cluster)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the cluster: %w", err)
	}
	if cluster.UID != env.Cluster.UID {
		return nil, nil
	}
	return cluster, nil
}

// liveNode is the cluster's node as the API server has it; nil when it is gone.
func liveNode(ctx context.Context, env Env, name string) (*v1alpha1.ValkeyNode, error) {
	node := &v1alpha1.ValkeyNode{}
	err := env.Live.Get(ctx, env.key(name), node)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read node %s: %w", name, err)
	}
	if !owns(env, node) {
		return nil, nil
	}
	return node, nil
}

// liveNodes are all of the cluster's nodes as the API server has them.
//
// They are told by their owner and not by their labels, which anyone may edit.
func liveNodes(ctx context.Context, env Env) ([]v1alpha1.ValkeyNode, error) {
	var all v1alpha1.ValkeyNodeList
	if err := env.Live.List(ctx, &all, client.InNamespace(env.Cluster.Namespace)); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	var nodes []v1alpha1.ValkeyNode
	for i := range all.Items {
		if owns(env, &all.Items[i]) {
			nodes = append(nodes, all.Items[i])
		}
	}
	return nodes, nil
}

// key is the object of that name in the cluster's namespace.
func (env Env) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: env.Cluster.Namespace, Name: name}
}
