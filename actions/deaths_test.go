package actions_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/operator/valkey/valkeytest"
)

// dies lets the servers of the nodes end, as far as the others can see: their
// ports refuse connections, and nobody has a link to them.
func (s *shop) dies(names ...string) {
	for _, name := range names {
		s.servers[name].down = true
		s.allLose("id-" + name)
	}
}

// unlink lets a replica lose its link to its primary.
func (s *shop) unlink(name string) {
	s.inform(name, strings.Replace(wellReplicated, "link_status:up", "link_status:down", 1))
}

// hangs lets a server say nothing more.
func (s *shop) hangs(name string) {
	s.servers[name].down, s.servers[name].silence = true, errors.New("timeout")
}

func TestForceFailover(t *testing.T) {
	order := []string{"d: CLUSTER FAILOVER FORCE"}
	cases := map[string]struct {
		change func(*testing.T, *shop)
		plan   func(*engine.Succession)
		told   []string
	}{
		"its port refuses, and most have lost it": {told: order},
		"its container has ended": {
			change: func(t *testing.T, s *shop) { s.hangs("a"); s.endPod(t, "a"); s.unlink("d") }, told: order,
		},
		"its Pod is gone": {
			change: func(t *testing.T, s *shop) { s.hangs("a"); s.losePod(t, "a"); s.unlink("d") }, told: order,
		},
		"its Pod is gone, and it serves on": {
			change: func(t *testing.T, s *shop) {
				s.hangs("a")
				s.losePod(t, "a")
				s.sees("d", line("id-a", "master", "-", 1, "connected", "0-5460"))
			},
			told: []string{"d: CLUSTER FAILOVER"},
		},
		"its Pod is gone, and the replica doubts that it serves on": {
			change: func(t *testing.T, s *shop) {
				s.hangs("a")
				s.losePod(t, "a")
				s.sees("d", line("id-a", "master,fail?", "-", 1, "connected", "0-5460"))
			},
			told: order,
		},
		"its kubelet saw it end, and the replica has yet to notice": {
			change: func(t *testing.T, s *shop) { s.hangs("a"); s.witnessEnd(t, "a") }, told: order,
		},
		"its node is gone": {
			change: func(_ *testing.T, s *shop) { s.hangs("a"); s.unlink("d") },
			plan:   func(p *engine.Succession) { p.Primary = "" }, told: order,
		},
		"it does not answer":          {change: func(_ *testing.T, s *shop) { s.hangs("a") }},
		"it answers":                  {change: func(_ *testing.T, s *shop) { s.servers["a"].down = false }},
		"a primary has a link to it":  {change: func(_ *testing.T, s *shop) { s.sees("b", line("id-a", "master", "-", 1, "connected", "0-5460")) }},
		"too few primaries are heard": {change: func(t *testing.T, s *shop) { s.servers["b"].down = true; s.endPod(t, "a") }},
		"a primary has no link to the replica": {
			change: func(t *testing.T, s *shop) {
				s.endPod(t, "a")
				s.sees("c", line("id-d", "slave", "id-a", 1, "disconnected"))
			},
		},
		"another has succeeded": {
			change: func(_ *testing.T, s *shop) {
				s.sees("c", line("id-a", "master,fail", "-", 1, "disconnected"))
				s.sees("c", line("id-b", "master", "-", 5, "connected", "0-10922"))
			},
		},
		"a server that came later never heard of its slots": {
			change: func(_ *testing.T, s *shop) { s.sees("c", line("id-a", "master,fail", "-", 1, "disconnected")) },
			told:   order,
		},
		"the replica has succeeded": {
			change: func(_ *testing.T, s *shop) { s.sees("d", line("id-d", "myself,master", "-", 4, "connected", "0-5460")) },
		},
		"another server answers for the replica": {plan: func(p *engine.Succession) { p.ID = "id-x" }},
		"another replica has more of its writes": {change: func(_ *testing.T, s *shop) { s.addReplica("e", "101") }},
		"another replica has as many":            {change: func(_ *testing.T, s *shop) { s.addReplica("e", "100") }, told: order},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, plan := newShop(t, nil), afterA
			s.employ(t, "a", "b", "c", "d")
			s.dies("a")
			if c.change != nil {
				c.change(t, s)
			}
			if c.plan != nil {
				c.plan(&plan)
			}
			s.run(t, &actions.ForceFailover{Succession: plan})
			same(t, "told", s.servers.told(), c.told)
		})
	}
}

// away is an API server that keeps whoever asks it waiting.
type away struct{ client.Reader }

