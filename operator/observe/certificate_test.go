package observe_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/operator/observe"
	"valkey.gomomento.com/operator/operator/valkey/valkeytest"
)

// encrypted is the ValkeyCluster of key with TLS from Secret "s".
func encrypted() *v1alpha1.ValkeyCluster {
	c := newCluster()
	c.Spec.TLS = &v1alpha1.TLS{SecretRef: "s"}
	return c
}

// original is the user's Secret "s" with the data.
func original(data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}, Type: corev1.SecretTypeTLS, Data: data}
}

func TestACertificateIsSeenByItsRevisions(t *testing.T) {
	ca := newAuthority(t, nil, "ca", now.AddDate(5, 0, 0))
	old, fresh, broken := secretOf(t, ca, leaf()), secretOf(t, ca, leaf()), secretOf(t, ca, leaf())
	broken["tls.key"] = old["tls.key"]
	c := encrypted()
	edited := objects.TLSCopy(c, original(old), nil, now)
	edited.Data["tls.key"] = fresh["tls.key"]
	self := encrypted()
	self.Spec.TLS.SecretRef = "c-operator-tls"
	foreign := objects.TLSCopy(c, original(old), nil, now)
	foreign.OwnerReferences[0].UID = "another"
	revision := objects.CertificateRevision
	cases := map[string]struct {
		held []client.Object
		want *engine.Certificate
	}{
		"no TLS":             {[]client.Object{newCluster(), original(old)}, nil},
		"no Secret":          {[]client.Object{c}, &engine.Certificate{Secret: "s"}},
		"no copy yet":        {[]client.Object{c, original(old)}, &engine.Certificate{Secret: "s", Offered: revision(old)}},
		"a copy":             {[]client.Object{c, original(old), objects.TLSCopy(c, original(old), nil, now)}, &engine.Certificate{Secret: "s", Offered: revision(old), Copied: revision(old), CopiedFrom: "s"}},
		"a renewed Secret":   {[]client.Object{c, original(fresh), objects.TLSCopy(c, original(old), nil, now)}, &engine.Certificate{Secret: "s", Offered: revision(fresh), Copied: revision(old), CopiedFrom: "s"}},
		"a broken Secret":    {[]client.Object{c, original(broken), objects.TLSCopy(c, original(old), nil, now)}, &engine.Certificate{Secret: "s", Copied: revision(old), CopiedFrom: "s"}},
		"an edited copy":     {[]client.Object{c, original(old), edited}, &engine.Certificate{Secret: "s", Offered: revision(old), CopiedFrom: "s"}},
		"another's copy":     {[]client.Object{c, original(old), foreign}, &engine.Certificate{Secret: "s", Offered: revision(old)}},
		"the copy of itself": {[]client.Object{self, objects.TLSCopy(c, original(old), nil, now)}, &engine.Certificate{Secret: "c-operator-tls", Copied: revision(old), CopiedFrom: "s"}},
	}
	for name, c := range cases {
		seen := see(t, c.held...)
		if diff := cmp.Diff(c.want, seen.Snapshot.Certificate); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for _, secret := range [][]byte{old["tls.key"], fresh["tls.key"]} {
			if strings.Contains(fmt.Sprintf("%+v", seen.Snapshot), string(secret)) {
				t.Errorf("%s: the Snapshot holds a key", name)
			}
		}
	}
}

func TestExpiryIsThatOfWhatServersServe(t *testing.T) {
	ca := newAuthority(t, nil, "ca", now.AddDate(5, 0, 0))
	brief := leaf()
	brief.NotAfter = now.AddDate(0, 0, 7)
	c, served := encrypted(), secretOf(t, ca, brief)
	copied := objects.TLSCopy(c, original(served), nil, now)
	for name, offered := range map[string]map[string][]byte{"no Secret": nil, "renewed": secretOf(t, ca, leaf()), "broken": {"tls.crt": []byte("x")}} {
		held := []client.Object{c, copied}
		if offered != nil {
			held = append(held, original(offered))
		}
		seen := see(t, held...)
		if !seen.TLS.Expiry.Equal(brief.NotAfter) || (seen.TLS.Problem == "") != (name == "renewed") {
			t.Errorf("%s: %s, %q", name, seen.TLS.Expiry, seen.TLS.Problem)
		}
	}
}

// A Secret that lost its authorities, or got others, does not cut the operator off: servers go on with the copy. Neither
// does a copy that a server is yet to be brought to, even if nothing of the old one is trusted any more.
func TestServersAreVerifiedByWhatTheyWereHanded(t *testing.T) {
	old, next := valkeytest.NewAuthority(t, "old"), valkeytest.NewAuthority(t, "new")
	names := []string{"c.ns.svc.cluster.local", "*.c.ns.svc.cluster.local"}
	first, second := old.Secret(t, time.Now().AddDate(1, 0, 0), names), next.Secret(t, time.Now().AddDate(1, 0, 0), names)
	server := valkeytest.Start(t, "9.1", valkeytest.NewVolume(t, first).Directives()...)
	c := encrypted()
	n, config, pod := newNode(t, c, "c-00001", server.IP)
	n.Status.Certificate = objects.CertificateRevision(first)
	pod.Annotations[objects.TouchAnnotation] = objects.Touch("r", now)
	kube := newKube(t, c, newHost(), newSecret(c), n, config, pod, original(second), objects.TLSCopy(c, original(first), nil, now))

	// Each time an operator that has just started, so that no connection stands yet.
	look := func(want string) engine.Node {
		o := newObserver(t, kube)
		o.Now = time.Now
		return until(t, o, want, func(seen observe.Observation) bool { return seen.Snapshot.Nodes[0].Silence == want }).Snapshot.Nodes[0]
	}
	seen := look("")
	if k := seen.Certificate; k.Proved != n.Status.Certificate || k.Touched != "r" || !k.TouchedAt.Equal(now) {
		t.Errorf("%+v", k)
	}
	retired := objects.Retire(objects.TLSCopy(c, original(first), nil, now).Data, second, false)
	if err := kube.Update(context.Background(), objects.TLSCopy(c, original(second), retired, now)); err != nil {
		t.Fatal(err)
	}
	look("")

	// A server that was seen to serve the new certificate has no business with the old one.
	n.Status.Certificate = objects.CertificateRevision(second)
	if err := kube.Update(context.Background(), n); err != nil {
		t.Fatal(err)
	}
	look("tls: failed to verify certificate: x509: certificate signed by unknown authority")
}
