// Package actions carries out decisions, one file an action.
//
// Every action is small, idempotent and safe to repeat. It looks again, at the
// API server or at the live server, for the one precondition that makes it
// dangerous, and does nothing when that no longer holds. Whether an action is
// due is not its business: that is for the rules.
package actions

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
)

// An Action is one step the operator can take. Its exported fields are the
// arguments a rule gives it, named in the rule by their expr tags.
type Action interface {
	// Execute does it. It may be called again after any failure or kill.
	Execute(ctx context.Context, env Env) error
	// String says what it is about to do, in a few words for Events and plans:
	// the objects or nodes it touches, without the action's own name.
	String() string
}

// An Env is what an action may use.
type Env struct {
	Cluster  *v1alpha1.ValkeyCluster
	Snapshot engine.Snapshot
	Desired  engine.Desired
	// Kube writes to the API server and reads from the cache.
	Kube client.Client
	// Live reads from the API server itself.
	Live   client.Reader
	Valkey Valkey
	// Conf renders settings as valkey.conf, the same text for the same settings as Desired.Conf.
	Conf func(settings map[string]string) (string, error)
	Pods PodDefaults
}

// PodDefaults are what a Pod gets that no ValkeyCluster says.
type PodDefaults = objects.PodDefaults

// Valkey sends commands to the servers of one cluster.
type Valkey interface {
	// Do sends the commands to the named node's server in one round trip and
	// returns a reply for each. A server's error reply is the reply's Err; the
	// error returned is for a server that was not reached.
	Do(ctx context.Context, node string, commands ...[]string) ([]Reply, error)
}

// A Reply is what a server said to one command: Text for a string, an integer
// or the lines of a flat array.
type Reply struct {
	Text string
	Err  error
}
