package actions_test

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/operator/valkey/valkeytest"
)

func setting(settings map[string]string) actions.Action {
	return &actions.SetSettings{Changes: []engine.SettingChange{{Node: "a", Settings: settings}}}
}

func TestSetSettings(t *testing.T) {
	w := newWorld(t, cluster())
	w.servers["a"] = fresh("id-a")
	w.servers["a"].says = map[string]string{
		"CONFIG GET cluster-node-timeout maxmemory save": "cluster-node-timeout\n5000\nmaxmemory\n100663296\nsave\n",
	}
	set := setting(map[string]string{"maxmemory": "96mb", "save": "", "cluster-node-timeout": "5000"})
	if says, want := set.String(), "cluster-node-timeout, maxmemory, save on a"; says != want {
		t.Errorf("it says %q, want %q", says, want)
	}
	w.run(t, set)
	same(t, "told", w.servers.told(), []string{"a: CONFIG SET cluster-node-timeout 5000 maxmemory 96mb save "})
}

func TestSetSettingsNamesNodeAndDirective(t *testing.T) {
	cases := map[string]struct {
		says    string
		refuses string
		down    bool
		want    []string
	}{
		"a directive that is unknown": {want: []string{"a: ", "maxmemori"}},
		"an error reply": {
			refuses: "ERR argument must be a memory value", want: []string{"maxmemori: refused by a: ERR argument must be a memory value"},
		},
		"a server that is away":        {down: true, want: []string{"set maxmemori: a: connection refused"}},
		"a reply that is not one pair": {says: "maxmemori", want: []string{"a: CONFIG GET gave 1 lines"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, cluster())
			w.servers["a"] = fresh("id-a")
			w.servers["a"].says, w.servers["a"].down = map[string]string{"CONFIG GET maxmemori": c.says}, c.down
			if c.refuses != "" {
				w.servers["a"].refuses = map[string]string{"CONFIG SET": c.refuses}
			}
			w.fails(t, setting(map[string]string{"maxmemori": "7"}), c.want...)
		})
	}
}

func TestWhatSeveralServersRefuseIsSaidOnce(t *testing.T) {
	w := newWorld(t, cluster())
	a := &actions.SetSettings{}
	for _, name := range []string{"c", "b", "a"} {
		w.servers[name] = fresh("id-" + name)
		w.servers[name].refuses = map[string]string{"CONFIG SET": "ERR no"}
		a.Changes = append(a.Changes, engine.SettingChange{Node: name, Settings: map[string]string{"hz": "x"}})
	}
	w.servers["b"].down = true
	err := a.Execute(t.Context(), w.Env)
	if want := "set hz: b: connection refused\nhz: refused by a, c: ERR no"; err == nil || err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

func TestSettingsOfARealServer(t *testing.T) {
	for _, version := range valkeytest.Versions {
		t.Run(version, func(t *testing.T) {
			f := newFormation(t, version, 1)
			if err := f.Kube.Create(t.Context(), node(f.Cluster, "a")); err != nil {
				t.Fatal(err)
			}
			first := map[string]string{
				"maxmemory": "64mb", "notify-keyspace-events": "KEA", "hz": "1000", "client-output-buffer-limit": "pubsub 64mb 16mb 90",
			}
			f.twice(t, setting(first))
			f.lives(t, map[string]string{
				"maxmemory": "67108864", "notify-keyspace-events": "AKE", "hz": "500",
				"client-output-buffer-limit": "normal 0 0 0 slave 268435456 67108864 60 pubsub 67108864 16777216 90",
			})
			f.noted(t, map[string]v1alpha1.Spelling{"hz": {Written: "1000", Read: "500"}})

			f.twice(t, setting(map[string]string{"client-output-buffer-limit": "replica 1gb 1gb 0"}))
			f.lives(t, map[string]string{
				"client-output-buffer-limit": "normal 0 0 0 slave 1073741824 1073741824 0 pubsub 33554432 8388608 60",
			})

			f.fails(t, setting(map[string]string{"hz": "20", "maxmemory-policy": "no-such-policy"}),
				"hz, maxmemory-policy: refused by a: CONFIG SET failed (possibly related to argument 'maxmemory-policy')", "allkeys-lru")
			f.lives(t, map[string]string{"hz": "500", "maxmemory-policy": "noeviction"})
		})
	}
}

// lives wants these values of the server.
func (f *formation) lives(t *testing.T, want map[string]string) {
	t.Helper()
	var names []string
	for name := range maps.Keys(want) {
		names = append(names, name)
	}
	s, err := f.pool.Ask(t.Context(), f.targets["a"], access, names)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range want {
		if s.Settings[name] != value {
			t.Errorf("%s is %q, want %q", name, s.Settings[name], value)
		}
	}
}

// noted wants these spellings on the node.
func (f *formation) noted(t *testing.T, want map[string]v1alpha1.Spelling) {
	t.Helper()
	n := &v1alpha1.ValkeyNode{}
	if !f.get(t, "a", n) || !maps.Equal(n.Status.Spellings, want) {
		t.Errorf("noted are %v, want %v", n.Status.Spellings, want)
	}
}

func TestRecordSettings(t *testing.T) {
	c := cluster()
	of := func(settings map[string]string) func(*v1alpha1.ValkeyNode) {
		return func(n *v1alpha1.ValkeyNode) { n.Spec.ValkeySettings = settings }
	}
	older := node(c, "cart-00001", of(map[string]string{"maxmemory": "1mb"}))
	other := node(c, "cart-00002", of(map[string]string{"maxmemory": "1mb", "io-threads": "4"}))
	w := newWorld(t, c, older, other, node(c, "cart-00003", func(n *v1alpha1.ValkeyNode) { n.OwnerReferences[0].UID = "another" }))
	a := &actions.RecordSettings{}
	for _, name := range []string{"cart-00001", "cart-00002", "cart-00003", "cart-gone"} {
		a.Changes = append(a.Changes, engine.SettingChange{Node: name, Settings: map[string]string{"maxmemory": "96mb"}})
	}
	w.run(t, a)
	for name, want := range map[string]struct {
		settings map[string]string
		conf     string
	}{
		"cart-00001": {map[string]string{"maxmemory": "96mb"}, "maxmemory \"96mb\"\n"},
		"cart-00002": {map[string]string{"maxmemory": "96mb", "io-threads": "4"}, "map[io-threads:4 maxmemory:96mb]"},
	} {
		n, config := &v1alpha1.ValkeyNode{}, &corev1.ConfigMap{}
		if !w.get(t, name, n) || !maps.Equal(n.Spec.ValkeySettings, want.settings) {
			t.Errorf("%s records %v, want %v", name, n.Spec.ValkeySettings, want.settings)
		}
		if !w.get(t, name+"-config", config) || config.Data["valkey.conf"] != want.conf {
			t.Errorf("the configuration of %s is %q, want %q", name, config.Data["valkey.conf"], want.conf)
		}
	}
	w.changesNothing(t, a)
}
