package derive

import (
	"slices"
	"strings"
	"testing"

	"valkey.gomomento.com/operator/engine/directive"
)

// clamped are the directives of which a server takes a value and keeps another: for these the operator remembers what
// the server made of it.
var clamped = map[string]bool{"hz": true, "repl-backlog-size": true}

// unsettable are the live directives that take no value but their own here: a host without the right, a server
// without the files.
var unsettable = []string{"max-new-tls-connections-per-cycle"}

// TestSpellings tells servers of every version every live directive in several spellings, and reads it back: the value
// must be known again, and the one before must be known for another.
func TestSpellings(t *testing.T) {
	d := deriver(t)
	for minor, version := range versions {
		t.Run(minor, func(t *testing.T) {
			t.Parallel()
			c := openServer(t, minor)
			tried := 0
			for _, name := range d.Kept() {
				if d.Live(version, name) && !slices.Contains(untried, name) {
					tried += trySpellings(t, c, name)
				}
			}
			t.Logf("%d spellings", tried)
			if tried < 600 {
				t.Errorf("only %d spellings were tried", tried)
			}
		})
	}
}

// trySpellings tells the server values for one directive, and says how many it took.
func trySpellings(t *testing.T, c *conn, name string) int {
	t.Helper()
	first := liveValue(t, c, name)
	tried := 0
	for _, value := range spellings(t, c, name, first) {
		before := liveValue(t, c, name)
		if _, err := c.do("CONFIG", "SET", name, directive.Whole(name, value)); err != nil {
			continue // not a value of this directive, or of this host
		}
		tried++
		after := liveValue(t, c, name)
		if !directive.Same(name, value, after) && !clamped[name] {
			t.Errorf("%s %q reads back %q, which is not known again", name, value, after)
		}
		if before != after && directive.Same(name, value, before) {
			t.Errorf("%s %q reads back %q, and %q passes for it", name, value, after, before)
		}
	}
	if _, err := c.do("CONFIG", "SET", name, first); err != nil {
		t.Errorf("%s: back to %q: %v", name, first, err)
	}
	if tried == 0 && !slices.Contains(unsettable, name) {
		t.Errorf("%s took no value", name)
	}
	return tried
}

func liveValue(t *testing.T, c *conn, name string) string {
	t.Helper()
	reply, err := c.do("CONFIG", "GET", name)
	got, value, both := strings.Cut(reply, "\n")
	if err != nil || !both || got != name {
		t.Fatalf("CONFIG GET %s: %q, error %v", name, reply, err)
	}
	return value
}

// written are spellings of directives whose refusal does not list what they take.
var written = map[string][]string{
	"bind":                              {"127.0.0.1 -::1", "* -::*"},
	"client-output-buffer-limit":        {"pubsub 1mb 512kb 60", "Normal 1gb 1 1 replica 2mb 2 2", "slave 3mb 2 2", "normal 0 0 0"},
	"cluster-announce-client-ipv4":      {"10.1.2.3", ""},
	"cluster-announce-client-ipv6":      {"fd00::A", ""},
	"cluster-announce-hostname":         {"Host-1.example", ""},
	"cluster-announce-human-nodename":   {"Node-1", ""},
	"cluster-announce-ip":               {"10.1.2.3", ""},
	"latency-tracking-info-percentiles": {"50.0 99.90", "99.999", ""},
	"locale-collate":                    {"C", "POSIX", ""},
	"notify-keyspace-events":            {"KEA", "Elg", "mxtdeKg$lshz", "AKEmn", "", "KgK", "Kgn"},
	"oom-score-adj-values":              {"0 0100 +200", "0 200 800"},
	"save":                              {"900 1", "900 1 300 10", "0900 1", ""},
	"shutdown-on-sigint":                {"now nosave", "NOSAVE force now", "default"},
	"shutdown-on-sigterm":               {"now nosave", "NOSAVE force now", "failover", "save FAILOVER", "default"},
	"tls-ciphers":                       {"DEFAULT:!MEDIUM", ""},
	"tls-ciphersuites":                  {"TLS_AES_256_GCM_SHA384", ""},
	"tls-protocols":                     {"TLSv1.2 TLSv1.3", "TLSv1.3", ""},
}

// spellings are values to try. Most directives name what they take when they refuse what they do not.
func spellings(t *testing.T, c *conn, name, first string) []string {
	t.Helper()
	if values, special := written[name]; special {
		return values
	}
	_, err := c.do("CONFIG", "SET", name, "zz~zz")
	if err == nil {
		return []string{"some text", "Some Text", "some  text", ""}
	}
	refusal := err.Error()
	_, listed, isList := strings.Cut(refusal, "must be one of the following: ")
	switch {
	case isList:
		values := strings.Split(listed, ", ")
		return append(values, strings.ToUpper(values[0]), strings.ToUpper(values[len(values)-1]))
	case strings.Contains(refusal, "'yes' or 'no'"):
		return []string{"yes", "no", "Yes", "NO"}
	case strings.Contains(refusal, "memory or percent"):
		return []string{"5%", "0", "64mb", "1GB", "100m"}
	case strings.Contains(refusal, "memory value"):
		return []string{"64mb", "1GB", "2g", "123456789", "3000kb", "1073741825b"}
	case strings.Contains(refusal, "integer"):
		return []string{"0", "1", "2", "-1", "-2", "10", "60", "99", "200", "1000", "4096", "100000", "1048576", first}
	}
	t.Errorf("%s is of no kind that is known: %s", name, refusal)
	return nil
}

// TestNothingDriftsFromTheStart starts servers with what was derived, and compares what they read back with it: a server
// that nobody has touched must not be told anything.
func TestNothingDriftsFromTheStart(t *testing.T) {
	for minor, version := range versions {
		t.Run(minor, func(t *testing.T) {
			t.Parallel()
			in := simple(version)
			in.Chain.Configs[0].Spec.Valkey = map[string]string{
				"client-output-buffer-limit": "pubsub 64mb 16mb 90", "hz": "20", "maxmemory": "96mb", "maxmemory-policy": "AllKeys-LRU",
				"notify-keyspace-events": "KEA", "save": "900 1 300 10", "slave-priority": "50", "proc-title-template": "{title}  {config-file}",
				"shutdown-on-sigint": "now nosave", "latency-tracking-info-percentiles": "50.0 99.90", "oom-score-adj-values": "0 0100 200",
			}
			got, _, err := deriver(t).Derive(in)
			if err != nil || got.Problem != "" {
				t.Fatalf("problem %q, error %v", got.Problem, err)
			}
			c := startOpen(t, minor, got)
			compared := 0
			for name, value := range got.Node.Settings {
				// The port is this test's own, since servers share the machine.
				if span, live := got.Live[name]; !live || !span.Holds(version) || name == "port" {
					continue
				}
				compared++
				if live := liveValue(t, c, name); !directive.Same(name, value, live) {
					t.Errorf("%s %q reads back %q", name, value, live)
				}
			}
			if compared < 15 {
				t.Errorf("only %d directives were compared", compared)
			}
		})
	}
}
