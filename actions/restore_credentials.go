package actions

import (
	"context"
	"fmt"

	"valkey.gomomento.com/operator/actions/objects"
)

// CopyCredentials writes a copy of the Secret with the system passwords beside
// it, since it has been deleted: the copy BEFORE it is let go.
type CopyCredentials struct{}

// String implements Action.
func (*CopyCredentials) String() string { return "a copy of the Secret with the system passwords" }

// Execute implements Action. It does nothing when the Secret is not being
// deleted any more, or something is beside it already.
func (*CopyCredentials) Execute(ctx context.Context, env Env) error {
	main, next, err := secretsNow(ctx, env)
	if err != nil || main == nil || main.DeletionTimestamp.IsZero() || passwordsOf(next).Whole() {
		return err
	}
	if passwords := passwordsOf(main); passwords.Whole() {
		return putSecret(ctx, env, objects.CopySecret(env.Cluster, passwords))
	}
	return nil
}

// RestoreCredentials makes the Secret with the system passwords what the one
// beside it says: the passwords of a copy, or those of a rotation once they
// are adopted, and until then the ones that it is to replace. Killed between
// any two of its steps, it finds all it needs in the Secret beside.
type RestoreCredentials struct{}

// String implements Action.
func (*RestoreCredentials) String() string { return "the Secret with the system passwords" }

// Execute implements Action.
func (*RestoreCredentials) Execute(ctx context.Context, env Env) error {
	main, next, err := secretsNow(ctx, env)
	if err != nil || !passwordsOf(next).Whole() {
		return err
	}
	want := objects.Passwords(next.Data)
	if !objects.Adopted(next) {
		want = objects.PreviousPasswords(next.Data)
		if had := passwordsOf(main); had.Whole() && had != want {
			return fmt.Errorf("the Secret %s holds other passwords than those that Secret %s is to replace: delete the latter with its finalizer",
				main.Name, next.Name)
		}
	}
	if !want.Whole() {
		return nil
	}
	return putSecret(ctx, env, objects.AuthSecretOf(env.Cluster, want))
}
