package actions_test

import (
	"testing"
	"time"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/engine"
)

// form starts servers and makes a cluster of them: the first half are primaries,
// each with one replica from the other half, but for those that are to be alone:
// they hold nothing. It is known to the Snapshot.
func form(t *testing.T, version string, n int, alone ...string) *formation {
	t.Helper()
	f := newFormation(t, version, n)
	f.alone = alone
	f.form(t)
	return f
}

// form makes a cluster of servers that have just begun.
func (f *formation) form(t *testing.T) {
	t.Helper()
	f.identify(t)
	f.run(t, f.prepare())
	f.run(t, f.introduce())
	f.await(t, "all know all", f.names, f.knowsAll)
	f.run(t, f.attach())
	f.awaitInSync(t)
	f.set(t, "cluster-node-timeout", "5000")
	for _, name := range f.names {
		f.Snapshot.Nodes = append(f.Snapshot.Nodes, engine.Node{
			Name: name, LastID: f.ids[name], Pod: &engine.Pod{UID: name, IP: f.servers[name].IP, Phase: "Running"},
		})
	}
}

// awaitInSync waits until the cluster is whole and every replica is in sync.
func (f *formation) awaitInSync(t *testing.T) {
	t.Helper()
	f.await(t, "state ok, replicas in sync", f.names, func(name string, s *engine.Server) bool {
		return s.ClusterOK && f.knowsAll(name, s) && (s.Role == engine.Primary || s.LinkUp)
	})
}

// set sets a directive on all servers.
func (f *formation) set(t *testing.T, directive, value string) {
	t.Helper()
	a := &actions.SetSettings{}
	for _, name := range f.names {
		a.Changes = append(a.Changes, engine.SettingChange{Node: name, Settings: map[string]string{directive: value}})
	}
	f.run(t, a)
}

// succession is that of a replica after its primary.
func (f *formation) succession(replica, primary string) engine.Succession {
	return engine.Succession{Node: replica, ID: f.ids[replica], Primary: primary, PrimaryID: f.ids[primary]}
}

// do sends a command to a server and returns its reply.
func (f *formation) do(t *testing.T, name string, command ...string) string {
	t.Helper()
	replies, err := f.Valkey.Do(t.Context(), name, command)
	if err != nil {
		t.Fatal(err)
	}
	if replies[0].Err != nil {
		t.Fatalf("%s: %q: %v", name, command, replies[0].Err)
	}
	return replies[0].Text
}

// until runs an action until something holds: it does nothing while what it
// needs is not there yet. It says how long the last run took.
func (f *formation) until(t *testing.T, a actions.Action, holds func() bool) time.Duration {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		started := time.Now()
		f.run(t, a)
		took := time.Since(started)
		if holds() {
			return took
		}
	}
	t.Fatalf("%T: never", a)
	return 0
}

// isPrimary says that the server is a primary by its own word.
func (f *formation) isPrimary(t *testing.T, name string) bool {
	t.Helper()
	return f.ask(t, name).Role == engine.Primary
}
