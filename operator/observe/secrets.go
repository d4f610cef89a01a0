package observe

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// LiveSecrets reads Secrets from the API server itself, one request a pass.
type LiveSecrets struct {
	// API reads without a cache.
	API client.Reader
}

// Secret reads the Secret.
func (l LiveSecrets) Secret(ctx context.Context, cluster types.NamespacedName, name string) (*corev1.Secret, error) {
	var s corev1.Secret
	err := l.API.Get(ctx, types.NamespacedName{Namespace: cluster.Namespace, Name: name}, &s)
	return &s, err
}

// Release has nothing to release.
func (LiveSecrets) Release(types.NamespacedName) {}
