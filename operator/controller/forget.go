package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"valkey.gomomento.com/operator/actions"
)

// forget drops what is kept about a cluster that is gone, here and at the API server.
func (l *Loop) forget(ctx context.Context, key types.NamespacedName) outcome {
	l.reporter.Forget(key)
	l.streaks.forget(key)
	l.syncs.forget(key)
	l.rollouts.forget(key)
	l.wakeKeepers(l.references.forget(key))
	if err := actions.ReleaseSecrets(ctx, l.kube, l.live, key); err != nil {
		return failed(err)
	}
	return outcome{}
}
