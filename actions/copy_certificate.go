package actions

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"valkey.gomomento.com/operator/actions/objects"
)

// CopyCertificate brings the operator's copy of the TLS Secret, which Pods
// mount, to the contents that were checked.
type CopyCertificate struct {
	Secret string `expr:"secret"`
	// Revision is the one that was checked: what the Secret holds by now may be
	// something else, and nobody has looked at that.
	Revision string `expr:"revision"`
}

// String implements Action.
func (a *CopyCertificate) String() string { return "Secret " + a.Secret }

// Execute implements Action. It does nothing when the Secret has changed.
func (a *CopyCertificate) Execute(ctx context.Context, env Env) error {
	original, err := liveSecret(ctx, env, a.Secret)
	if err != nil || original == nil || objects.CertificateRevision(original.Data) != a.Revision {
		return err
	}
	copied, err := liveSecret(ctx, env, objects.TLSName(env.Cluster.Name))
	if err != nil {
		return err
	}
	var retired []byte
	if copied != nil {
		retired = objects.Retire(copied.Data, original.Data, !allServe(env, objects.CopiedRevision(copied.Data)))
	}
	return apply(ctx, env, objects.TLSCopy(env.Cluster, original, retired, env.Snapshot.At))
}

// allServe says that every node was seen to serve the revision, so that none
// can show an older certificate.
func allServe(env Env, revision string) bool {
	for i := range env.Snapshot.Nodes {
		if env.Snapshot.Nodes[i].Certificate.Proved != revision {
			return false
		}
	}
	return revision != ""
}

// liveSecret is a Secret of the cluster's namespace as the API server has it;
// nil when there is none.
func liveSecret(ctx context.Context, env Env, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := env.Live.Get(ctx, env.key(name), secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", name, err)
	}
	return secret, nil
}