func (away) Get(ctx context.Context, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestForceFailoverWithoutAPIServer: where the network shows the death, nobody waits for the API server. Where it does not,
// its silence is an error, and nothing is done.
func TestForceFailoverWithoutAPIServer(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*shop)
		told   []string
		fails  bool
	}{
		"its port refuses, and most have lost it": {change: func(*shop) {}, told: []string{"d: CLUSTER FAILOVER FORCE"}},
		"it does not answer":                      {change: func(s *shop) { s.hangs("a") }, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, nil)
			s.employ(t, "a", "b", "c", "d")
			s.dies("a")
			c.change(s)
			s.Live = away{s.Live}
			err := (&actions.ForceFailover{Succession: afterA}).Execute(t.Context(), s.Env)
			if (err != nil) != c.fails {
				t.Errorf("error %v, want one: %t", err, c.fails)
			}
			same(t, "told", s.servers.told(), c.told)
		})
	}
}

func TestTakeOver(t *testing.T) {
	hurried := func(nodes ...string) []string {
		var told []string
		for _, n := range nodes {
			told = append(told, n+": CONFIG SET cluster-node-timeout 500")
			if n == "d" {
				told = append(told, "d: CLUSTER FAILOVER TAKEOVER")
			}
			told = append(told, n+": CONFIG SET cluster-node-timeout 5000")
		}
		return told
	}
	cases := map[string]struct {
		change func(*testing.T, *shop)
		plan   func(*engine.Succession)
		told   []string
	}{
		"two of three primaries have ended": {told: hurried("c", "d")},
		"all of them have ended": {
			change: func(t *testing.T, s *shop) { s.dies("c"); s.endPod(t, "c") }, told: []string{"d: CLUSTER FAILOVER TAKEOVER"},
		},
		"the Pod of the old primary is gone": {
			change: func(t *testing.T, s *shop) { s.losePod(t, "a") }, told: hurried("c", "d"),
		},
		"their nodes are gone": {
			change: func(_ *testing.T, s *shop) { s.Snapshot.Nodes = s.Snapshot.Nodes[2:] },
			plan:   func(p *engine.Succession) { p.Primary = "" }, told: hurried("c", "d"),
		},
		"their nodes are gone, and a server that nobody knows is silent": {
			change: func(_ *testing.T, s *shop) {
				s.Snapshot.Nodes = s.Snapshot.Nodes[1:]
				s.Snapshot.Nodes[0].LastID = ""
			},
			plan: func(p *engine.Succession) { p.Primary = "" },
		},
		"the old primary is only silent":   {change: func(t *testing.T, s *shop) { s.runPod(t, "a") }},
		"the other primary is only silent": {change: func(t *testing.T, s *shop) { s.runPod(t, "b") }},
		"the other primary answers": {
			change: func(t *testing.T, s *shop) { s.runPod(t, "b"); s.servers["b"].down = false },
		},
		"the replica reaches a majority": {
			change: func(_ *testing.T, s *shop) { s.sees("d", line("id-b", "master", "-", 2, "connected", "5461-10922")) },
		},
		"the replica doubts that it reaches a majority": {
			change: func(_ *testing.T, s *shop) {
				s.sees("d", line("id-b", "master,fail?", "-", 2, "connected", "5461-10922"))
			},
			told: hurried("c", "d"),
		},
		"somebody has a link to the old primary": {
			change: func(_ *testing.T, s *shop) { s.sees("c", line("id-a", "master", "-", 1, "connected", "0-5460")) },
		},
		"links to both are being opened, and their kubelets saw both end": {
			change: func(t *testing.T, s *shop) {
				for _, name := range []string{"c", "d"} {
					s.sees(name, line("id-a", "master", "-", 1, "connected", "0-5460"))
					s.sees(name, line("id-b", "master", "-", 2, "connected", "5461-10922"))
				}
				s.witnessEnd(t, "a")
				s.witnessEnd(t, "b")
			},
			told: hurried("c", "d"),
		},
		"links to both are being opened, and the other primary is only called ended": {
			change: func(t *testing.T, s *shop) {
				s.sees("d", line("id-b", "master", "-", 2, "connected", "5461-10922"))
				s.witnessEnd(t, "a")
			},
		},
		"another has succeeded": {
			change: func(_ *testing.T, s *shop) {
				s.sees("c", line("id-a", "master,fail", "-", 1, "disconnected"))
				s.sees("c", line("id-b", "master", "-", 5, "connected", "0-10922"))
			},
		},
		"a server that came later never heard of its slots": {
			change: func(_ *testing.T, s *shop) { s.sees("c", line("id-a", "master,fail", "-", 1, "disconnected")) },
			told:   hurried("c", "d"),
		},
		"another replica has more of its writes": {change: func(_ *testing.T, s *shop) { s.addReplica("e", "101") }},
		"another server answers for the replica": {plan: func(p *engine.Succession) { p.ID = "id-x" }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, plan := newShop(t, nil), afterA
			s.employ(t, "a", "b", "c", "d")
			for _, name := range []string{"a", "b"} {
				s.dies(name)
				s.endPod(t, name)
			}
			for _, one := range s.servers {
				one.says["CONFIG GET cluster-node-timeout"] = "cluster-node-timeout\n5000"
				one.says["CLUSTER INFO"] = "cluster_state:ok\r\n"
			}
			if c.change != nil {
				c.change(t, s)
			}
			if c.plan != nil {
				c.plan(&plan)
			}
			s.run(t, &actions.TakeOver{Succession: plan})
			same(t, "told", s.servers.told(), c.told)
		})
	}
}

