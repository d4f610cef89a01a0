package actions

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
)

// nameAttempts is how many random names are tried for a node: of a million
// names, even a cluster of thousands of nodes has taken few.
const nameAttempts = 5

// CreateNodes makes new nodes, each with its configuration and its Pod.
type CreateNodes struct {
	Nodes []engine.NewNode `expr:"nodes"`
	// Seen are the nodes the decision was made on.
	Seen []string `expr:"seen"`
}

// String implements Action.
func (a *CreateNodes) String() string {
	var shards []string
	for _, n := range a.Nodes {
		shards = append(shards, strconv.Itoa(n.ShardIndex))
	}
	shards = slices.Compact(shards)
	noun := "shard "
	if len(shards) > 1 {
		noun = "shards "
	}
	return count(len(a.Nodes), "node") + " for " + noun + list(shards)
}

// Execute implements Action. It does nothing when there are other nodes than
// the decision was made on: the cache was behind, and what seems to be missing
// may be there.
func (a *CreateNodes) Execute(ctx context.Context, env Env) error {
	cluster, err := liveCluster(ctx, env)
	if err != nil || cluster == nil || !cluster.DeletionTimestamp.IsZero() {
		return err
	}
	nodes, err := liveNodes(ctx, env)
	if err != nil || !slices.Equal(namesOf(nodes), slices.Sorted(slices.Values(a.Seen))) {
		return err
	}
	draft, conf, err := pattern(env, nodes)
	if err != nil {
		return fmt.Errorf("create nodes: %w", err)
	}
	return each(ctx, a.Nodes, func(ctx context.Context, n engine.NewNode) error {
		return createNode(ctx, env, func(name string) *v1alpha1.ValkeyNode { return draft(name, n) }, conf)
	})
}

// pattern says what new nodes look like: what the specs ask for or, while those
// are not accepted, what the latest working member records.
func pattern(env Env, nodes []v1alpha1.ValkeyNode) (func(string, engine.NewNode) *v1alpha1.ValkeyNode, string, error) {
	if env.Desired.Problem == "" {
		if env.Desired.Conf == "" {
			return nil, "", errors.New("there is no configuration for them")
		}
		return func(name string, n engine.NewNode) *v1alpha1.ValkeyNode {
			return objects.ValkeyNode(env.Cluster, name, env.Desired, n, env.Pods)
		}, env.Desired.Conf, nil
	}
	model := latest(nodes)
	if model == nil {
		return nil, "", errors.New("the specs are not accepted, and no working member records what they were")
	}
	conf, err := env.Conf(model.Spec.ValkeySettings)
	return func(name string, n engine.NewNode) *v1alpha1.ValkeyNode {
		return objects.ValkeyNodeLike(env.Cluster, name, model, n)
	}, conf, err
}

// latest is the working member that was made last, nil when there is none.
func latest(nodes []v1alpha1.ValkeyNode) *v1alpha1.ValkeyNode {
	var last *v1alpha1.ValkeyNode
	for i := range nodes {
		n := &nodes[i]
		if n.Spec.Lifecycle == v1alpha1.LifecycleActive && (last == nil || last.CreationTimestamp.Before(&n.CreationTimestamp)) {
			last = n
		}
	}
	return last
}

// namesOf are the nodes' names, sorted.
func namesOf(nodes []v1alpha1.ValkeyNode) []string {
	names := make([]string, 0, len(nodes))
	for i := range nodes {
		names = append(names, nodes[i].Name)
	}
	slices.Sort(names)
	return names
}

// createNode makes the ValkeyNode first: if all else fails, it says that the
// rest is still to be made.
func createNode(ctx context.Context, env Env, draft func(name string) *v1alpha1.ValkeyNode, conf string) error {
	node, err := claimName(ctx, env, draft)
	if err != nil {
		return err
	}
	return provision(ctx, env, node, conf)
}

// claimName creates the ValkeyNode under a name that no Pod has.
func claimName(ctx context.Context, env Env, draft func(name string) *v1alpha1.ValkeyNode) (*v1alpha1.ValkeyNode, error) {
	for range nameAttempts {
		name := randomName(env.Cluster.Name)
		err := env.Live.Get(ctx, env.key(name), &corev1.Pod{})
		if err == nil {
			continue
		}
		if !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("read pod %s: %w", name, err)
		}
		node := draft(name)
		err = env.Kube.Create(ctx, node)
		if err == nil {
			return node, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return nil, fmt.Errorf("create node %s: %w", name, err)
		}
	}
	return nil, fmt.Errorf("no free name for a node of %s in %d attempts", env.Cluster.Name, nameAttempts)
}

// randomName is the cluster's name and five hex digits.
func randomName(cluster string) string {
	const digits = 5
	random := make([]byte, (digits+1)/2)
	rand.Read(random) // never fails: crypto/rand ends the program instead
	return cluster + "-" + hex.EncodeToString(random)[:digits]
}
