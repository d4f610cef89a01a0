package actions_test

import (
	"testing"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/engine"
)

func forgetting(id string) actions.Action {
	return &actions.ForgetMembers{Departed: []engine.Oblivion{{ID: id, By: []string{"a", "b"}}}}
}

// survivors are two primaries that remember id-x by the given line.
func survivors(t *testing.T, x string) *world {
	t.Helper()
	w := newWorld(t, cluster())
	for _, n := range []string{"a", "b"} {
		w.servers[n] = fresh("id-" + n)
		w.servers[n].lines = append(w.servers[n].lines, x)
		w.Snapshot.Nodes = append(w.Snapshot.Nodes, engine.Node{
			Name: n, LastID: "id-" + n, Pod: &engine.Pod{IP: "10.0.0.1", Phase: "Running"},
		})
	}
	return w
}

func TestForgetMembers(t *testing.T) {
	gone := line("id-x", "master,fail", "-", 1, "disconnected", "0-5460")
	both := []string{"a: CLUSTER FORGET id-x", "b: CLUSTER FORGET id-x"}
	c := engine.Node{Name: "c", LastID: "id-x", Pod: &engine.Pod{IP: "10.0.0.3", Phase: "Running"}}
	cases := map[string]struct {
		line   string
		change func(*world)
		told   []string
	}{
		"a member that is gone is forgotten by all": {line: gone, told: both},
		"one server has forgotten it already": {
			line:   gone,
			change: func(w *world) { w.servers["a"].refuses = map[string]string{"CLUSTER FORGET": "ERR Unknown node id-x"} },
			told:   both,
		},
		"one server is connected to it": {
			line: gone,
			change: func(w *world) {
				w.servers["b"].lines[1] = line("id-x", "master", "-", 1, "connected", "0-5460")
			},
		},
		"the links to its address are opened for ever": {
			line: line("id-x", "slave,fail", "id-a", 1, "connected"), told: both,
		},
		"one server only suspects it": {
			line: line("id-x", "slave,fail?", "id-a", 1, "connected"),
		},
		"a replica of it may yet be elected": {
			line: gone,
			change: func(w *world) {
				w.servers["a"].lines = append(w.servers["a"].lines, line("id-r", "slave", "id-x", 1, "connected"))
			},
			told: nil,
		},
		"its replica is dead too": {
			line: gone,
			change: func(w *world) {
				w.servers["a"].lines = append(w.servers["a"].lines, line("id-r", "slave,fail", "id-x", 1, "disconnected"))
			},
			told: both,
		},
		"a server of ours bears the id": {
			line: gone,
			change: func(w *world) {
				w.Snapshot.Nodes = append(w.Snapshot.Nodes, c)
				w.servers["c"] = fresh("id-x")
			},
		},
		"a server that does not answer bore the id": {
			line:   gone,
			change: func(w *world) { w.Snapshot.Nodes = append(w.Snapshot.Nodes, c) },
		},
		"the Pod of the server that bore the id has ended": {
			line: gone,
			change: func(w *world) {
				dead := c
				dead.Pod = &engine.Pod{IP: "10.0.0.3", Phase: "Failed"}
				w.Snapshot.Nodes = append(w.Snapshot.Nodes, dead)
			},
			told: both,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := survivors(t, c.line)
			if c.change != nil {
				c.change(w)
			}
			w.run(t, forgetting("id-x"))
			same(t, "told", w.servers.told(), c.told)
		})
	}
}

func TestForgetMembersSaysWhatIsRefused(t *testing.T) {
	w := survivors(t, line("id-x", "master,fail", "-", 1, "disconnected"))
	w.servers["b"].refuses = map[string]string{"CLUSTER FORGET": "ERR Can't forget my master!"}
	w.fails(t, forgetting("id-x"), "b: CLUSTER FORGET: ERR Can't forget my master!")
}

func TestForgetMembersAsksAllBeforeItTellsOne(t *testing.T) {
	w := survivors(t, line("id-x", "master,fail", "-", 1, "disconnected"))
	w.servers["b"].down = true
	w.fails(t, forgetting("id-x"), "b: connection refused")
	same(t, "told", w.servers.told(), nil)
}
