package report_test

import (
	"testing"

	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/operator/report"
)

func TestANodeIsReadyWhenItsServerKnowsAllAndIsInSync(t *testing.T) {
	for name, c := range map[string]struct {
		change func(primary, replica *engine.Node)
		want   string
	}{
		"both":                          {func(_, _ *engine.Node) {}, "2/2"},
		"one does not answer":           {func(p, _ *engine.Node) { p.Server = nil }, "1/2"},
		"one loads":                     {func(p, _ *engine.Node) { p.Server.Loading = true }, "1/2"},
		"the replica is not in sync":    {func(_, r *engine.Node) { r.Server.LinkUp = false }, "1/2"},
		"a primary has no link to one":  {func(p, _ *engine.Node) { p.Server.LinkUp = false }, "2/2"},
		"one does not know the other":   {func(p, _ *engine.Node) { p.Server.Peers = p.Server.Peers[:1] }, "1/2"},
		"one only shakes hands":         {func(_, r *engine.Node) { r.Server.Peers[0].Handshake = true }, "1/2"},
		"the bus link of one is broken": {func(_, r *engine.Node) { r.Server.Peers[0].Linked = false }, "1/2"},
		"one joins and is not known yet": {func(p, r *engine.Node) {
			r.Lifecycle, p.Server.Peers, r.Server.Peers = engine.Joining, p.Server.Peers[:1], r.Server.Peers[1:]
		}, "1/2"},
		"both join and do not know each other": {func(p, r *engine.Node) {
			p.Lifecycle, r.Lifecycle = engine.Joining, engine.Joining
			p.Server.Peers, r.Server.Peers = p.Server.Peers[:1], r.Server.Peers[1:]
		}, "0/2"},
		"one is being deleted": {func(_, r *engine.Node) { r.Deleting = true }, "1/2"},
		"one leaves":           {func(_, r *engine.Node) { r.Lifecycle = engine.Leaving }, "1/2"},
	} {
		t.Run(name, func(t *testing.T) {
			pass := whole()
			c.change(&pass.Snapshot.Nodes[0], &pass.Snapshot.Nodes[1])
			if got := report.Status(pass).Ready; got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
