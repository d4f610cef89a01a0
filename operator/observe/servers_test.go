package observe_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1 "k8s.io/api/core/v1"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/operator/observe"
	"valkey.gomomento.com/operator/operator/valkey"
	"valkey.gomomento.com/operator/operator/valkey/valkeytest"
)

// patience is how long a test waits for what must come; it comes in milliseconds on an idle machine.
const patience = 20 * time.Second

// newSecret is the cluster's Secret with the password that the servers of valkeytest know.
func newSecret(cluster *v1alpha1.ValkeyCluster) *corev1.Secret {
	s := objects.AuthSecret(cluster)
	s.Data[objects.OperatorPasswordKey] = []byte(valkeytest.Password)
	return s
}

// until observes until the Observation is as wanted.
func until(t *testing.T, o *observe.Observer, what string, holds func(observe.Observation) bool) observe.Observation {
	t.Helper()
	var seen observe.Observation
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var err error
		if seen, err = o.Observe(context.Background(), key); err != nil {
			t.Fatal(err)
		}
		if holds(seen) {
			return seen
		}
	}
	for _, n := range seen.Snapshot.Nodes {
		t.Logf("%s: silence %q, server %+v", n.Name, n.Silence, n.Server)
	}
	t.Fatalf("not so in time: %s", what)
	return seen
}

func TestServersAreAskedAndSilenceIsSaid(t *testing.T) {
	for _, version := range valkeytest.Versions {
		t.Run(version, func(t *testing.T) {
			cluster := newCluster()
			held := []client.Object{cluster, newHost(), newSecret(cluster)}
			alive, dead := valkeytest.Start(t, version), valkeytest.Start(t, version)
			dead.Kill()
			hole := blackHole(t)
			for name, ip := range map[string]string{"c-00001": alive.IP, "c-00002": dead.IP, "c-00003": hole, "c-00004": "", "c-00005": alive.IP} {
				n, config, pod := newNode(t, cluster, name, ip)
				if name == "c-00005" {
					pod.Status.Phase = corev1.PodFailed
				}
				held = append(held, n, config, pod)
			}
			o := newObserver(t, newKube(t, held...))
			seen := until(t, o, "one answers, each other is silent in its way", func(seen observe.Observation) bool {
				n := seen.Snapshot.Nodes
				return n[0].Server != nil && n[1].Silence == valkey.SilenceRefused && n[2].Silence == valkey.SilenceTimeout && n[3].Silence+n[4].Silence == ""
			})
			s := seen.Snapshot.Nodes[0].Server
			if !described(s, version) {
				t.Errorf("%+v", s)
			}
			replies, err := seen.Servers.Do(context.Background(), "c-00001", []string{"CLUSTER", "MYID"})
			if err != nil || replies[0].Text != s.ID {
				t.Errorf("%v, %v", replies, err)
			}
		})
	}
}

// described says that all that is asked of a server is known.
func described(s *engine.Server, version string) bool {
	return strings.HasPrefix(s.Version, version+".") && s.Role == engine.Primary && s.Settings["save"] != "" &&
		s.Settings["hz"] == "10" && s.Revision == valkeytest.Revision
}

// blackHole is an address that takes connections and never says a word.
func blackHole(t *testing.T) string {
	t.Helper()
	for i := range 200 {
		ip := fmt.Sprintf("127.77.%d.%d", os.Getpid()%256, i+1)
		l, err := net.Listen("tcp", net.JoinHostPort(ip, "6379"))
		if err != nil {
			continue
		}
		t.Cleanup(func() {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
		return ip
	}
	t.Fatal("no address to listen on")
	return ""
}

func TestAPassOverBlackHolesIsNearlyAsFastAsOneWithout(t *testing.T) {
	cluster := newCluster()
	held := []client.Object{cluster, newSecret(cluster)}
	for i := range 10 {
		n, config, pod := newNode(t, cluster, fmt.Sprintf("c-0000%d", i), blackHole(t))
		held = append(held, n, config, pod)
	}
	o := newObserver(t, newKube(t, held...))
	passes, began := 0, time.Now()
	for ; time.Since(began) < 3*time.Second; passes++ {
		if _, err := o.Observe(context.Background(), key); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	// Each second and a half has one pass of 200 ms; a pass that waited for each hole in turn would take 2 s.
	if passes < 30 {
		t.Errorf("%d passes in 3 s", passes)
	}
}

func TestTLSIsSpokenAndVerified(t *testing.T) {
	ca := newAuthority(t, nil, "ca", time.Now().AddDate(1, 0, 0))
	template := leaf()
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().AddDate(0, 3, 0)
	data := secretOf(t, ca, template)
	dir := t.TempDir()
	for name, content := range data {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := valkeytest.Start(t, "9.1", "--port", "0", "--tls-port", "6379", "--tls-auth-clients", "no",
		"--tls-cert-file", filepath.Join(dir, "tls.crt"), "--tls-key-file", filepath.Join(dir, "tls.key"), "--tls-ca-cert-file", filepath.Join(dir, "ca.crt"))
	cases := map[string]struct {
		data   map[string][]byte
		domain string
		want   string
	}{
		"the certificate's authority": {data, "cluster.local", ""},
		"another authority":           {secretOf(t, newAuthority(t, nil, "other", template.NotAfter), template), "cluster.local", "certificate signed by unknown authority"},
		"a name it does not hold":     {data, "corp.local", "certificate is valid for"},
		"no Secret to verify it with": {nil, "cluster.local", "certificate signed by unknown authority"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster()
			cluster.Spec.TLS = &v1alpha1.TLS{SecretRef: "s"}
			n, config, pod := newNode(t, cluster, "c-00001", s.IP)
			held := []client.Object{cluster, newSecret(cluster), n, config, pod}
			if c.data != nil {
				secret := &corev1.Secret{Data: c.data}
				secret.Namespace, secret.Name = "ns", "s"
				held = append(held, secret)
			}
			o := newObserver(t, newKube(t, held...))
			o.ClusterDomain, o.Now = c.domain, time.Now
			until(t, o, c.want, func(seen observe.Observation) bool {
				n := seen.Snapshot.Nodes[0]
				return (n.Server != nil) == (c.want == "") && strings.Contains(n.Silence, c.want)
			})
		})
	}
}
