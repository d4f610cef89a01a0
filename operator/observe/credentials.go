package observe

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/operator/valkey"
)

// Credentials are what the operator may log in with.
type Credentials struct {
	// Main are the passwords of the cluster's Secret, Next those of the Secret beside it, Previous those that it replaces;
	// empty where there are none.
	Main, Next, Previous objects.Credentials
	// Known holds the operator's password as servers have last accepted it, while the Secret is gone or damaged.
	Known objects.Credentials
	// Adopted says that Next is what is to be used.
	Adopted bool
}

// Carry is the password to move keys with.
func (c Credentials) Carry() string {
	if c.Adopted {
		return c.Next.Repl
	}
	return cmp.Or(c.Main.Repl, c.Previous.Repl)
}

// secret is the cluster's Secret of that name, nil when there is none.
func (h *holdings) secret(name string) *corev1.Secret {
	for i := range h.secrets.Items {
		if s := &h.secrets.Items[i]; s.Name == name && h.ours(s) {
			return s
		}
	}
	return nil
}

// credentials are the passwords that the cluster's Secrets hold.
func (h *holdings) credentials() Credentials {
	var c Credentials
	if s := h.secret(objects.AuthName(h.cluster.Name)); s != nil {
		c.Main = objects.Passwords(s.Data)
	}
	if s := h.secret(objects.NextAuthName(h.cluster.Name)); s != nil {
		c.Next, c.Previous, c.Adopted = objects.Passwords(s.Data), objects.PreviousPasswords(s.Data), objects.Adopted(s)
	}
	return c
}

func authOf(s *corev1.Secret) *engine.Auth {
	if s == nil {
		return nil
	}
	a := hashes(objects.Passwords(s.Data))
	a.Guarded, a.Deleting = objects.Guarded(s), s.DeletionTimestamp != nil
	return &a
}

func nextAuthOf(s *corev1.Secret) *engine.NextAuth {
	if s == nil {
		return nil
	}
	return &engine.NextAuth{
		Auth: *authOf(s), Previous: hashes(objects.PreviousPasswords(s.Data)),
		Adopted: objects.Adopted(s), Rotation: s.Annotations[objects.RotationAnnotation],
	}
}

func hashes(c objects.Credentials) engine.Auth {
	return engine.Auth{OperatorHash: objects.Hash(c.Operator), ReplHash: objects.Hash(c.Repl)}
}

// recall looks up what the running operator remembers, when no Secret holds the passwords any more.
func (o *Observer) recall(key types.NamespacedName, seen *Observation) {
	if seen.Credentials.Main.Whole() || seen.Credentials.Next.Whole() {
		return
	}
	seen.Credentials.Known.Operator = o.Pool.Accepted(key)
	seen.Snapshot.KnownHash = objects.Hash(seen.Credentials.Known.Operator)
}

// access is what servers are shown: until the next passwords are adopted the ones in use first, afterwards the next.
// What servers have last accepted is shown in despair only, so that a Secret that somebody has replaced by force does not
// lock the operator out.
func (o *Observer) access(seen *Observation) valkey.Access {
	c := seen.Credentials
	shown := []string{c.Main.Operator, c.Previous.Operator, c.Next.Operator}
	if c.Adopted {
		shown = []string{c.Next.Operator, c.Main.Operator}
	}
	shown = slices.DeleteFunc(append(shown, c.Known.Operator), func(p string) bool { return p == "" })
	a := valkey.Access{LastResort: o.Pool.Accepted(keyOf(seen.Cluster))}
	if len(shown) > 0 {
		a.Password, a.Others = shown[0], shown[1:]
	}
	if seen.TLS != nil {
		a.TLS, a.RootCAs, a.Known = true, seen.TLS.roots(), seen.TLS.Known
	}
	return a
}
