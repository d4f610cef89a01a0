package controller

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"valkey.gomomento.com/operator/engine"
)

func TestFullSyncsOfAReplicaWithoutALinkAreCounted(t *testing.T) {
	key := types.NamespacedName{Namespace: "shop", Name: "cart"}
	at := func(begun int64, links ...bool) *engine.Snapshot {
		s := &engine.Snapshot{Nodes: []engine.Node{{Name: "p", Server: &engine.Server{ID: "1", Role: engine.Primary, FullSyncs: begun}}}}
		for i, up := range links {
			s.Nodes = append(s.Nodes, engine.Node{
				Name: string(rune('a' + i)), Server: &engine.Server{ID: string(rune('2' + i)), Role: engine.Replica, PrimaryID: "1", LinkUp: up},
			})
		}
		return s
	}
	s := newSyncs()
	for _, step := range []struct {
		what string
		seen *engine.Snapshot
		want map[string]int
	}{
		{"in sync", at(7, true), map[string]int{}},
		{"the first try, as soon as the link is gone", at(7, false), map[string]int{"a": 1}},
		{"three more", at(10, false), map[string]int{"a": 4}},
		{"another replica waits too, and they share what comes", at(12, false, false), map[string]int{"a": 3, "b": 1}},
		{"in sync again, and forgotten", at(14, true, true), map[string]int{}},
		{"begun anew", at(14, false, true), map[string]int{"a": 1}},
		{"the primary was replaced: its count begins anew", at(1, false, true), map[string]int{"a": 1}},
		{"the primary is silent", &engine.Snapshot{Nodes: at(1, false).Nodes[1:]}, map[string]int{}},
	} {
		got := s.count(key, step.seen)
		for _, node := range []string{"a", "b"} {
			if got[node] != step.want[node] {
				t.Errorf("%s: %d tries of %s, want %d", step.what, got[node], node, step.want[node])
			}
		}
	}
	s.count(key, at(1, false))
	if s.forget(key); len(s.watched) > 0 {
		t.Error("a cluster that is gone is remembered")
	}
}
