package actions

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"valkey.gomomento.com/operator/actions/objects"
)

// CreateCredentials makes the Secret with the system passwords, once. It never
// changes one that exists: servers may be using its passwords.
type CreateCredentials struct{}

// String implements Action.
func (*CreateCredentials) String() string { return "a Secret with new passwords" }

// Execute implements Action.
func (*CreateCredentials) Execute(ctx context.Context, env Env) error {
	want := objects.AuthSecret(env.Cluster)
	live, err := createOrRead(ctx, env, want)
	if err != nil || live == nil {
		return err
	}
	if !ours(live, want) {
		return foreign(want)
	}
	operator, repl := objects.Passwords(live.(*corev1.Secret).Data)
	if operator == "" || repl == "" {
		return fmt.Errorf("the Secret %q in namespace %q is damaged: restore its %s, %s and %s, or delete it while the cluster has no nodes",
			want.Name, want.Namespace, objects.OperatorPasswordKey, objects.ReplPasswordKey, objects.PrimaryAuthKey)
	}
	if objects.ControllerUID(live) == "" {
		return mend(ctx, env, live, want)
	}
	return nil
}
