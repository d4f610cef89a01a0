package actions_test

import (
	"slices"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
)

// afterA is the succession of d, a replica of a.
var afterA = engine.Succession{Node: "d", ID: "id-d", Primary: "a", PrimaryID: "id-a"}

const (
	wellReplicated = "role:slave\r\nmaster_link_status:up\r\nmaster_sync_in_progress:0\r\nslave_repl_offset:100\r\n"
	wellPrimary    = "role:master\r\npaused_reason:none\r\n"
)

// A shop is three shards: a with the replica d, b and c.
type shop struct {
	*world
	lines map[string]string // CLUSTER NODES by id, as all see it
}

// newShop tells every server's answers from lines; change edits the lines of all.
func newShop(t *testing.T, change func(lines map[string]string)) *shop {
	t.Helper()
	s := &shop{world: newWorld(t, cluster()), lines: map[string]string{
		"id-a": line("id-a", "master", "-", 1, "connected", "0-5460"),
		"id-b": line("id-b", "master", "-", 2, "connected", "5461-10922"),
		"id-c": line("id-c", "master", "-", 3, "connected", "10923-16383"),
		"id-d": line("id-d", "slave", "id-a", 1, "connected"),
	}}
	if change != nil {
		change(s.lines)
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		s.servers[name] = &server{id: "id-" + name, says: map[string]string{"ROLE": "master\n0\n"}}
		s.inform(name, wellPrimary)
		for _, id := range []string{"id-a", "id-b", "id-c", "id-d"} {
			if text := s.lines[id]; text != "" {
				s.servers[name].lines = append(s.servers[name].lines, text)
			}
		}
		s.Snapshot.Nodes = append(s.Snapshot.Nodes, engine.Node{
			Name: name, LastID: "id-" + name, Pod: &engine.Pod{UID: "uid-of-pod-" + name, IP: "10.0.0.1", Phase: "Running"},
		})
	}
	s.inform("d", wellReplicated)
	return s
}

// inform sets what a server says to any INFO that the actions ask for.
func (s *shop) inform(node, info string) {
	for _, question := range []string{"INFO replication clients", "INFO replication", "INFO server"} {
		s.servers[node].says[question] = info
	}
}

// sees replaces a line in one server's view.
func (s *shop) sees(node string, text string) {
	for i, old := range s.servers[node].lines {
		if old[:4] == text[:4] {
			s.servers[node].lines[i] = text
		}
	}
}

func TestFailOver(t *testing.T) {
	cases := map[string]struct {
		lines  func(map[string]string)
		change func(*shop)
		plan   func(*engine.Succession)
		told   []string
	}{
		"all is well": {told: []string{"d: CLUSTER FAILOVER"}},
		"one of three primaries is not heard": {
			change: func(s *shop) { s.servers["b"].down = true }, told: []string{"d: CLUSTER FAILOVER"},
		},
		"clients are paused by an administrator": {
			change: func(s *shop) { s.inform("a", "role:master\r\npaused_reason:client_pause\r\n") },
			told:   []string{"d: CLUSTER FAILOVER"},
		},
		"a release that does not say why clients are paused": {
			change: func(s *shop) { s.inform("a", "role:master\r\n") }, told: []string{"d: CLUSTER FAILOVER"},
		},
		"the replica has all that was written": {
			change: func(s *shop) { s.inform("a", wellPrimary+"master_repl_offset:100\r\n") }, told: []string{"d: CLUSTER FAILOVER"},
		},
		"its stream does not run, though its link is up": {
			change: func(s *shop) { s.inform("a", wellPrimary+"master_repl_offset:101\r\n") },
		},
		"the primary's node is not known":        {plan: func(s *engine.Succession) { s.Primary = "" }},
		"another server answers for the replica": {plan: func(s *engine.Succession) { s.ID = "id-x" }},
		"the replica's server is another node's": {plan: func(s *engine.Succession) { s.Node = "b" }},
		"it follows another primary": {
			lines: func(l map[string]string) { l["id-d"] = line("id-d", "slave", "id-b", 1, "connected") },
		},
		"it is a primary already": {
			lines: func(l map[string]string) { l["id-d"] = line("id-d", "master", "-", 4, "connected") },
		},
		"its link to the primary is down": {
			change: func(s *shop) { s.inform("d", "role:slave\r\nmaster_link_status:down\r\nmaster_sync_in_progress:0\r\n") },
		},
		"it is being synced": {
			change: func(s *shop) { s.inform("d", "role:slave\r\nmaster_link_status:up\r\nmaster_sync_in_progress:1\r\n") },
		},
		"it suspects its primary": {
			change: func(s *shop) { s.sees("d", line("id-a", "master,fail?", "-", 1, "connected", "0-5460")) },
		},
		"the primary is not heard":     {change: func(s *shop) { s.servers["a"].down = true }},
		"the primary has no slots":     {lines: func(l map[string]string) { l["id-a"] = line("id-a", "master", "-", 1, "connected") }},
		"the primary became a replica": {change: func(s *shop) { s.sees("a", line("id-a", "myself,slave", "id-d", 1, "connected")) }},
		"a failover is under way": {
			change: func(s *shop) { s.inform("a", "role:master\r\npaused_reason:failover_in_progress\r\n") },
		},
		"slots are changing hands": {
			change: func(s *shop) { s.inform("a", "role:master\r\npaused_reason:slot_migration_in_progress\r\n") },
		},
		"a voter has no link to the replica": {
			change: func(s *shop) { s.sees("b", line("id-d", "slave", "id-a", 1, "disconnected")) },
		},
		"the replica has no link to a voter": {
			change: func(s *shop) { s.sees("d", line("id-c", "master", "-", 3, "disconnected", "10923-16383")) },
		},
		"too few voters are heard": {
			change: func(s *shop) { s.servers["b"].down, s.servers["c"].down = true, true },
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, plan := newShop(t, c.lines), afterA
			if c.change != nil {
				c.change(s)
			}
			if c.plan != nil {
				c.plan(&plan)
			}
			s.run(t, &actions.FailOver{Succession: plan})
			same(t, "told", s.servers.told(), c.told)
		})
	}
}

