package directive

import "testing"

func TestSame(t *testing.T) {
	cases := map[string]struct {
		name, written, read string
		want                bool
	}{
		"a size":                               {"maxmemory", "1gb", "1073741824", true},
		"a size of thousands":                  {"maxmemory", "1G", "1000000000", true},
		"another size":                         {"maxmemory", "1gb", "1073741823", false},
		"a word in capitals":                   {"maxmemory-policy", "AllKeys-LRU", "allkeys-lru", true},
		"yes and no":                           {"activedefrag", "yes", "no", false},
		"save points":                          {"save", "900 1 300 10", "900 1 300 10", true},
		"save points in another order":         {"save", "300 10 900 1", "900 1 300 10", false},
		"no save points":                       {"save", "", "900 1", false},
		"percentiles":                          {"latency-tracking-info-percentiles", "50.0 99.90", "50 99.9", true},
		"a part of memory":                     {"maxmemory-clients", "5%", "5%", true},
		"another part of memory":               {"maxmemory-clients", "5%", "6%", false},
		"events in the server's order":         {"notify-keyspace-events", "KEA", "AKE", true},
		"all events, spelt out":                {"notify-keyspace-events", "mxtdeKg$lshz", "AKm", true},
		"events and their capitals":            {"notify-keyspace-events", "Ke", "KE", false},
		"all events, and n, which is not told": {"notify-keyspace-events", "AKEn", "AKE", true},
		"some events, and n":                   {"notify-keyspace-events", "KEn", "KE", false},
		"no events":                            {"notify-keyspace-events", "", "K", false},
		"ways to shut down":                    {"shutdown-on-sigterm", "now NOSAVE", "nosave now", true},
		"other ways to shut down":              {"shutdown-on-sigterm", "now", "nosave now", false},
		"two names of one way":                 {"oom-score-adj", "relative", "yes", true},
		"two ways":                             {"oom-score-adj", "absolute", "yes", false},
		"an older name of a class":             {"client-output-buffer-limit", "replica 1gb 1gb 0", "normal 0 0 0 slave 1073741824 1073741824 0 pubsub 33554432 8388608 60", true},
		"a class that is no longer named":      {"client-output-buffer-limit", "pubsub 32mb 8mb 60", "normal 1 1 1 slave 268435456 67108864 60 pubsub 33554432 8388608 60", false},
		"a class that nobody knows":            {"client-output-buffer-limit", "primary 1 1 1", "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60", false},
		"a text in capitals is another":        {"availability-zone", "Zone-A", "zone-a", false},
		"a title with one space less":          {"proc-title-template", "{title}  {config-file}", "{title} {config-file}", false},
		"a number clamped":                     {"hz", "1000", "500", false},
		"a word that only looks like a number": {"loglevel", "nothing", "notice", false},
	}
	for what, c := range cases {
		if got := Same(c.name, c.written, c.read); got != c.want {
			t.Errorf("%s: %s %q reads %q: %v, want %v", what, c.name, c.written, c.read, got, c.want)
		}
	}
}

func TestWholeNamesEveryClass(t *testing.T) {
	cases := map[string]string{
		"pubsub 64mb 16mb 90":            "normal 0 0 0 replica 256mb 64mb 60 pubsub 64mb 16mb 90",
		"Slave 1gb 1gb 0 normal 1mb 0 0": "normal 1mb 0 0 replica 1gb 1gb 0 pubsub 32mb 8mb 60",
		"pubsub 64mb":                    "pubsub 64mb",
	}
	for value, want := range cases {
		if got := Whole("client-output-buffer-limit", value); got != want {
			t.Errorf("%q became %q, want %q", value, got, want)
		}
	}
	if got := Whole("save", "900 1"); got != "900 1" {
		t.Errorf("save became %q", got)
	}
}

func FuzzSame(f *testing.F) {
	f.Add("client-output-buffer-limit", "pubsub 1 1 1", "normal 0 0 0")
	f.Add("notify-keyspace-events", "A", "K")
	f.Fuzz(func(t *testing.T, name, a, b string) {
		if !Same(name, a, a) {
			t.Errorf("%s: %q is not itself", name, a)
		}
		if Same(name, a, b) != Same(name, b, a) {
			t.Errorf("%s: %q and %q are the same one way round only", name, a, b)
		}
	})
}
