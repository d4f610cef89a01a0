package actions

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// An estate is all that a cluster leaves behind.
type estate struct {
	nodes []v1alpha1.ValkeyNode
	pods  []*corev1.Pod
	rest  []client.Object
}

// survey lists, at the API server, all that the cluster owns.
func survey(ctx context.Context, env Env) (estate, error) {
	nodes, err := liveNodes(ctx, env)
	if err != nil {
		return estate{}, err
	}
	left := estate{nodes: nodes}
	var pods corev1.PodList
	if err := listOwned(ctx, env, &pods); err != nil {
		return estate{}, err
	}
	for i := range pods.Items {
		if ownsThrough(env, nodes, &pods.Items[i]) {
			left.pods = append(left.pods, &pods.Items[i])
		}
	}
	left.rest, err = surveyRest(ctx, env, nodes)
	return left, err
}

// listOwned lists the objects that bear the cluster's labels; whose they are
// is still to be seen.
func listOwned(ctx context.Context, env Env, into client.ObjectList) error {
	err := env.Live.List(ctx, into, client.InNamespace(env.Cluster.Namespace),
		client.MatchingLabels(objects.Labels(env.Cluster.Name)))
	if err != nil {
		return fmt.Errorf("list %T: %w", into, err)
	}
	return nil
}

// surveyRest lists all but ValkeyNodes and Pods.
func surveyRest(ctx context.Context, env Env, nodes []v1alpha1.ValkeyNode) ([]client.Object, error) {
	var (
		configMaps corev1.ConfigMapList
		services   corev1.ServiceList
		secrets    corev1.SecretList
		budgets    policyv1.PodDisruptionBudgetList
	)
	lists := []client.ObjectList{&configMaps, &services, &secrets, &budgets}
	err := each(ctx, lists, func(ctx context.Context, into client.ObjectList) error {
		return listOwned(ctx, env, into)
	})
	if err != nil {
		return nil, err
	}
	var found []client.Object
	found = appendAll(found, configMaps.Items)
	found = appendAll(found, services.Items)
	found = appendAll(found, secrets.Items)
	found = appendAll(found, budgets.Items)
	rest := found[:0]
	for _, obj := range found {
		if ownsThrough(env, nodes, obj) {
			rest = append(rest, obj)
		}
	}
	return rest, nil
}

// appendAll appends pointers to the items.
func appendAll[T any, P interface {
	*T
	client.Object
}](all []client.Object, items []T) []client.Object {
	for i := range items {
		all = append(all, P(&items[i]))
	}
	return all
}

func (e estate) empty() bool { return len(e.nodes)+len(e.pods)+len(e.rest) == 0 }

// sweep deletes all of it at once. A node goes only after its Pod has gone, so
// that the Pod stays known to be the cluster's.
func (e estate) sweep(ctx context.Context, env Env) error {
	hasPod := make(map[string]bool, len(e.pods))
	var steps []func(context.Context) error
	for _, pod := range e.pods {
		hasPod[pod.Name] = true
		steps = append(steps, func(ctx context.Context) error { return removePod(ctx, env, pod) })
	}
	for i := range e.nodes {
		node := &e.nodes[i]
		steps = append(steps, func(ctx context.Context) error {
			return removeNode(ctx, env, node, !hasPod[node.Name])
		})
	}
	for _, obj := range e.rest {
		steps = append(steps, func(ctx context.Context) error { return removeRest(ctx, env, obj) })
	}
	return each(ctx, steps, func(ctx context.Context, step func(context.Context) error) error { return step(ctx) })
}

// removeRest deletes an object once; of a Secret it takes the finalizer, which
// is there for people who delete it from under a cluster.
func removeRest(ctx context.Context, env Env, obj client.Object) error {
	if secret, ok := obj.(*corev1.Secret); ok {
		return removeSecret(ctx, env, secret)
	}
	if !obj.GetDeletionTimestamp().IsZero() {
		return nil
	}
	return remove(ctx, env, obj)
}
