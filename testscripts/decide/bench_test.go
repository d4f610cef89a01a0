package decide

import (
	"testing"

	"valkey.gomomento.com/operator/engine"
)

// BenchmarkDecide asks every rule of a healthy cluster of 50 shards of one
// replica, the case in which none holds.
func BenchmarkDecide(b *testing.B) {
	w := formed(b, engine.Topology{Shards: 50, ReplicasPerShard: 1})
	rules := loadRules(b)
	facts := engine.Diff(w.Snapshot, w.desired)
	for b.Loop() {
		if d := engine.Decide(facts, rules); !d.Idle() {
			b.Fatal(d)
		}
	}
}

// BenchmarkDiff computes the facts of the same cluster.
func BenchmarkDiff(b *testing.B) {
	w := formed(b, engine.Topology{Shards: 50, ReplicasPerShard: 1})
	for b.Loop() {
		engine.Diff(w.Snapshot, w.desired)
	}
}

// formed is a cluster on paper that has been brought up by the rules.
func formed(t testing.TB, topology engine.Topology) *world {
	t.Helper()
	b := &bench{rules: loadRules(t), world: newWorld(topology)}
	if err := b.form(); err != nil {
		t.Fatal(err)
	}
	return b.world
}
