package actions_test

import (
	"testing"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/operator/valkey/valkeytest"
)

func TestReturnReplicas(t *testing.T) {
	me := line("id-a", "myself,slave", "id-q", 4, "connected")
	own, other := line("id-p", "master", "-", 1, "connected", "0-5460"), line("id-q", "master", "-", 2, "connected", "5461-16383")
	cases := map[string]struct {
		lines []string
		id    string
		told  []string
	}{
		"a replica of another shard is sent back":     {lines: []string{me, own, other}, told: []string{"a: CLUSTER REPLICATE id-p"}},
		"another server answers":                      {lines: []string{me, own, other}, id: "id-x"},
		"it has been sent back already":               {lines: []string{line("id-a", "myself,slave", "id-p", 4, "connected"), own, other}},
		"it has become a primary":                     {lines: []string{line("id-a", "myself,master", "-", 4, "connected"), own, other}},
		"what it holds may be the last copy":          {lines: []string{me, own, line("id-q", "master,fail", "-", 2, "disconnected", "5461-16383")}},
		"whom it followed died before it got a slot":  {lines: []string{me, own, line("id-q", "master,fail", "-", 2, "connected")}, told: []string{"a: CLUSTER REPLICATE id-p"}},
		"whom it follows has no slot yet and is well": {lines: []string{me, own, line("id-q", "master", "-", 2, "connected")}, told: []string{"a: CLUSTER REPLICATE id-p"}},
		"its own primary is dead":                     {lines: []string{me, line("id-p", "master,fail", "-", 1, "disconnected", "0-5460"), other}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, cluster())
			w.servers["a"] = &server{id: "id-a", lines: c.lines}
			if c.id != "" {
				w.servers["a"].id = c.id
			}
			w.run(t, &actions.ReturnReplicas{Attachments: []engine.Attachment{{Node: "a", ID: "id-a", PrimaryID: "id-p"}}})
			same(t, "told", w.servers.told(), c.told)
		})
	}
}

func TestReturnReplicasOfRealServers(t *testing.T) {
	for _, version := range valkeytest.Versions {
		t.Run(version, func(t *testing.T) {
			f := form(t, version, 6)
			f.do(t, "d", "CLUSTER", "REPLICATE", f.ids["b"])
			follows := func(primary string) func(string, *engine.Server) bool {
				return func(_ string, s *engine.Server) bool { return s.PrimaryID == f.ids[primary] && s.LinkUp }
			}
			f.await(t, "a replica that somebody has attached to another shard", []string{"d"}, follows("b"))
			f.twice(t, &actions.ReturnReplicas{Attachments: []engine.Attachment{{Node: "d", ID: f.ids["d"], PrimaryID: f.ids["a"]}}})
			f.await(t, "a replica of its own shard", []string{"d"}, follows("a"))
			f.awaitInSync(t)
		})
	}
}
