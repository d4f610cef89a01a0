package engine

import (
	"maps"
	"testing"
)

// settingsOf compares a member that records have, and whose server is of the version, with settings that are wanted.
func settingsOf(version string, have, want map[string]string) *comparison {
	n := Node{Name: "a", Lifecycle: Active, Pod: &Pod{Phase: "Running"}, Spec: NodeSpec{Settings: have}}
	if version != "" {
		n.Server = &Server{ID: "id", Version: version, Settings: maps.Clone(have)}
	}
	live := map[string]Span{"hz": {Since: 702}, "io-threads": {Since: 901}, "dynamic-hz": {Since: 702, Until: 801}}
	return compare(
		&Snapshot{Cluster: Cluster{State: "Active"}, Nodes: []Node{n}},
		&Desired{Topology: Topology{Shards: 1}, Version: "9.1.0", Live: live, Node: NodeSpec{Settings: want}},
	)
}

func TestSettingsThatNeedANewNode(t *testing.T) {
	type m = map[string]string
	cases := map[string]struct {
		version    string
		have, want m
		outdated   bool
	}{
		"nothing differs":                           {"9.1.2", m{"dir": "/a"}, m{"dir": "/a"}, false},
		"a live value differs":                      {"9.1.2", m{"hz": "10"}, m{"hz": "20"}, false},
		"a live directive is new":                   {"9.1.2", m{}, m{"hz": "20"}, false},
		"a live directive is wanted no more":        {"9.1.2", m{"hz": "10"}, m{}, true},
		"another value differs":                     {"9.1.2", m{"dir": "/a"}, m{"dir": "/b"}, true},
		"another directive is new":                  {"9.1.2", m{}, m{"dir": "/b"}, true},
		"both kinds differ":                         {"9.1.2", m{"hz": "10", "dir": "/a"}, m{"hz": "20", "dir": "/b"}, true},
		"the server is too old to take it":          {"8.1.1", m{"io-threads": "1"}, m{"io-threads": "4"}, true},
		"the server is new enough":                  {"9.1.2", m{"io-threads": "1"}, m{"io-threads": "4"}, false},
		"the server knows it no more":               {"9.1.2", m{}, m{"dynamic-hz": "no"}, true},
		"a silent server is what its image is said": {"", m{"io-threads": "1"}, m{"io-threads": "4"}, false},
	}
	for name, c := range cases {
		k := settingsOf(c.version, c.have, c.want)
		if got := k.settingsOutdate(&k.seen.Nodes[0]); got != c.outdated {
			t.Errorf("%s: outdated %v", name, got)
		}
	}
}

func TestANodeThatHasNotJoinedIsOutdatedByAnySetting(t *testing.T) {
	k := settingsOf("9.1.2", map[string]string{"hz": "10"}, map[string]string{"hz": "20"})
	n := &k.seen.Nodes[0]
	n.Lifecycle, n.Server.Peers = Joining, []Peer{{ID: "id", Myself: true}}
	if !k.settingsOutdate(n) {
		t.Error("it is kept")
	}
}

func TestSettingsThatNobodyMayAskForAreNotSet(t *testing.T) {
	k := settingsOf("9.1.2", map[string]string{"hz": "10"}, map[string]string{"hz": "20"})
	k.seen.Nodes[0].Server.Settings = nil
	var f Facts
	k.settings(&f)
	if len(f.Members.Untold)+len(f.Members.Drifted)+len(f.Nodes.Unrecorded) > 0 {
		t.Errorf("%+v", f)
	}
}

func TestSpans(t *testing.T) {
	for version, want := range map[string]bool{
		"7.1.9": false, "7.2.0": true, "8.0.9": true, "8.1.0": false, "9.0.0": false, "": false, "8": false, "a.b.c": false, "8.x": false,
	} {
		if got := (Span{Since: 702, Until: 801}).Holds(version); got != want {
			t.Errorf("%q: %v", version, got)
		}
	}
}
