package valkey

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"valkey.gomomento.com/operator/engine"
)

// captured are the releases whose real replies are in testdata: of a primary and its replica, and of one among a minority.
var captured = []string{"9.1", "8.1", "8.0"}

func replyText(t testing.TB, version, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", version, name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRealRepliesToInfoAreRead(t *testing.T) {
	const limit = 100 << 20
	want := map[string]map[string]engine.Server{
		"9.1": {
			"info-primary": {Version: "9.1.2", Offset: 270, Keys: 3, MaxMemory: limit, FullSyncs: 1},
			"info-replica": {Version: "9.1.2", Offset: 270, Keys: 3, MaxMemory: limit, LinkUp: true},
		},
		"8.1": {
			"info-primary": {Version: "8.1.1", Offset: 256, Keys: 3, MaxMemory: limit, FullSyncs: 1},
			"info-replica": {Version: "8.1.1", Offset: 256, Keys: 3, MaxMemory: limit, LinkUp: true},
		},
		"8.0": {
			"info-primary": {Version: "8.0.1", Offset: 256, Keys: 3, MaxMemory: limit, FullSyncs: 1},
			"info-replica": {Version: "8.0.1", Offset: 256, Keys: 3, MaxMemory: limit, LinkUp: true},
		},
	}
	for version, replies := range want {
		for name, server := range replies {
			var got engine.Server
			if err := parseInfo(replyText(t, version, name), &got); err != nil {
				t.Errorf("%s %s: %v", version, name, err)
				continue
			}
			if diff := cmp.Diff(server, got, cmpopts.IgnoreFields(engine.Server{}, "UsedMemory", "Uptime")); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", version, name, diff)
			}
			if got.UsedMemory == 0 || got.Uptime == 0 {
				t.Errorf("%s %s: %d bytes used, up for %s", version, name, got.UsedMemory, got.Uptime)
			}
		}
	}
}

// The least that INFO holds in every case below.
const leastInfo = "uptime_in_seconds:1\r\nused_memory:2\r\nmaxmemory:0\r\nmaster_repl_offset:3\r\nslave_repl_offset:4\r\nsync_full:0\r\n"

func TestWhatInfoSaysOfReplicationAndLoading(t *testing.T) {
	cases := map[string]struct {
		info            string
		linkUp, loading bool
		offset, keys    int64
		version         string
	}{
		"a primary": {
			info:   "loading:0\r\nrole:master\r\nvalkey_version:9.1.2\r\n",
			offset: 3, version: "9.1.2",
		},
		"a replica in sync": {
			info:   "loading:0\r\nrole:slave\r\nmaster_link_status:up\r\nmaster_sync_in_progress:0\r\n",
			linkUp: true, offset: 4,
		},
		"a replica whose link stands while a sync runs": {
			info:   "loading:0\r\nrole:slave\r\nmaster_link_status:up\r\nmaster_sync_in_progress:1\r\n",
			offset: 4,
		},
		"a replica whose link is down": {
			info:   "loading:0\r\nrole:slave\r\nmaster_link_status:down\r\nmaster_sync_in_progress:0\r\n",
			offset: 4,
		},
		"a server that loads": {
			info:    "loading:1\r\nrole:master\r\n",
			loading: true, offset: 3,
		},
		"keys in several databases, and what only looks like one": {
			info:   "loading:0\r\nrole:master\r\n# Keyspace\r\ndb0:keys=5,expires=1,avg_ttl=7\r\ndb12:keys=2,expires=0\r\ndbs:3\r\ndb:x\r\n",
			offset: 3, keys: 7,
		},
		"a release that names its version where Redis did": {
			info:   "loading:0\r\nrole:master\r\nredis_version:7.2.4\r\n",
			offset: 3, version: "7.2.4",
		},
	}
	for name, c := range cases {
		var s engine.Server
		if err := parseInfo(leastInfo+c.info, &s); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if s.LinkUp != c.linkUp || s.Loading != c.loading || s.Offset != c.offset || s.Keys != c.keys || s.Version != c.version {
			t.Errorf("%s: read as %+v", name, s)
		}
	}
}

func TestInfoWithoutAFieldIsAnError(t *testing.T) {
	for name, info := range map[string]string{
		"nothing":          "",
		"no loading":       leastInfo + "role:master\r\n",
		"a letter for one": leastInfo + "loading:l\r\nrole:master\r\n",
		"keys of letters":  leastInfo + "loading:0\r\nrole:master\r\ndb0:keys=many,expires=0\r\n",
	} {
		var s engine.Server
		if err := parseInfo(info, &s); err == nil {
			t.Errorf("%s: read as %+v", name, s)
		}
	}
}

func TestRealRepliesToClusterInfoAreRead(t *testing.T) {
	for _, version := range captured {
		for name, ok := range map[string]bool{"clusterinfo-primary": true, "clusterinfo-minority": false} {
			var s engine.Server
			if err := parseClusterInfo(replyText(t, version, name), &s); err != nil {
				t.Errorf("%s %s: %v", version, name, err)
			}
			if s.ClusterOK != ok || s.CurrentEpoch != 4 {
				t.Errorf("%s %s: ok %t, epoch %d", version, name, s.ClusterOK, s.CurrentEpoch)
			}
		}
	}
}

func FuzzInfo(f *testing.F) {
	for _, version := range captured {
		f.Add(replyText(f, version, "info-primary"))
		f.Add(replyText(f, version, "info-replica"))
		f.Add(replyText(f, version, "clusterinfo-primary"))
	}
	f.Fuzz(func(t *testing.T, text string) {
		var s engine.Server
		if err := parseInfo(text, &s); err == nil && s.LinkUp && s.Role == engine.Primary {
			t.Errorf("a primary with a link: %+v", s)
		}
		if err := parseClusterInfo(text, &s); err == nil && s.ClusterOK && parseFields(text)["cluster_state"] != "ok" {
			t.Error("ok without the word")
		}
	})
}
