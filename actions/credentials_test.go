package actions_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/actions/objects"
)

const mainSecret, nextSecret = "cart-operator-auth", "cart-operator-auth-next"

// passwords are those of the Secret; none when it is not there.
func (w *world) passwords(t *testing.T, name string) objects.Credentials {
	t.Helper()
	s := &corev1.Secret{}
	w.get(t, name, s)
	return objects.Passwords(s.Data)
}

// deleteSecret deletes the Secret as a person would.
func (w *world) deleteSecret(t *testing.T, name string) {
	t.Helper()
	s := &corev1.Secret{}
	w.get(t, name, s)
	if err := w.Kube.Delete(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

// wantGuarded wants the Secret there for good, with these passwords.
func (w *world) wantGuarded(t *testing.T, name string, want objects.Credentials) {
	t.Helper()
	s := &corev1.Secret{}
	if !w.get(t, name, s) || objects.Passwords(s.Data) != want || !objects.Guarded(s) || !s.DeletionTimestamp.IsZero() {
		t.Errorf("Secret %s: it has the passwords: %v, it is guarded: %v, deleted: %v",
			name, objects.Passwords(s.Data) == want, objects.Guarded(s), s.DeletionTimestamp)
	}
}

func TestCreateCredentials(t *testing.T) {
	w := newWorld(t, cluster())
	w.run(t, &actions.CreateCredentials{})
	first := w.passwords(t, mainSecret)
	if len(first.Operator) != 128 || len(first.Repl) != 128 || first.Operator == first.Repl {
		t.Errorf("passwords of %d and %d characters", len(first.Operator), len(first.Repl))
	}
	w.changesNothing(t, &actions.CreateCredentials{})
	w.wantGuarded(t, mainSecret, first)
}

func TestCreateCredentialsAndWhatIsThere(t *testing.T) {
	damaged := objects.AuthSecret(cluster())
	damaged.Data[objects.ReplPasswordKey] = []byte("short")
	foreign := objects.AuthSecret(cluster())
	foreign.OwnerReferences[0].UID = "another"

	newWorld(t, cluster(), damaged.DeepCopy(), node(cluster(), "cart-00001")).changesNothing(t, &actions.CreateCredentials{})
	newWorld(t, cluster(), foreign.DeepCopy()).fails(t, &actions.CreateCredentials{}, "does not belong to this cluster")

	w := newWorld(t, cluster(), damaged)
	w.run(t, &actions.CreateCredentials{})
	w.wantGuarded(t, mainSecret, w.passwords(t, mainSecret))

	// Only our finalizer keeps what an earlier cluster of this name has left.
	w = newWorld(t, cluster(), foreign)
	w.deleteSecret(t, mainSecret)
	w.run(t, &actions.CreateCredentials{})
	w.wantGuarded(t, mainSecret, w.passwords(t, mainSecret))
}

func TestGuardCredentials(t *testing.T) {
	plain := objects.AuthSecret(cluster())
	plain.Immutable, plain.Finalizers, plain.OwnerReferences = nil, []string{"somebody/else"}, nil
	w := newWorld(t, cluster(), plain)
	w.run(t, &actions.GuardCredentials{})
	w.wantGuarded(t, mainSecret, objects.Passwords(plain.Data))
	s := &corev1.Secret{}
	if w.get(t, mainSecret, s); len(s.Finalizers) != 2 || objects.ControllerUID(s) != "cart-uid" {
		t.Errorf("finalizers %v, owner %q", s.Finalizers, objects.ControllerUID(s))
	}
	w.changesNothing(t, &actions.GuardCredentials{})
	newWorld(t, cluster()).changesNothing(t, &actions.GuardCredentials{})
}

// restoring are the actions by which a deleted Secret comes back.
var restoring = []actions.Action{&actions.CopyCredentials{}, &actions.RestoreCredentials{}, &actions.DropSpentCredentials{}}

func TestADeletedSecretComesBack(t *testing.T) {
	secret := objects.AuthSecret(cluster())
	want := objects.Passwords(secret.Data)
	w := newWorld(t, cluster(), secret)
	for _, a := range restoring {
		w.changesNothing(t, a)
	}
	w.deleteSecret(t, mainSecret)
	w.run(t, &actions.CopyCredentials{})
	w.wantGuarded(t, nextSecret, want)
	w.changesNothing(t, &actions.CopyCredentials{})
	w.changesNothing(t, &actions.DropSpentCredentials{})
	w.run(t, &actions.RestoreCredentials{})
	w.wantGuarded(t, mainSecret, want)
	w.changesNothing(t, &actions.RestoreCredentials{})
	w.run(t, &actions.DropSpentCredentials{})
	same(t, "Secrets", w.names(t, &corev1.SecretList{}), []string{mainSecret})
	for _, a := range restoring {
		w.changesNothing(t, a)
	}
}

// Every write but the first so many fails, as if the operator were killed before it.
func TestADeletedSecretComesBackWheneverTheOperatorIsKilled(t *testing.T) {
	for writes := range 6 {
		secret := objects.AuthSecret(cluster())
		w := newWorld(t, cluster(), secret)
		w.deleteSecret(t, mainSecret)
		healthy := w.Kube
		w.Kube = killedAfter(w.Kube.(client.WithWatch), writes)
		for _, a := range restoring {
			if err := a.Execute(t.Context(), w.Env); err != nil && !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
		}
		w.Kube = healthy
		for _, a := range restoring {
			w.run(t, a)
		}
		w.wantGuarded(t, mainSecret, objects.Passwords(secret.Data))
		same(t, "Secrets", w.names(t, &corev1.SecretList{}), []string{mainSecret})
	}
}

var errKilled = errors.New("killed")

// killedAfter lets so many writes pass.
func killedAfter(kube client.WithWatch, writes int) client.Client {
	spend := func() error {
		if writes--; writes < 0 {
			return errKilled
		}
		return nil
	}
	return interceptor.NewClient(kube, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.CreateOption) error {
			if err := spend(); err != nil {
				return err
			}
			return c.Create(ctx, obj, o...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, o ...client.PatchOption) error {
			if err := spend(); err != nil {
				return err
			}
			return c.Patch(ctx, obj, p, o...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.DeleteOption) error {
			if err := spend(); err != nil {
				return err
			}
			return c.Delete(ctx, obj, o...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch, o ...client.SubResourcePatchOption) error {
			if err := spend(); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, obj, p, o...)
		},
	})
}

func TestADeletedClusterLetsItsSecretsGo(t *testing.T) {
	c := deletingCluster()
	w := newWorld(t, c, objects.AuthSecret(c), objects.CopySecret(c, objects.NewCredentials()))
	w.deleteSecret(t, mainSecret) // by the namespace's end, perhaps
	w.run(t, &actions.RemoveCluster{})
	same(t, "Secrets", w.names(t, &corev1.SecretList{}), nil)
	if w.read(t) != nil {
		t.Error("the cluster is still there")
	}
}

func TestSecretsOfAClusterThatIsGoneAreReleased(t *testing.T) {
	key := types.NamespacedName{Namespace: "shop", Name: "cart"}
	w := newWorld(t, cluster(), objects.AuthSecret(cluster()), objects.CopySecret(cluster(), objects.NewCredentials()))
	w.deleteSecret(t, mainSecret)
	release := func() {
		t.Helper()
		if err := actions.ReleaseSecrets(t.Context(), w.Kube, w.Live, key); err != nil {
			t.Fatal(err)
		}
	}
	release()
	same(t, "Secrets", w.names(t, &corev1.SecretList{}), []string{mainSecret, nextSecret})
	if err := w.Kube.Delete(t.Context(), w.read(t)); err != nil {
		t.Fatal(err)
	}
	release()
	same(t, "Secrets", w.names(t, &corev1.SecretList{}), []string{nextSecret})
}
