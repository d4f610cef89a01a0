package observe

import (
	"context"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/operator/valkey"
)

// A Pool keeps connections to servers: a valkey.Pool, or the model of one in which time and faults are made.
type Pool interface {
	// Keep closes the cluster's connections to all but the given servers.
	Keep(cluster types.NamespacedName, servers ...valkey.Target)
	// Ask asks a server for all that a Snapshot holds of it; valkey.Silence puts the error in a word.
	Ask(ctx context.Context, t valkey.Target, a valkey.Access, settings []string) (*engine.Server, error)
	// Servers are the given servers, by their node's name, for actions to speak to.
	Servers(byNode map[string]valkey.Target, a valkey.Access) actions.Servers
	// Accepted is the password that a server of the cluster has last let the operator in with, "" when none has.
	Accepted(cluster types.NamespacedName) string
	// Forget drops all that is kept about a cluster that is gone.
	Forget(cluster types.NamespacedName)
}

// ask asks all servers at once and records what each said, or why it said nothing. The error is the pass's own end.
func (o *Observer) ask(ctx context.Context, seen *Observation) error {
	key, access := keyOf(seen.Cluster), o.access(seen)
	targets := map[string]valkey.Target{}
	for i := range seen.Snapshot.Nodes {
		if n := &seen.Snapshot.Nodes[i]; reachable(n.Pod) {
			targets[n.Name] = valkey.Target{
				Cluster: key, PodUID: n.Pod.UID,
				Address:  net.JoinHostPort(n.Pod.IP, strconv.Itoa(objects.ClientPort)),
				Hostname: objects.Hostname(n.Name, key.Name, key.Namespace, o.ClusterDomain),
			}
		}
	}
	o.Pool.Keep(key, slices.Collect(maps.Values(targets))...)
	seen.Servers = o.Pool.Servers(targets, access)
	var all sync.WaitGroup
	for i := range seen.Snapshot.Nodes {
		n := &seen.Snapshot.Nodes[i]
		if t, found := targets[n.Name]; found {
			all.Go(func() { o.askOne(ctx, n, t, access) })
		}
	}
	all.Wait()
	return ctx.Err()
}

// askOne asks once more when the connection broke under the question: whether anybody still listens tells a server that has
// ended from a connection that was only closed, and what is certain of a death must not wait for the next pass.
func (o *Observer) askOne(ctx context.Context, n *engine.Node, t valkey.Target, a valkey.Access) {
	directives := o.Directives()
	names := slices.AppendSeq(make([]string, 0, len(n.Spec.Settings)+len(directives)), maps.Keys(n.Spec.Settings))
	names = append(names, directives...)
	server, err := o.Pool.Ask(ctx, t, a, names)
	if valkey.Silence(err) == valkey.SilenceLost {
		server, err = o.Pool.Ask(ctx, t, a, names)
	}
	n.Server, n.Silence = server, valkey.Silence(err)
}

// reachable says that the Pod may have a server that listens.
func reachable(p *engine.Pod) bool { return p != nil && p.IP != "" && !p.Ended() }
