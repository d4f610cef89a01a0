package actions_test

import (
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/topology"
	"valkey.gomomento.com/operator/operator/valkey"
	"valkey.gomomento.com/operator/operator/valkey/valkeytest"
)

// patience bounds each wait for servers; on an idle machine they take half a second.
const patience = 30 * time.Second

// A formation is a cluster of real servers, called "a", "b", ….
type formation struct {
	*world
	names   []string
	ids     map[string]string
	servers map[string]*valkeytest.Server
	targets map[string]valkey.Target
	pool    *valkey.Pool
	// data speaks as a user who may touch keys.
	data actions.Valkey
	// crashes says that replicas of this version must not be told ACL LOAD.
	crashes bool
	access  valkey.Access
	// alone are the servers that are to be nobody's replicas, although of the second half.
	alone []string
}

var access = valkey.Access{Password: valkeytest.Password}

func newFormation(t *testing.T, version string, n int, directives ...string) *formation {
	t.Helper()
	f := &formation{
		world: newWorld(t, cluster()), pool: &valkey.Pool{}, crashes: version == "8.0", access: access,
		ids: map[string]string{}, servers: map[string]*valkeytest.Server{}, targets: map[string]valkey.Target{},
	}
	t.Cleanup(f.pool.Close)
	for i := range n {
		name := string(rune('a' + i))
		f.names = append(f.names, name)
		f.servers[name] = valkeytest.Start(t, version, append(directives, "--cluster-allow-replica-migration", "no")...)
		f.targets[name] = valkey.Target{
			Cluster: types.NamespacedName{Namespace: "shop", Name: "cart"}, PodUID: name, Address: f.servers[name].Address(),
		}
	}
	f.connect()
	return f
}

// connect is for a change of the targets or the access.
func (f *formation) connect() {
	servers := f.pool.Servers(f.targets, f.access)
	f.Valkey, f.data, f.Carrier = servers, servers, servers.Carrier(valkeytest.Password)
}

// identify finds out who the servers are.
func (f *formation) identify(t *testing.T) {
	t.Helper()
	for _, name := range f.names {
		f.ids[name] = f.ask(t, name).ID
	}
}

// secure makes the operator speak TLS.
func (f *formation) secure(roots *x509.CertPool) {
	f.access.TLS, f.access.RootCAs = true, roots
	for name, to := range f.targets {
		to.Hostname = serverName
		f.targets[name] = to
	}
	f.connect()
}

// ask is what one server says; the first dials may find it busy starting.
func (f *formation) ask(t *testing.T, name string) *engine.Server {
	t.Helper()
	var last error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		s, err := f.pool.Ask(t.Context(), f.targets[name], f.access, []string{"cluster-node-timeout"})
		if err == nil {
			return s
		}
		last = err
	}
	t.Fatalf("%s: %v", name, last)
	return nil
}

// await waits until every named server is as it should be.
func (f *formation) await(t *testing.T, what string, names []string, holds func(name string, s *engine.Server) bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		all := true
		for _, name := range names {
			all = all && holds(name, f.ask(t, name))
		}
		if all {
			return
		}
	}
	t.Fatalf("never: %s", what)
}

// prepare, introduce and attach are the steps of a bootstrap; the first half
// of the servers become primaries.
func (f *formation) prepare() *actions.PrepareServers {
	shards := len(f.names) / 2
	a := &actions.PrepareServers{}
	for i, name := range f.names {
		p := engine.Preparation{
			Node: name, ID: f.ids[name], Epoch: int64(i + 1), Settings: map[string]string{"cluster-node-timeout": "500"},
		}
		if i < shards {
			p.Slots = []engine.SlotRange{{From: i * topology.SlotCount / shards, To: (i+1)*topology.SlotCount/shards - 1}}
		}
		a.Preparations = append(a.Preparations, p)
	}
	return a
}

func (f *formation) introduce() *actions.IntroduceServers {
	a := &actions.IntroduceServers{}
	for i, name := range f.names {
		intro := engine.Introduction{Node: name, ID: f.ids[name]}
		for _, other := range f.names[i+1:] {
			intro.Meets = append(intro.Meets, engine.Acquaintance{Node: other, ID: f.ids[other], IP: f.servers[other].IP})
		}
		a.Introductions = append(a.Introductions, intro)
	}
	return a
}

func (f *formation) attach() *actions.AttachReplicas {
	shards := len(f.names) / 2
	a := &actions.AttachReplicas{}
	for i, name := range f.names[shards:] {
		if slices.Contains(f.alone, name) {
			continue
		}
		a.Attachments = append(a.Attachments, engine.Attachment{Node: name, ID: f.ids[name], PrimaryID: f.ids[f.names[i]]})
	}
	return a
}

func (f *formation) knowsAll(_ string, s *engine.Server) bool {
	slots := 0
	for _, p := range s.Peers {
		if p.Handshake || !p.Linked {
			return false
		}
		slots += topology.Count(p.Slots)
	}
	return len(s.Peers) == len(f.names) && slots == topology.SlotCount
}

// logged counts the lines of all servers' logs with the words.
func (f *formation) logged(t *testing.T, words string) int {
	t.Helper()
	n := 0
	for _, s := range f.servers {
		text, err := os.ReadFile(filepath.Join(s.Dir, "log"))
		if err != nil {
			t.Fatal(err)
		}
		n += strings.Count(string(text), words)
	}
	return n
}

// run executes the action, again if a server was not reached: the machine may be busy.
func (f *formation) run(t *testing.T, a actions.Action) {
	t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err = a.Execute(t.Context(), f.Env); err == nil {
			return
		}
		if valkey.Silence(err) != valkey.SilenceTimeout {
			break
		}
	}
	t.Fatalf("%T: %v", a, err)
}

