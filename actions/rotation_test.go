package actions_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
)

// rotating is a cluster whose annotation asks for new passwords.
func rotating() *v1alpha1.ValkeyCluster {
	c := cluster()
	c.Annotations = map[string]string{objects.RotationAnnotation: "monday"}
	return c
}

func TestRotation(t *testing.T) {
	secret := objects.AuthSecret(cluster())
	old := objects.Passwords(secret.Data)
	w := newWorld(t, rotating(), secret, node(cluster(), "cart-00001"))
	w.run(t, &actions.RenewCredentials{})
	w.changesNothing(t, &actions.RenewCredentials{})
	renewed := w.passwords(t, nextSecret)
	if !renewed.Whole() || renewed.Operator == old.Operator || renewed.Repl == old.Repl {
		t.Error("the passwords are not new")
	}
	w.changesNothing(t, &actions.RestoreCredentials{})
	w.changesNothing(t, &actions.DropSpentCredentials{})
	w.changesNothing(t, &actions.AdoptCredentials{Seen: []string{"cart-00009"}})
	w.run(t, &actions.AdoptCredentials{Seen: []string{"cart-00001"}})
	w.changesNothing(t, &actions.DropSpentCredentials{})
	w.run(t, &actions.RestoreCredentials{})
	w.wantGuarded(t, mainSecret, renewed)
	w.run(t, &actions.DropSpentCredentials{})
	same(t, "Secrets", w.names(t, &corev1.SecretList{}), []string{mainSecret})
	if done := w.read(t).Status.RotatedPasswords; done != "monday" {
		t.Errorf("%q is done", done)
	}
	w.changesNothing(t, &actions.RenewCredentials{})
}

// Before the next passwords are adopted the old ones count, and both are in the next Secret.
func TestTheMainSecretIsLostInMidRotation(t *testing.T) {
	secret := objects.AuthSecret(cluster())
	w := newWorld(t, rotating(), secret)
	w.run(t, &actions.RenewCredentials{})
	w.deleteSecret(t, mainSecret)
	w.run(t, &actions.RestoreCredentials{})
	w.wantGuarded(t, mainSecret, objects.Passwords(secret.Data))

	w.deleteSecret(t, mainSecret)
	s := &corev1.Secret{}
	w.get(t, mainSecret, s)
	s.Finalizers = nil
	if err := w.Kube.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w.run(t, &actions.RestoreCredentials{})
	w.wantGuarded(t, mainSecret, objects.Passwords(secret.Data))
}

func TestTellPassword(t *testing.T) {
	secret := objects.AuthSecret(cluster())
	repl := objects.Passwords(secret.Data).Repl
	told := func(node string) []string {
		return []string{node + ": ACL GETUSER _momento_repl", node + ": CONFIG SET masterauth " + repl}
	}
	cases := map[string]struct {
		accepts, keeps, password, says string
		told                           []string
	}{
		"a server that accepts it":         {accepts: objects.Hash(repl), keeps: repl, password: objects.Hash(repl), told: told("a")},
		"a server that does not":           {accepts: objects.Hash("x"), keeps: repl, password: objects.Hash(repl), told: told("a")[:1]},
		"a server that keeps its own":      {accepts: objects.Hash(repl), keeps: "x", password: objects.Hash(repl), told: told("a"), says: "another masterauth"},
		"a password that no Secret has":    {accepts: objects.Hash(repl), keeps: repl, password: objects.Hash("x")},
		"a password that nobody asked for": {accepts: objects.Hash(repl), keeps: repl},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, cluster(), secret.DeepCopy())
			w.servers["a"] = fresh("id-a")
			w.servers["a"].says = map[string]string{
				"ACL GETUSER _momento_repl": "flags\non\npasswords\n" + c.accepts, "CONFIG GET masterauth": "masterauth\n" + c.keeps,
			}
			tell := &actions.TellPassword{Nodes: []string{"a"}, Password: c.password}
			if c.says == "" {
				w.run(t, tell)
			} else {
				w.fails(t, tell, c.says)
			}
			same(t, "told", w.servers.told(), c.told)
			if strings.Contains(tell.String(), repl) {
				t.Error("it says the password")
			}
		})
	}
}

func TestRecallCredentials(t *testing.T) {
	operator, repl := objects.NewCredentials().Operator, objects.NewCredentials().Repl
	w := newWorld(t, cluster())
	w.changesNothing(t, &actions.RecallCredentials{})
	w.Known.Operator = operator
	for _, name := range []string{"a", "b", "c", "d"} {
		w.servers[name] = fresh("id-" + name)
		w.servers[name].says = map[string]string{
			"ACL GETUSER _momento_repl": "passwords\n" + objects.Hash(repl), "CONFIG GET masterauth": "masterauth\n" + repl,
		}
		w.Snapshot.Nodes = append(w.Snapshot.Nodes, engine.Node{Name: name, Server: &engine.Server{}})
	}
	w.servers["a"].says["CONFIG GET masterauth"] = "masterauth\nset by hand, and not accepted"
	w.servers["b"].down = true
	w.run(t, &actions.RecallCredentials{})
	w.run(t, &actions.RestoreCredentials{})
	w.wantGuarded(t, mainSecret, objects.Credentials{Operator: operator, Repl: repl})
	w.changesNothing(t, &actions.RecallCredentials{})

	w = newWorld(t, cluster())
	w.Known.Operator = operator
	w.fails(t, &actions.RecallCredentials{}, "no server tells the password")
}
