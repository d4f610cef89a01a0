package actions_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/operator/valkey/valkeytest"
)

func retiring(nodes ...string) *actions.RetireNodes {
	a := &actions.RetireNodes{}
	for _, n := range nodes {
		r := engine.Retirement{Node: n, ID: "id-" + n}
		for _, by := range []string{"a", "b", "c"} {
			if by != n {
				r.By = append(r.By, by)
			}
		}
		a.Retirements = append(a.Retirements, r)
	}
	return a
}

// employ gives the servers their nodes and Pods.
func (w *world) employ(t *testing.T, names ...string) {
	t.Helper()
	if err := w.Kube.Create(t.Context(), machine("machine-1", corev1.ConditionTrue)); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		n := node(w.Cluster, name, func(n *v1alpha1.ValkeyNode) { n.Spec.Lifecycle = v1alpha1.LifecycleActive })
		p := pod(t, n)
		if err := w.Kube.Create(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		if err := w.Kube.Create(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	w.writes.count = 0
}

func TestRetireNodes(t *testing.T) {
	forgotten := []string{"a: CLUSTER FORGET id-d", "b: CLUSTER FORGET id-d", "c: CLUSTER FORGET id-d"}
	cases := map[string]struct {
		change func(*testing.T, *shop)
		told   []string
		stays  bool
	}{
		"a replica of Valkey 8": {told: append(forgotten[:3:3], "d: SHUTDOWN NOSAVE NOW FORCE")},
		"a replica of Valkey 9": {
			change: func(_ *testing.T, s *shop) { s.inform("d", "valkey_version:9.0.0\r\n") },
			told:   append(forgotten[:3:3], "d: SHUTDOWN NOSAVE NOW SAFE"),
		},
		"a primary that holds nothing": {
			change: func(_ *testing.T, s *shop) { s.allSee(line("id-d", "master", "-", 1, "connected")) },
			told:   append(forgotten[:3:3], "d: SHUTDOWN NOSAVE NOW FORCE"),
		},
		"one of those that are to forget it is not heard": {
			change: func(_ *testing.T, s *shop) { s.servers["b"].down = true },
			told:   []string{forgotten[0], forgotten[2], "d: SHUTDOWN NOSAVE NOW FORCE"},
		},
		"its users do not let the operator end it": {
			change: func(_ *testing.T, s *shop) {
				s.servers["d"].ends = nil
				s.servers["d"].refuses = map[string]string{"SHUTDOWN NOSAVE": "NOPERM User _momento_operator has no permissions"}
			},
			told: []string{"d: SHUTDOWN NOSAVE NOW FORCE"},
		},
		"it does not answer, and its Pod runs": {change: func(_ *testing.T, s *shop) { s.servers["d"].down = true }},
		"it does not answer, and its container has ended": {
			change: func(t *testing.T, s *shop) { s.servers["d"].down = true; s.allLose("id-d"); s.endPod(t, "d") },
			told:   forgotten,
		},
		"the others do not lose touch with it": {
			change: func(_ *testing.T, s *shop) { s.servers["d"].ends = func() {} }, told: []string{"d: SHUTDOWN NOSAVE NOW FORCE"},
		},
		"it holds slots": {
			change: func(_ *testing.T, s *shop) { s.sees("d", line("id-d", "master", "-", 4, "connected", "0-5460")) }, stays: true,
		},
		"it holds slots by another's word": {
			change: func(_ *testing.T, s *shop) { s.sees("c", line("id-d", "master", "-", 4, "connected", "0-5460")) }, stays: true,
		},
		"somebody is its replica": {
			change: func(_ *testing.T, s *shop) {
				s.allSee(line("id-d", "master", "-", 4, "connected"))
				s.sees("b", line("id-c", "slave", "id-d", 3, "connected"))
			}, stays: true,
		},
		"another server answers": {change: func(_ *testing.T, s *shop) { s.servers["d"].id = "id-x" }, stays: true},
		"neither it nor a majority answers": {
			change: func(_ *testing.T, s *shop) {
				s.servers["b"].down, s.servers["c"].down, s.servers["d"].down = true, true, true
			}, stays: true,
		},
		"its node is gone": {change: func(_ *testing.T, s *shop) { s.Cluster.UID = "uid-of-a-later-one" }, stays: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, nil)
			s.employ(t, "a", "b", "c", "d")
			s.servers["d"].ends = func() { s.allLose("id-d") }
			if c.change != nil {
				c.change(t, s)
			}
			if c.stays {
				s.changesNothing(t, retiring("d"))
				return
			}
			s.run(t, retiring("d"))
			same(t, "told", s.servers.told(), c.told)
			same(t, "pods", s.names(t, &corev1.PodList{}), []string{"a", "b", "c"})
			if grace := s.writes.grace["d"]; grace > 1 {
				t.Errorf("the Pod got %d s", grace)
			}
		})
	}
}