// Others go because a new replica is there: it counts once it is sent what its primary writes.
func TestActivateNodesWaitsForTheStream(t *testing.T) {
	for name, c := range map[string]struct {
		written string
		primary string
		want    v1alpha1.Lifecycle
	}{
		"it has all that was written":              {"100", "id-a", v1alpha1.LifecycleActive},
		"nothing comes, though its link is up":     {"101", "id-a", v1alpha1.LifecycleJoining},
		"nobody knows a node of its primary":       {"100", "id-x", v1alpha1.LifecycleJoining},
		"it is a primary, with nobody to wait for": {"101", "", v1alpha1.LifecycleActive},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, nil)
			s.inform("a", wellPrimary+"master_repl_offset:"+c.written+"\r\n")
			for i := range s.Snapshot.Nodes {
				n := &s.Snapshot.Nodes[i]
				n.Server = &engine.Server{ID: n.LastID}
				if n.Name == "d" {
					n.Server.PrimaryID = c.primary
				}
			}
			joining := node(s.Cluster, "d")
			joining.Spec.Lifecycle = v1alpha1.LifecycleJoining
			joining.UID, joining.ResourceVersion = "", ""
			if err := s.Kube.Create(t.Context(), joining); err != nil {
				t.Fatal(err)
			}
			s.run(t, &actions.ActivateNodes{Nodes: []string{"d"}})
			if err := s.Kube.Get(t.Context(), client.ObjectKeyFromObject(joining), joining); err != nil {
				t.Fatal(err)
			}
			if joining.Spec.Lifecycle != c.want {
				t.Errorf("d is %s, want %s", joining.Spec.Lifecycle, c.want)
			}
		})
	}
}

// What others see decides whether a replica may take over. A server that has joined since the primary died sees it without
// slots: nobody tells it what a dead server held.
func TestAReplicaSucceedsInTheEyesOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		sees string
		want bool
	}{
		"a newcomer sees no slots":                      {line("id-a", "master,fail", "-", 1, "disconnected"), true},
		"somebody sees another owner":                   {line("id-c", "myself,master", "-", 4, "connected", "0-5460", "10923-16383"), false},
		"somebody reaches a silent replica":             {line("id-x", "slave", "id-a", 1, "connected"), false},
		"nobody reaches a silent replica":               {line("id-x", "slave,fail?", "id-a", 1, "connected"), true},
		"somebody knows of an owner that is long gone":  {line("id-x", "master,fail?", "-", 0, "disconnected", "0-100"), true},
		"somebody knows of a later owner, out of reach": {line("id-x", "master,fail?", "-", 4, "disconnected", "0-100"), false},
		"somebody reaches an earlier owner":             {line("id-x", "master", "-", 0, "connected", "0-100"), false},
		"somebody sees one slot go astray":              {line("id-c", "myself,master", "-", 4, "connected", "5460", "10923-16383"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, func(l map[string]string) {
				l["id-a"] = line("id-a", "master,fail", "-", 1, "disconnected", "0-5460")
				l["id-b"] = line("id-b", "master,fail", "-", 2, "disconnected", "5461-10922")
			})
			s.servers["a"].down, s.servers["b"].down = true, true
			if c.sees[:4] == "id-x" {
				s.servers["c"].lines = append(s.servers["c"].lines, c.sees)
			}
			s.sees("c", c.sees)
			for _, heard := range []string{"c", "d"} {
				s.servers[heard].says["CONFIG GET cluster-node-timeout"] = "cluster-node-timeout\n5000"
				s.servers[heard].says["CLUSTER INFO"] = "cluster_state:ok"
			}
			s.run(t, &actions.TakeOver{Succession: afterA})
			if got := slices.Contains(s.servers.told(), "d: CLUSTER FAILOVER TAKEOVER"); got != c.want {
				t.Errorf("told %v", s.servers.told())
			}
		})
	}
}

func TestFailOverSaysWhatIsRefused(t *testing.T) {
	s := newShop(t, nil)
	s.servers["d"].refuses = map[string]string{"CLUSTER FAILOVER": "ERR Master is down or failed"}
	s.fails(t, &actions.FailOver{Succession: afterA}, "d: CLUSTER FAILOVER: ERR Master is down")
}

func TestFailOverWaitsNoLongerThanAMoment(t *testing.T) {
	s := newShop(t, nil)
	s.servers["d"].says["ROLE"] = "slave\n10.0.0.1\n6379\nconnected\n100"
	s.run(t, &actions.FailOver{Succession: afterA})
}
