package actions_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/operator/valkey"
	"valkey.gomomento.com/operator/operator/valkey/valkeytest"
)

// An encrypted is a world with one real server, of node "cart-00001", that speaks TLS.
type encrypted struct {
	*world
	server *valkeytest.Server
	volume *valkeytest.Volume
	target valkey.Target
	pool   *valkey.Pool
}

const encryptedNode = "cart-00001"

// encrypt starts it with the data of a TLS Secret, copied and mounted.
func encrypt(t *testing.T, version string, data map[string][]byte) *encrypted {
	t.Helper()
	e := &encrypted{world: newWorld(t, cluster()), pool: &valkey.Pool{}}
	t.Cleanup(e.pool.Close)
	e.offer(t, data)
	e.volume = valkeytest.NewVolume(t, e.copied(t).Data)
	n := node(e.Cluster, encryptedNode, func(n *v1alpha1.ValkeyNode) {
		n.Spec.ValkeySettings = map[string]string{}
		for _, f := range []string{"tls-cert-file tls.crt", "tls-key-file tls.key", "tls-ca-cert-file ca.crt"} {
			directive, file, _ := strings.Cut(f, " ")
			n.Spec.ValkeySettings[directive] = e.volume.Path(file)
		}
	})
	p := pod(t, n)
	for _, obj := range []*v1alpha1.ValkeyNode{n} {
		if err := e.Kube.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Kube.Create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	e.server = valkeytest.Start(t, version, e.volume.Directives()...)
	e.target = valkey.Target{
		Cluster: types.NamespacedName{Namespace: "shop", Name: "cart"}, PodUID: "a", Address: e.server.Address(),
		Hostname: encryptedNode + ".cart.shop.svc.cluster.local",
	}
	e.Snapshot.At = time.Now()
	return e
}

// load is a pass: it reads what the API server has of the node, then tells the server to load the copy.
func (e *encrypted) load(t *testing.T) (a *actions.LoadCertificate) {
	t.Helper()
	n, p, copied := &v1alpha1.ValkeyNode{}, &corev1.Pod{}, e.copied(t)
	e.get(t, encryptedNode, n)
	e.get(t, encryptedNode, p)
	seen := engine.Node{Name: encryptedNode, Certificate: engine.NodeCertificate{Proved: n.Status.Certificate}}
	seen.Certificate.Touched, seen.Certificate.TouchedAt = objects.Touched(p.Annotations[objects.TouchAnnotation])
	e.Snapshot.Nodes = []engine.Node{seen}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(copied.Data["ca.crt"])
	roots.AppendCertsFromPEM(copied.Data["retired.crt"])
	servers := e.pool.Servers(map[string]valkey.Target{encryptedNode: e.target},
		valkey.Access{Password: valkeytest.Password, TLS: true, RootCAs: roots})
	e.Valkey, e.Shower = servers, servers
	return &actions.LoadCertificate{Nodes: []string{encryptedNode}, Revision: objects.CopiedRevision(copied.Data)}
}

// proved says that the node's status names the data's revision.
func (e *encrypted) proved(t *testing.T, data map[string][]byte) bool {
	t.Helper()
	n := &v1alpha1.ValkeyNode{}
	e.get(t, encryptedNode, n)
	return n.Status.Certificate == objects.CertificateRevision(data)
}

// shows checks which certificate somebody gets to see who connects and trusts the data's authorities.
func (e *encrypted) shows(t *testing.T, data map[string][]byte) {
	t.Helper()
	c := e.dial(t, data)
	if !bytes.Equal(c.ConnectionState().PeerCertificates[0].Raw, objects.Leaf(data)) {
		t.Error("the server shows another certificate")
	}
}

func (e *encrypted) dial(t *testing.T, data map[string][]byte) *tls.Conn {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(data["ca.crt"])
	c, err := tls.Dial("tcp", e.target.Address, &tls.Config{RootCAs: roots, ServerName: e.target.Hostname})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, c) })
	return c
}

func closed(t *testing.T, c *tls.Conn) {
	if err := c.Close(); err != nil {
		t.Logf("close: %v", err)
	}
}

// ping fails when the connection was dropped.
func ping(t *testing.T, c *tls.Conn) {
	t.Helper()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("PING\r\n")); err != nil {
		t.Fatal(err)
	}
	// The client has not logged in: what counts is that it is answered.
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, "NOAUTH") {
		t.Fatalf("%q, %v", line, err)
	}
}

// annotations are the Pod's.
func (e *encrypted) touched(t *testing.T) string {
	t.Helper()
	p := &corev1.Pod{}
	e.get(t, encryptedNode, p)
	return p.Annotations[objects.TouchAnnotation]
}

