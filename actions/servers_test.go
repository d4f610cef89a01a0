package actions_test

import (
	"testing"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/engine"
)

var lowThird = []engine.SlotRange{{From: 0, To: 5460}}

func preparing(p engine.Preparation) actions.Action {
	return &actions.PrepareServers{Preparations: []engine.Preparation{p}}
}

func TestPrepareServers(t *testing.T) {
	plan := engine.Preparation{
		Node: "a", ID: "id-a", Epoch: 1, Slots: lowThird, Settings: map[string]string{"cluster-node-timeout": "500"},
	}
	cases := map[string]struct {
		server *server
		plan   engine.Preparation
		told   []string
	}{
		"a server alone gets settings, epoch and slots, in this order": {
			server: fresh("id-a"), plan: plan,
			told: []string{
				"a: CONFIG SET cluster-node-timeout 500", "a: CLUSTER SET-CONFIG-EPOCH 1", "a: CLUSTER ADDSLOTSRANGE 0 5460",
			},
		},
		"a replica to be gets an epoch and no slots": {
			server: fresh("id-a"), plan: engine.Preparation{Node: "a", ID: "id-a", Epoch: 4},
			told: []string{"a: CLUSTER SET-CONFIG-EPOCH 4"},
		},
		"another server answers": {server: fresh("id-b"), plan: plan},
		"it has become a replica": {
			server: &server{id: "id-a", lines: []string{
				line("id-a", "myself,slave", "id-b", 1, "connected"), line("id-b", "master", "-", 1, "connected", "0-16383"),
			}}, plan: plan,
		},
		"it has met somebody before it got an epoch": {
			server: &server{id: "id-a", lines: []string{
				line("id-a", "myself,master", "-", 0, "connected"), line("id-b", "handshake", "-", 0, "disconnected"),
			}}, plan: plan,
		},
		"somebody else has one of the slots": {
			server: &server{id: "id-a", lines: []string{
				line("id-a", "myself,master", "-", 1, "connected"), line("id-b", "master", "-", 2, "connected", "5460"),
			}}, plan: engine.Preparation{Node: "a", ID: "id-a", Slots: lowThird},
		},
		"what was done before a kill is not done again": {
			server: &server{id: "id-a", lines: []string{line("id-a", "myself,master", "-", 1, "connected", "0-99", "200-5460")}},
			plan:   engine.Preparation{Node: "a", ID: "id-a", Epoch: 1, Slots: lowThird},
			told:   []string{"a: CLUSTER ADDSLOTSRANGE 100 199"},
		},
		"all was done": {
			server: &server{id: "id-a", lines: []string{line("id-a", "myself,master", "-", 1, "connected", "0-5460")}},
			plan:   engine.Preparation{Node: "a", ID: "id-a", Epoch: 1, Slots: lowThird},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, cluster())
			w.servers["a"] = c.server
			w.run(t, preparing(c.plan))
			same(t, "told", w.servers.told(), c.told)
		})
	}
}

func TestPrepareServersSaysWhichServerRefused(t *testing.T) {
	w := newWorld(t, cluster())
	w.servers["a"] = fresh("id-a")
	w.servers["a"].refuses = map[string]string{"CONFIG SET": "ERR no"}
	w.servers["b"] = fresh("id-b")
	w.fails(t, &actions.PrepareServers{Preparations: []engine.Preparation{
		{Node: "a", ID: "id-a", Epoch: 1, Settings: map[string]string{"primaryauth": "secret"}},
		{Node: "b", ID: "id-b", Epoch: 2},
	}}, "a: CONFIG SET: ERR no")
	told := w.servers.told()
	if want := "b: CLUSTER SET-CONFIG-EPOCH 2"; told[len(told)-1] != want {
		t.Errorf("told %q, want %q at the end", told, want)
	}
}

