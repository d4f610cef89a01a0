package actions_test

import (
	"testing"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/operator/valkey/valkeytest"
)

func TestFailOverOfRealServers(t *testing.T) {
	for _, version := range valkeytest.Versions {
		t.Run(version, func(t *testing.T) {
			f := form(t, version, 6)
			for _, s := range []engine.Succession{f.succession("d", "a"), f.succession("a", "d")} {
				took := f.until(t, &actions.FailOver{Succession: s}, func() bool { return f.isPrimary(t, s.Node) })
				t.Logf("%s succeeded %s in %v", s.Node, s.Primary, took)
				f.await(t, s.Primary+" follows", []string{s.Primary}, func(_ string, server *engine.Server) bool {
					return server.Role == engine.Replica && server.LinkUp
				})
			}
			for what, s := range map[string]engine.Succession{
				"a replica of another shard": f.succession("e", "a"),
				"a primary":                  f.succession("a", "d"),
				"a primary of another shard": f.succession("b", "a"),
			} {
				before := f.ask(t, "c").CurrentEpoch
				f.run(t, &actions.FailOver{Succession: s})
				if after := f.ask(t, "c").CurrentEpoch; after != before || f.isPrimary(t, "e") {
					t.Errorf("%s was told to fail over", what)
				}
			}
			f.servers["a"].Stop(t)
			f.run(t, &actions.FailOver{Succession: f.succession("d", "a")})
			if f.isPrimary(t, "d") {
				t.Error("d succeeded a primary that is not heard")
			}
			f.servers["a"].Continue(t)
		})
	}
}