func TestARenewedCertificateIsServedAndProved(t *testing.T) {
	for _, version := range valkeytest.Versions {
		t.Run(version, func(t *testing.T) {
			old, next := valkeytest.NewAuthority(t, "old"), valkeytest.NewAuthority(t, "new")
			first := old.Secret(t, soonEnough(), serverNames)
			e := encrypt(t, version, first)
			e.run(t, e.load(t))
			if !e.proved(t, first) || e.touched(t) != "" {
				t.Fatalf("a server that has the files is not proved to serve them, or was touched: %q", e.touched(t))
			}
			idle := e.dial(t, first)

			renewals := []map[string][]byte{
				old.Secret(t, soonEnough(), serverNames), // another leaf
				nil,                                      // the same leaf, an authority more
				next.Secret(t, soonEnough(), serverNames, old), // a leaf by the new authority
				next.Secret(t, soonEnough(), serverNames),      // the new authority alone
				old.Secret(t, soonEnough(), serverNames),       // everything at once, without a bundle
			}
			renewals[1] = map[string][]byte{
				"tls.crt": renewals[0]["tls.crt"], "tls.key": renewals[0]["tls.key"], "ca.crt": append(old.PEM(), next.PEM()...),
			}
			before := first
			for i, data := range renewals {
				e.offer(t, data)
				e.run(t, e.load(t))
				if e.proved(t, data) {
					t.Fatalf("renewal %d counts as served before the files have come", i)
				}
				if revision, _ := objects.Touched(e.touched(t)); revision != objects.CertificateRevision(data) {
					t.Errorf("renewal %d: the kubelet was asked for %q", i, revision)
				}
				e.shows(t, before)
				e.volume.Refresh(t, e.copied(t).Data)
				e.run(t, e.load(t))
				if !e.proved(t, data) {
					t.Fatalf("renewal %d is not proved", i)
				}
				e.shows(t, data)
				ping(t, idle)
				before = data
			}
			if got := e.ask(t, "CONFIG", "GET", "tls-ca-cert-file"); !strings.HasSuffix(got, e.volume.Path("ca.crt")) {
				t.Errorf("tls-ca-cert-file is %s", got)
			}
			e.changesNothing(t, e.load(t))
		})
	}
}

// ask sends one command.
func (e *encrypted) ask(t *testing.T, command ...string) string {
	t.Helper()
	replies, err := e.Valkey.Do(t.Context(), encryptedNode, command)
	if err != nil || replies[0].Err != nil {
		t.Fatalf("%v, %v", err, replies)
	}
	return replies[0].Text
}

// What passed the operator's checks may still not suit a server. Then the old certificate stays, and after the time
// that a kubelet may take, the fault is said.
func TestFilesThatAServerRefusesLeaveItTheOldOnes(t *testing.T) {
	for _, version := range valkeytest.Versions {
		t.Run(version, func(t *testing.T) {
			ca := valkeytest.NewAuthority(t, "ca")
			first, second := ca.Secret(t, soonEnough(), serverNames), ca.Secret(t, soonEnough(), serverNames)
			e := encrypt(t, version, first)
			e.run(t, e.load(t))
			e.offer(t, second)
			mismatching := e.copied(t).Data
			mismatching["tls.key"] = first["tls.key"]
			e.volume.Refresh(t, mismatching)
			e.run(t, e.load(t))
			e.shows(t, first)
			asked := e.touched(t)
			e.Snapshot.At = e.Snapshot.At.Add(time.Second)
			e.run(t, e.load(t))
			if e.touched(t) != asked {
				t.Error("the kubelet was asked again although it may still be at it")
			}
			e.Snapshot.At = e.Snapshot.At.Add(3 * time.Minute)
			e.fails(t, e.load(t), encryptedNode, `does not take the certificate of Secret "cart-tls"`, "its log says why")
			if e.proved(t, second) || e.touched(t) == asked {
				t.Errorf("proved is %t, touched %s", e.proved(t, second), e.touched(t))
			}
			e.volume.Refresh(t, e.copied(t).Data)
			e.run(t, e.load(t))
			if !e.proved(t, second) {
				t.Error("the right files were not loaded")
			}
			e.shows(t, second)
		})
	}
}

func TestLoadCertificateWaitsForTheRevisionItWasDecidedOn(t *testing.T) {
	first := valkeytest.NewAuthority(t, "ca").Secret(t, soonEnough(), serverNames)
	e := encrypt(t, "9.1", first)
	a := e.load(t)
	a.Revision = strings.Repeat("0", 64)
	before := e.writes.count
	e.run(t, a)
	if e.writes.count != before {
		t.Error("something was written")
	}
}
