package copies

import (
	"testing"

	"valkey.gomomento.com/operator/engine"
)

func TestAFailoverIsSeenWhole(t *testing.T) {
	promoted := answer{server: &engine.Server{ID: "a", Role: engine.Primary}, stream: stream{id: "new", followed: "old", offset: 120, joint: 100}}
	replica := func(of string, linked bool) *engine.Server {
		return &engine.Server{ID: "b", Role: engine.Replica, PrimaryID: of, LinkUp: linked}
	}
	for name, c := range map[string]struct {
		answer
		late   bool
		linked bool
	}{
		"it has all and is about to link":           {answer{server: replica("a", false), stream: stream{id: "old", offset: 100}}, false, true},
		"it has all and never links":                {answer{server: replica("a", false), stream: stream{id: "old", offset: 100}}, true, false},
		"it was behind":                             {answer{server: replica("a", false), stream: stream{id: "old", offset: 99}}, false, false},
		"it answered before, linked to the old one": {answer{server: replica("c", true), stream: stream{id: "old", offset: 99}}, false, true},
		"it answered before, as the old one":        {answer{server: &engine.Server{ID: "b", Role: engine.Primary}, stream: stream{id: "old", offset: 99}}, false, true},
		"it was linked between two questions":       {answer{server: replica("a", false), stream: stream{id: "new", offset: 101, linked: true}}, false, true},
		"it was linked, and is not any more":        {answer{server: replica("a", false), stream: stream{id: "new", offset: 101}}, false, false},
		"it is of another shard":                    {answer{server: replica("d", true), stream: stream{id: "other", offset: 500}}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			counts := 0
			for _, s := range whole(map[string]answer{"a": promoted, "b": c.answer}, func(string) bool { return !c.late }) {
				if s.Role == engine.Replica && s.PrimaryID == "a" && s.LinkUp {
					counts++
				}
			}
			if (counts == 1) != c.linked {
				t.Errorf("counted %d times", counts)
			}
		})
	}
}

func TestTheStreamIsReadFromINFO(t *testing.T) {
	primary := streamOf("# Replication\r\nrole:master\r\nmaster_replid:a\r\nmaster_replid2:b\r\nmaster_repl_offset:7\r\nsecond_repl_offset:6\r\n")
	if want := (stream{id: "a", followed: "b", offset: 7, joint: 5}); primary != want {
		t.Errorf("%+v, want %+v", primary, want)
	}
	never := streamOf("role:slave\r\nmaster_link_status:up\r\nmaster_replid:a\r\nmaster_replid2:0\r\nslave_repl_offset:3\r\nmaster_repl_offset:3\r\nsecond_repl_offset:-1\r\n")
	if never.joint >= 0 || never.offset != 3 || !never.linked {
		t.Errorf("%+v", never)
	}
}
