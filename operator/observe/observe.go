// Package observe gathers what can be seen of a cluster: Kubernetes from the
// informer cache, the Valkey servers by asking each, into one engine.Snapshot.
//
// It says what is there and never what it means: a server that does not answer,
// a Pod that cannot start and a Secret that is missing are sightings, not errors.
// It must not write anything, and it remembers nothing between two passes but
// connections.
package observe

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
)

// ErrNoCluster says that the ValkeyCluster does not exist.
var ErrNoCluster = errors.New("no such ValkeyCluster")

// An Observer observes clusters. It is safe for concurrent use.
type Observer struct {
	// Kube is the informer cache, with the indexes that Index adds.
	Kube client.Reader
	// Secrets reads the TLS Secrets that clusters name, which no informer holds; see Secrets.
	Secrets SecretReader
	Pool    Pool
	// Directives are those whose live values every server is asked for beside the ones that its node records: what is newly
	// wanted of it is derived after it was asked. A directive that is not among them yet is set without a look, once.
	Directives func() []string
	// ClusterDomain is the DNS domain of this Kubernetes, "cluster.local".
	ClusterDomain string
	// Now is the clock.
	Now func() time.Time
}

// An Observation is all that one pass saw.
type Observation struct {
	// Cluster is a copy that may be changed.
	Cluster  *v1alpha1.ValkeyCluster
	Snapshot engine.Snapshot
	// Credentials are the system passwords.
	Credentials Credentials
	// TLS is what the check of the TLS Secret found; nil when the cluster has no TLS.
	TLS *TLS
	// Servers sends commands to the servers seen.
	Servers actions.Servers
}

// Observe looks at one cluster. The error is ErrNoCluster when it is not there, and otherwise says that
// Kubernetes could not be read; whatever is wrong with the cluster itself is in the Observation.
func (o *Observer) Observe(ctx context.Context, key types.NamespacedName) (Observation, error) {
	seen, err := o.observe(ctx, key)
	if errors.Is(err, ErrNoCluster) {
		o.Pool.Forget(key)
		o.Secrets.Release(key)
	}
	if err != nil {
		return Observation{}, fmt.Errorf("observe %s: %w", key, err)
	}
	return seen, nil
}

func (o *Observer) observe(ctx context.Context, key types.NamespacedName) (Observation, error) {
	cluster, err := o.cluster(ctx, key)
	if err != nil {
		return Observation{}, err
	}
	owned, err := o.holdings(ctx, cluster)
	if err != nil {
		return Observation{}, err
	}
	secret, err := o.tls(ctx, cluster, owned.tlsCopy())
	if err != nil {
		return Observation{}, err
	}
	seen := Observation{
		Cluster:     cluster,
		Credentials: owned.credentials(),
		TLS:         secret,
		Snapshot:    owned.snapshot(o.Now()),
	}
	secret.into(&seen.Snapshot)
	o.recall(key, &seen)
	return seen, o.ask(ctx, &seen)
}

// cluster reads a copy of the ValkeyCluster.
func (o *Observer) cluster(ctx context.Context, key types.NamespacedName) (*v1alpha1.ValkeyCluster, error) {
	var c v1alpha1.ValkeyCluster
	err := o.Kube.Get(ctx, key, &c)
	if apierrors.IsNotFound(err) {
		return nil, ErrNoCluster
	}
	if err != nil {
		return nil, fmt.Errorf("read the ValkeyCluster: %w", err)
	}
	return &c, nil
}