// twice runs an action, and runs it again as after a kill.
func (f *formation) twice(t *testing.T, a actions.Action) {
	t.Helper()
	f.run(t, a)
	f.run(t, a)
}

func TestBootstrapOfRealServers(t *testing.T) {
	for _, version := range valkeytest.Versions {
		t.Run(version, func(t *testing.T) {
			f := newFormation(t, version, 6)
			f.identify(t)
			started := time.Now()
			f.twice(t, f.prepare())
			f.twice(t, f.introduce())
			f.await(t, "all know all", f.names, f.knowsAll)
			f.twice(t, f.attach())
			f.await(t, "replicas in sync, state ok", f.names, func(name string, s *engine.Server) bool {
				return s.ClusterOK && (s.Role == engine.Primary) == (name <= "c") && (s.Role == engine.Primary || s.LinkUp)
			})
			t.Logf("formed in %v", time.Since(started))
			for _, trap := range []string{"configEpoch collision", "rejecting"} {
				if n := f.logged(t, trap); n > 0 {
					t.Errorf("%d times %q in the logs", n, trap)
				}
			}
			f.settle(t)
			f.loadUsers(t)
			f.lose(t)
		})
	}
}

// settle gives the servers their final node timeout.
func (f *formation) settle(t *testing.T) {
	t.Helper()
	a := &actions.SetSettings{}
	for _, name := range f.names {
		a.Changes = append(a.Changes, engine.SettingChange{Node: name, Settings: map[string]string{
			"cluster-node-timeout": "2000", "maxmemory": "64mb", "notify-keyspace-events": "KEA", "save": "",
			"client-output-buffer-limit": "replica 256mb 64mb 60", "appendonly": "no",
		}})
	}
	f.twice(t, a)
	f.await(t, "the node timeout is set", f.names, func(_ string, s *engine.Server) bool {
		return s.Settings["cluster-node-timeout"] == "2000"
	})
	f.fails(t, &actions.SetSettings{Changes: []engine.SettingChange{
		{Node: "b", Settings: map[string]string{"maxmemory": "much", "save": "900 1"}},
	}}, "maxmemory, save: refused by b: ", "CONFIG SET failed")
}

// loadUsers loads the file that is there, and touches a Pod whose server has
// older users than the wanted ones.
func (f *formation) loadUsers(t *testing.T) {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(f.servers["a"].Dir, "users.acl"))
	if err != nil {
		t.Fatal(err)
	}
	f.Desired.ACLFile = string(file)
	f.run(t, &actions.ApplyObjects{Objects: []string{"ConfigMap/cart-acl"}})
	if err := f.Kube.Create(t.Context(), pod(t, node(f.Cluster, "a"))); err != nil {
		t.Fatal(err)
	}
	for _, revision := range []string{valkeytest.Revision, strings.Repeat("0", 64)} {
		f.Desired.ACLRevision = revision
		f.twice(t, &actions.LoadACL{Nodes: f.names})
		p := &corev1.Pod{}
		f.get(t, "a", p)
		touched, late := p.Annotations[objects.RevisionAnnotation] == revision, revision != valkeytest.Revision
		if touched != (late && !f.crashes) {
			t.Errorf("with revision %s the annotations are %v", revision, p.Annotations)
		}
	}
	f.await(t, "the users are as the file has them", f.names, func(_ string, s *engine.Server) bool {
		return s.Revision == valkeytest.Revision
	})
}

// lose kills a replica: it is forgotten, while one that lives is not.
func (f *formation) lose(t *testing.T) {
	t.Helper()
	survivors := f.names[:5]
	for _, name := range survivors {
		f.Snapshot.Nodes = append(f.Snapshot.Nodes, engine.Node{
			Name: name, LastID: f.ids[name], Pod: &engine.Pod{IP: f.servers[name].IP, Phase: "Running"},
		})
	}
	living := &actions.ForgetMembers{Departed: []engine.Oblivion{{ID: f.ids["e"], By: []string{"a", "b", "c", "d"}}}}
	unnoticed := &actions.ForgetMembers{Departed: []engine.Oblivion{{ID: f.ids["f"], By: survivors}}}
	f.run(t, living)
	f.run(t, unnoticed)
	f.servers["f"].Kill()
	f.await(t, "the links to f are down", survivors, func(_ string, s *engine.Server) bool {
		p := s.Peer(f.ids["f"])
		return p != nil && !p.Linked
	})
	f.twice(t, unnoticed)
	f.await(t, "f is forgotten, and nobody else", survivors, func(_ string, s *engine.Server) bool {
		return len(s.Peers) == 5 && s.Peer(f.ids["f"]) == nil
	})
	f.strangers(t)
}

// strangers checks that plans made for other servers are not carried out.
func (f *formation) strangers(t *testing.T) {
	t.Helper()
	before := fmt.Sprint(f.ask(t, "a").CurrentEpoch)
	prepare, introduce := f.prepare(), f.introduce()
	prepare.Preparations, introduce.Introductions = prepare.Preparations[:1], introduce.Introductions[:1]
	prepare.Preparations[0].ID, prepare.Preparations[0].Epoch = "another", 99
	introduce.Introductions[0].ID, introduce.Introductions[0].Meets = "another", introduce.Introductions[0].Meets[:2]
	f.run(t, prepare)
	f.run(t, introduce)
	if after := fmt.Sprint(f.ask(t, "a").CurrentEpoch); after != before {
		t.Errorf("epoch went from %s to %s", before, after)
	}
}