// addReplica adds a replica of a that has received so many bytes.
func (s *shop) addReplica(name, offset string) {
	text := line("id-"+name, "slave", "id-a", 1, "connected")
	s.servers[name] = &server{id: "id-" + name, lines: append([]string{text}, s.servers["d"].lines...), says: map[string]string{}}
	s.inform(name, strings.Replace(wellReplicated, "offset:100", "offset:"+offset, 1))
	s.Snapshot.Nodes = append(s.Snapshot.Nodes, engine.Node{
		Name: name, LastID: "id-" + name, Pod: &engine.Pod{IP: "10.0.0.1", Phase: "Running"},
	})
}

// losePod takes a Pod away, runPod lets it run again.
func (w *world) losePod(t *testing.T, name string) {
	t.Helper()
	p := &corev1.Pod{}
	w.get(t, name, p)
	if err := w.Kube.Delete(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

// witnessEnd lets the kubelet say that the container has ended.
func (w *world) witnessEnd(t *testing.T, name string) {
	t.Helper()
	p := &corev1.Pod{}
	w.get(t, name, p)
	p.Status.Phase = corev1.PodFailed
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: objects.ContainerName, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137}},
	}}
	if err := w.Kube.Status().Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

func (w *world) runPod(t *testing.T, name string) {
	t.Helper()
	p := &corev1.Pod{}
	w.get(t, name, p)
	p.Status.Phase = corev1.PodRunning
	if err := w.Kube.Status().Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

func TestForceFailoverOfRealServers(t *testing.T) {
	for _, version := range valkeytest.Versions {
		t.Run(version, func(t *testing.T) {
			f := form(t, version, 6)
			f.employ(t, f.names...)
			plan := &actions.ForceFailover{Succession: f.succession("d", "a")}
			f.run(t, plan)
			f.servers["a"].Stop(t)
			f.run(t, plan)
			if f.isPrimary(t, "d") {
				t.Fatal("it has succeeded a primary that lives")
			}
			f.servers["a"].Continue(t)
			f.awaitInSync(t)
			f.servers["a"].Kill()
			killed := time.Now()
			f.until(t, plan, func() bool { return f.isPrimary(t, "d") })
			t.Logf("succeeded %v after the kill", time.Since(killed))
			f.run(t, plan)
		})
	}
}

func TestTakeOverOfRealServers(t *testing.T) {
	for _, version := range valkeytest.Versions {
		t.Run(version, func(t *testing.T) {
			f := form(t, version, 6)
			f.employ(t, f.names...)
			f.set(t, "cluster-require-full-coverage", "no")
			f.set(t, "cluster-node-timeout", "2000")
			plan := &actions.TakeOver{Succession: f.succession("d", "a")}
			f.run(t, plan)
			for _, name := range []string{"a", "b"} {
				f.servers[name].Kill()
			}
			survivors := f.names[2:]
			f.await(t, "the survivors are in the minority", []string{"c", "d"}, func(_ string, s *engine.Server) bool {
				return !s.ClusterOK
			})
			f.run(t, plan)
			f.endPod(t, "a")
			f.run(t, plan)
			if f.isPrimary(t, "d") {
				t.Fatal("it has taken over from primaries that may live")
			}
			f.endPod(t, "b")
			started := time.Now()
			f.until(t, plan, func() bool { return f.isPrimary(t, "d") })
			f.await(t, "the survivors serve", survivors, func(_ string, s *engine.Server) bool { return s.ClusterOK })
			t.Logf("the survivors serve %v after the takeover was begun", time.Since(started))
			f.await(t, "they have their node timeout", survivors, func(_ string, s *engine.Server) bool {
				return s.Settings["cluster-node-timeout"] == "2000"
			})
			f.until(t, &actions.ForceFailover{Succession: f.succession("e", "b")}, func() bool { return f.isPrimary(t, "e") })
		})
	}
}