func introductions() *actions.IntroduceServers {
	b, c := engine.Acquaintance{Node: "b", ID: "id-b", IP: "10.0.0.2"}, engine.Acquaintance{Node: "c", ID: "id-c", IP: "fd00::3"}
	return &actions.IntroduceServers{Introductions: []engine.Introduction{
		{Node: "a", ID: "id-a", Meets: []engine.Acquaintance{b, c}},
		{Node: "b", ID: "id-b", Meets: []engine.Acquaintance{c}},
	}}
}

func TestIntroduceServers(t *testing.T) {
	all := []string{"a: CLUSTER MEET 10.0.0.2 6379", "a: CLUSTER MEET fd00::3 6379", "b: CLUSTER MEET fd00::3 6379"}
	cases := map[string]struct {
		change func(servers)
		told   []string
	}{
		"all are who they were": {change: func(servers) {}, told: all},
		"a stranger has the address of one": {
			change: func(s servers) { s["c"].id = "id-of-another-cluster" },
			told:   all[:1],
		},
		"a stranger has the address of one that meets": {
			change: func(s servers) { s["a"].id = "id-of-another-cluster" },
			told:   all[2:],
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, cluster())
			for _, n := range []string{"a", "b", "c"} {
				w.servers[n] = fresh("id-" + n)
			}
			c.change(w.servers)
			w.run(t, introductions())
			same(t, "told", w.servers.told(), c.told)
		})
	}
}

func TestIntroduceServersMeetsWhoeverAnswers(t *testing.T) {
	w := newWorld(t, cluster())
	w.servers["a"], w.servers["b"], w.servers["c"] = fresh("id-a"), fresh("id-b"), fresh("id-c")
	w.servers["c"].down = true
	w.fails(t, introductions(), "c: connection refused")
	same(t, "told", w.servers.told(), []string{"a: CLUSTER MEET 10.0.0.2 6379"})
}

func TestAttachReplicas(t *testing.T) {
	me := line("id-a", "myself,master", "-", 4, "connected")
	primary := line("id-p", "master", "-", 1, "connected", "0-5460")
	cases := map[string]struct {
		lines []string
		id    string
		told  []string
	}{
		"an empty primary is attached":    {lines: []string{me, primary}, told: []string{"a: CLUSTER REPLICATE id-p"}},
		"another server answers":          {lines: []string{me, primary}, id: "id-x"},
		"the primary is unknown":          {lines: []string{me}},
		"the primary is shaking hands":    {lines: []string{me, line("id-p", "handshake", "-", 0, "disconnected")}},
		"the link to the primary is down": {lines: []string{me, line("id-p", "master", "-", 1, "disconnected", "0-5460")}},
		"a shard that is added has an empty primary": {
			lines: []string{me, line("id-p", "master", "-", 1, "connected")}, told: []string{"a: CLUSTER REPLICATE id-p"},
		},
		"the primary has become a replica": {lines: []string{me, line("id-p", "slave", "id-q", 1, "connected")}},
		"it holds slots":                   {lines: []string{line("id-a", "myself,master", "-", 4, "connected", "7"), primary}},
		"it is a replica of that primary":  {lines: []string{line("id-a", "myself,slave", "id-p", 1, "connected"), primary}},
		"it is a replica of another shard": {lines: []string{line("id-a", "myself,slave", "id-q", 1, "connected"), primary}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, cluster())
			w.servers["a"] = &server{id: "id-a", lines: c.lines}
			if c.id != "" {
				w.servers["a"].id = c.id
			}
			w.run(t, attaching())
			same(t, "told", w.servers.told(), c.told)
		})
	}
}

func attaching() actions.Action {
	return &actions.AttachReplicas{Attachments: []engine.Attachment{{Node: "a", ID: "id-a", PrimaryID: "id-p"}}}
}

func TestAttachReplicasKeepsKeys(t *testing.T) {
	w := newWorld(t, cluster())
	w.servers["a"] = &server{id: "id-a", keys: 12, lines: []string{
		line("id-a", "myself,master", "-", 4, "connected"), line("id-p", "master", "-", 1, "connected", "0-5460"),
	}}
	w.fails(t, attaching(), "a holds no slots but 12 keys")
	same(t, "told", w.servers.told(), nil)
}
