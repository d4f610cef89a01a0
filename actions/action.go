// Package actions carries out decisions, one file an action.
//
// Every action is small, idempotent and safe to repeat. It looks again, at the
// API server or at the live server, for the one precondition that makes it
// dangerous, and does nothing when that no longer holds. Whether an action is
// due is not its business: that is for the rules.
package actions

import (
	"context"
	"time"

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
	// Carrier moves keys between the servers that Valkey speaks to.
	Carrier Carrier
	// Shower is not used without TLS.
	Shower Shower
	// Conf renders settings as valkey.conf, the same text for the same settings as Desired.Conf.
	Conf func(settings map[string]string) (string, error)
	Pods PodDefaults
	// Known holds the operator's password as servers accept it, when no Secret holds it any more.
	Known objects.Credentials
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

// Servers are the servers of one cluster, by their node's name, as an Observation hands them to an action.
type Servers interface {
	Valkey
	Shower
	// Carrier moves keys between the servers, logged in as the user of replication with its password.
	Carrier(password string) Carrier
}

// A Carrier moves keys between the servers of one cluster, by their node's name.
// The operator's own user has no right to any key; a Carrier is another user.
type Carrier interface {
	// Sizes are about how many bytes the keys take on the node's server, 0 for one
	// that is gone and -1 for one of which the server does not say.
	Sizes(ctx context.Context, node string, keys []string) ([]int64, error)
	// Carry moves keys with their values and times to live, in the place of any
	// that the other has under their names, in one round trip. The keys of one list
	// are in one slot. Both servers do nothing else meanwhile. The timeout is for a
	// silence of the other.
	Carry(ctx context.Context, from, to string, keys [][]string, timeout time.Duration) error
}

// A Reply is what a server said to one command: Text for a string, an integer
// or the lines of a flat array. Items are the array's elements one by one, for
// those that may have line ends in them.
type Reply struct {
	Text  string
	Items []string
	Err   error
}