// allSee replaces a line in the views of all.
func (s *shop) allSee(text string) {
	for name := range s.servers {
		s.sees(name, text)
	}
}

// allLose takes away every link to the member.
func (s *shop) allLose(id string) {
	for name, one := range s.servers {
		for i, text := range one.lines {
			if strings.HasPrefix(text, id) {
				s.servers[name].lines[i] = strings.ReplaceAll(text, " connected", " disconnected")
			}
		}
	}
}

// endPod lets the container of the Pod end.
func (w *world) endPod(t *testing.T, name string) {
	t.Helper()
	p := &corev1.Pod{}
	w.get(t, name, p)
	p.Status.Phase = corev1.PodFailed
	if err := w.Kube.Status().Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	w.writes.count = 0
}

// TestRetireNodesMarksTheNodeBeforeItEndsTheServer: a kill between the two must not leave a server that was ended and
// whose node counts as a working member.
func TestRetireNodesMarksTheNodeBeforeItEndsTheServer(t *testing.T) {
	s := newShop(t, nil)
	s.employ(t, "d")
	s.servers["d"].ends = func() {
		n := &v1alpha1.ValkeyNode{}
		if s.get(t, "d", n); n.Spec.Lifecycle != v1alpha1.LifecycleLeaving {
			t.Errorf("the node is %s", n.Spec.Lifecycle)
		}
		s.allLose("id-d")
	}
	s.run(t, retiring("d"))
}

func TestRetireNodesLeavesAWholeShardReplicasFirst(t *testing.T) {
	s := newShop(t, nil)
	s.employ(t, "a", "b", "c", "d")
	s.allSee(line("id-a", "master", "-", 1, "connected"))
	for _, name := range []string{"a", "d"} {
		s.servers[name].ends = func() {
			s.allLose("id-" + name)
			for _, one := range s.servers {
				for i, text := range one.lines {
					if strings.HasPrefix(text, "id-d") {
						one.lines[i] = line("id-d", "slave,fail", "id-a", 1, "disconnected")
					}
				}
			}
		}
	}
	s.run(t, retiring("a", "d"))
	same(t, "pods", s.names(t, &corev1.PodList{}), []string{"b", "c"})
}

func TestRetireNodesOfRealServers(t *testing.T) {
	for _, version := range valkeytest.Versions {
		t.Run(version, func(t *testing.T) {
			f := form(t, version, 6)
			f.employ(t, f.names...)
			f.changesNothing(t, f.retiring("a"))
			left := f.names[:4]
			took := f.until(t, f.retiring("e", "f"), func() bool { return len(f.world.names(t, &corev1.PodList{})) == 4 })
			t.Logf("two replicas retired in %v", took)
			f.await(t, "all have forgotten them", left, func(_ string, s *engine.Server) bool {
				return len(s.Peers) == 4 && s.ClusterOK
			})
			same(t, "pods", f.world.names(t, &corev1.PodList{}), left)
			f.run(t, f.retiring("e", "f"))
			f.refuseShutdown(t)
		})
	}
}

// refuseShutdown takes the right to end it from a replica: its Pod is deleted all the same.
func (f *formation) refuseShutdown(t *testing.T) {
	t.Helper()
	f.do(t, "d", "ACL", "SETUSER", "_momento_operator", "-shutdown")
	f.until(t, f.retiring("d"), func() bool { return !f.get(t, "d", &corev1.Pod{}) })
	if n := f.ask(t, "a"); n.Peer(f.ids["d"]) == nil {
		t.Error("it was forgotten while it lives")
	}
}

func (f *formation) retiring(nodes ...string) *actions.RetireNodes {
	a := &actions.RetireNodes{}
	for _, n := range nodes {
		r := engine.Retirement{Node: n, ID: f.ids[n]}
		for _, by := range f.names {
			if by != n {
				r.By = append(r.By, by)
			}
		}
		a.Retirements = append(a.Retirements, r)
	}
	return a
}
