package actions_test

import (
	"bytes"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/operator/valkey/valkeytest"
)

var serverNames = []string{"cart.shop.svc.cluster.local", "*.cart.shop.svc.cluster.local"}

// soonEnough is when the tests' certificates end.
func soonEnough() time.Time { return time.Now().AddDate(0, 6, 0) }

// userSecret is the user's TLS Secret, "cart-tls", or another of that name.
func userSecret(data map[string][]byte, name string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Type: corev1.SecretTypeTLS, Data: data,
	}
}

// copied is the operator's copy.
func (w *world) copied(t *testing.T) *corev1.Secret {
	t.Helper()
	s := &corev1.Secret{}
	if !w.get(t, "cart-operator-tls", s) {
		return nil
	}
	return s
}

// offer lets the user's Secret hold the data, and copies it.
func (w *world) offer(t *testing.T, data map[string][]byte) {
	t.Helper()
	s := &corev1.Secret{}
	if w.get(t, "cart-tls", s) {
		s.Data = data
		if err := w.Kube.Update(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	} else if err := w.Kube.Create(t.Context(), userSecret(data, "cart-tls")); err != nil {
		t.Fatal(err)
	}
	w.run(t, &actions.CopyCertificate{Secret: "cart-tls", Revision: objects.CertificateRevision(data)})
}

func TestCopyCertificate(t *testing.T) {
	w, ca := newWorld(t, cluster()), valkeytest.NewAuthority(t, "ca")
	first := ca.Secret(t, soonEnough(), serverNames)
	first["notes.txt"] = []byte("the user's own")
	w.offer(t, first)
	got := w.copied(t)
	if got.Type != corev1.SecretTypeTLS || objects.ControllerUID(got) != "cart-uid" || got.Labels[objects.LabelManagedBy] != objects.Manager {
		t.Errorf("%+v", got.ObjectMeta)
	}
	revision := objects.CertificateRevision(first)
	want := maps.Clone(first)
	delete(want, "notes.txt")
	want["ca-"+revision+".crt"] = first["ca.crt"]
	if !maps.EqualFunc(got.Data, want, bytes.Equal) || objects.CopiedRevision(got.Data) != revision {
		t.Errorf("it holds %q", slices.Sorted(maps.Keys(got.Data)))
	}
	w.run(t, &actions.CopyCertificate{Secret: "cart-tls", Revision: revision})
	if again := w.copied(t); again.ResourceVersion != got.ResourceVersion {
		t.Error("it was written again without need")
	}

	got.Data["tls.crt"] = []byte("edited by hand")
	if err := w.Kube.Update(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	if objects.CopiedRevision(got.Data) != "" {
		t.Error("an edited copy counts as whole")
	}
	w.run(t, &actions.CopyCertificate{Secret: "cart-tls", Revision: revision})
	if got := w.copied(t); objects.CopiedRevision(got.Data) != revision {
		t.Error("it was not mended")
	}
}

func TestCopyCertificateTakesWhatWasCheckedAndNothingElse(t *testing.T) {
	ca := valkeytest.NewAuthority(t, "ca")
	checked, unchecked := ca.Secret(t, soonEnough(), serverNames), ca.Secret(t, soonEnough(), nil)
	w := newWorld(t, cluster(), userSecret(unchecked, "cart-tls"))
	w.changesNothing(t, &actions.CopyCertificate{Secret: "cart-tls", Revision: objects.CertificateRevision(checked)})
	w.changesNothing(t, &actions.CopyCertificate{Secret: "none", Revision: objects.CertificateRevision(checked)})
	delete(unchecked, "ca.crt")
	if objects.CertificateRevision(unchecked) != "" {
		t.Error("a Secret without authorities has a revision")
	}
}

func TestCopyCertificateLeavesAnothersSecretAlone(t *testing.T) {
	data := valkeytest.NewAuthority(t, "ca").Secret(t, soonEnough(), serverNames)
	foreign := userSecret(map[string][]byte{"tls.crt": []byte("x"), "tls.key": []byte("y")}, "cart-operator-tls")
	w := newWorld(t, cluster(), userSecret(data, "cart-tls"), foreign)
	w.fails(t, &actions.CopyCertificate{Secret: "cart-tls", Revision: objects.CertificateRevision(data)},
		`Secret "cart-operator-tls" exists in namespace "shop" and does not belong to this cluster`)
	if string(w.copied(t).Data["tls.crt"]) != "x" {
		t.Error("it was overwritten")
	}
}

// Certificates that a server may still show are kept in mind until none does.
func TestCopyCertificateRetiresTheLast(t *testing.T) {
	w, ca := newWorld(t, cluster()), valkeytest.NewAuthority(t, "ca")
	var all []map[string][]byte
	renew := func(proved ...int) []string {
		w.Snapshot.Nodes = nil
		for _, i := range proved {
			w.Snapshot.Nodes = append(w.Snapshot.Nodes, engine.Node{
				Certificate: engine.NodeCertificate{Proved: objects.CertificateRevision(all[i])},
			})
		}
		all = append(all, ca.Secret(t, soonEnough(), serverNames))
		w.offer(t, all[len(all)-1])
		var retired []string
		for _, der := range objects.Retired(w.copied(t).Data) {
			for i := range all {
				if bytes.Equal(der, objects.Leaf(all[i])) {
					retired = append(retired, string(rune('0'+i)))
				}
			}
		}
		return retired
	}
	same(t, "the first", renew(), nil)
	same(t, "all served 0", renew(0, 0), []string{"0"})
	same(t, "one still shows 0", renew(0, 1), []string{"1", "0"})
	same(t, "all serve 2", renew(2, 2), []string{"2"})
}

// What renews certificates must never renew passwords: servers use those.
func TestTheSecretWithThePasswordsIsAdoptedAsItIs(t *testing.T) {
	orphan := objects.AuthSecret(cluster())
	orphan.OwnerReferences = nil
	w := newWorld(t, cluster(), orphan)
	w.run(t, &actions.CreateCredentials{})
	live := &corev1.Secret{}
	w.get(t, "cart-operator-auth", live)
	if !maps.EqualFunc(live.Data, orphan.Data, bytes.Equal) || objects.ControllerUID(live) != "cart-uid" {
		t.Error("it was not adopted as it was")
	}
}
