package actions

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

const (
	// primaryAuth is the directive with the password that a server logs in to
	// others with, by the name that every release takes.
	primaryAuth = "masterauth"
	// replicationUser is who it logs in as.
	replicationUser = "_momento_repl"
)

// RenewCredentials makes new system passwords and stores them beside the old
// ones, BEFORE any server hears of them.
type RenewCredentials struct{}

// String implements Action.
func (*RenewCredentials) String() string { return "a Secret with the next passwords" }

// Execute implements Action. It does nothing when the annotation's value has
// been carried out, as a cache that is behind does not show.
func (*RenewCredentials) Execute(ctx context.Context, env Env) error {
	cluster, err := liveCluster(ctx, env)
	if err != nil || cluster == nil {
		return err
	}
	rotation := cluster.Annotations[objects.RotationAnnotation]
	if rotation == "" || rotation == cluster.Status.RotatedPasswords {
		return nil
	}
	main, next, err := secretsNow(ctx, env)
	if err != nil || next != nil || main == nil || !main.DeletionTimestamp.IsZero() {
		return err
	}
	if passwords := passwordsOf(main); passwords.Whole() {
		return putSecret(ctx, env, objects.NextSecret(env.Cluster, passwords, rotation))
	}
	return nil
}

// TellPassword tells servers the password to log in to others with. Links that
// stand are not touched by it.
type TellPassword struct {
	Nodes []string `expr:"nodes"`
	// Password is its SHA-256.
	Password string `expr:"password"`
}

// String implements Action.
func (a *TellPassword) String() string { return list(a.Nodes) }

// Execute implements Action. It does nothing when no Secret holds the password any more.
func (a *TellPassword) Execute(ctx context.Context, env Env) error {
	if len(a.Nodes) == 0 {
		return nil
	}
	main, next, err := secretsNow(ctx, env)
	if err != nil {
		return err
	}
	candidates := []string{passwordsOf(main).Repl, passwordsOf(next).Repl}
	if next != nil {
		candidates = append(candidates, objects.PreviousPasswords(next.Data).Repl)
	}
	i := slices.IndexFunc(candidates, func(p string) bool { return p != "" && objects.Hash(p) == a.Password })
	if i < 0 {
		return nil
	}
	return each(ctx, a.Nodes, func(ctx context.Context, node string) error {
		return tellPassword(ctx, env, node, candidates[i])
	})
}

// tellPassword does nothing on a server that would not accept the password
// itself: it has not loaded the users that it should have.
func tellPassword(ctx context.Context, env Env, node, password string) error {
	texts, err := ask(ctx, env, node, command("ACL GETUSER", replicationUser))
	if err != nil || !slices.Contains(strings.Split(texts[0], "\n"), objects.Hash(password)) {
		return err
	}
	texts, err = ask(ctx, env, node, command("CONFIG SET", primaryAuth, password), command("CONFIG GET", primaryAuth))
	if err != nil {
		return err
	}
	if live, err := parseSettings(texts[1]); err != nil || live[primaryAuth] != password {
		return fmt.Errorf("%s: the server has another %s than it was told", node, primaryAuth)
	}
	return nil
}

// AdoptCredentials makes the next passwords those to be used: from here on the
// main Secret is to become like the next one, and never the other way round.
type AdoptCredentials struct {
	// Seen are the nodes that were found to be ready for it.
	Seen []string `expr:"seen"`
}

// String implements Action.
func (*AdoptCredentials) String() string { return "the next passwords" }

// Execute implements Action. It does nothing when there are nodes that were not seen.
func (a *AdoptCredentials) Execute(ctx context.Context, env Env) error {
	nodes, err := liveNodes(ctx, env)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(nodes, func(n v1alpha1.ValkeyNode) bool { return !slices.Contains(a.Seen, n.Name) }) {
		return nil
	}
	_, next, err := secretsNow(ctx, env)
	if err != nil || next == nil || objects.Adopted(next) || !passwordsOf(next).Whole() {
		return err
	}
	adopted := next.DeepCopy()
	if adopted.Annotations == nil {
		adopted.Annotations = map[string]string{}
	}
	adopted.Annotations[objects.AdoptedAnnotation] = "true"
	if err := patchSecret(ctx, env, next, adopted); err != nil {
		return fmt.Errorf("adopt the passwords of Secret %s: %w", next.Name, err)
	}
	return nil
}

// DropSpentCredentials removes the Secret beside the main one when that holds
// the same passwords, and first notes which rotation is done with it.
type DropSpentCredentials struct{}

// String implements Action.
func (*DropSpentCredentials) String() string { return "the Secret beside the main one" }

// Execute implements Action.
func (*DropSpentCredentials) Execute(ctx context.Context, env Env) error {
	main, next, err := secretsNow(ctx, env)
	if err != nil || next == nil || main == nil || !main.DeletionTimestamp.IsZero() || !passwordsOf(main).Whole() {
		return err
	}
	if passwordsOf(next).Whole() {
		if !objects.Adopted(next) || passwordsOf(next) != passwordsOf(main) {
			return nil
		}
		if err := noteRotation(ctx, env, next); err != nil {
			return err
		}
	}
	return removeSecret(ctx, env, next)
}

// noteRotation records the annotation's value that the Secret was made for.
func noteRotation(ctx context.Context, env Env, next *corev1.Secret) error {
	rotation := next.Annotations[objects.RotationAnnotation]
	if rotation == "" {
		return nil
	}
	err := patchStatus(ctx, env, func(c *v1alpha1.ValkeyCluster) { c.Status.RotatedPasswords = rotation })
	if err != nil {
		return fmt.Errorf("note that the passwords are rotated: %w", err)
	}
	return nil
}
