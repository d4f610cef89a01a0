package copies

import (
	"testing"

	"valkey.gomomento.com/operator/engine"
)

func TestARelinkingReplicaCountsWhenItHasAllThatWasWritten(t *testing.T) {
	promoted := stream{id: "new", followed: "old", offset: 120, joint: 100}
	for name, c := range map[string]struct {
		of     stream
		linked bool
	}{
		"it has all":                   {stream{id: "old", offset: 100}, true},
		"it was a little behind":       {stream{id: "old", offset: 99}, false},
		"it was of another primary":    {stream{id: "other", offset: 500}, false},
		"it follows the new one's own": {stream{id: "new", offset: 120}, false},
	} {
		t.Run(name, func(t *testing.T) {
			heard := map[string]answer{
				"a": {server: &engine.Server{ID: "a", Role: engine.Primary}, stream: promoted},
				"b": {server: &engine.Server{ID: "b", Role: engine.Replica, PrimaryID: "a"}, stream: c.of},
			}
			for _, s := range whole(heard) {
				if s.ID == "b" && s.LinkUp != c.linked {
					t.Errorf("counts as linked: %t", s.LinkUp)
				}
			}
		})
	}
}

func TestTheStreamIsReadFromINFO(t *testing.T) {
	primary := streamOf("# Replication\r\nrole:master\r\nmaster_replid:a\r\nmaster_replid2:b\r\nmaster_repl_offset:7\r\nsecond_repl_offset:6\r\n")
	if want := (stream{id: "a", followed: "b", offset: 7, joint: 5}); primary != want {
		t.Errorf("%+v, want %+v", primary, want)
	}
	never := streamOf("role:slave\r\nmaster_replid:a\r\nmaster_replid2:0\r\nslave_repl_offset:3\r\nmaster_repl_offset:3\r\nsecond_repl_offset:-1\r\n")
	if never.joint >= 0 || never.offset != 3 {
		t.Errorf("%+v", never)
	}
}
