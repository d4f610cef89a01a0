package controller

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"valkey.gomomento.com/operator/engine"
)

var (
	a, b, c = fleetKey("a"), fleetKey("b"), fleetKey("c")
	fleet   = []types.NamespacedName{a, b, c}
	old     = []string{"x-1"}
	gold    = []reference{{kind: configKind, name: "gold"}}
	silver  = []reference{{kind: configKind, name: "silver"}, {kind: roleKind, name: "reader"}}
)

func fleetKey(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "shop", Name: name}
}

// lookedAt are rollouts that know every cluster of the fleet, none of which rolls.
func lookedAt(limit int) *rollouts {
	r := newRollouts(limit)
	for _, key := range fleet {
		r.note(key, engine.RollingFacts{}, gold)
	}
	return r
}

func TestNoRollBeginsBeforeEveryClusterWasSeen(t *testing.T) {
	r := newRollouts(10)
	r.note(a, engine.RollingFacts{Outdated: old}, gold)
	r.note(b, engine.RollingFacts{}, gold)
	if why := r.enter(a, gold, fleet); !strings.Contains(why, "just started") {
		t.Errorf("a may begin although c was not seen: %q", why)
	}
	r.note(c, engine.RollingFacts{Outdated: old, Begun: true}, gold)
	if why := r.enter(a, gold, fleet); why != "" {
		t.Errorf("a may not begin: %s", why)
	}
}

func TestSoManyRollAtOnceAndNoMore(t *testing.T) {
	r := lookedAt(2)
	for _, key := range []types.NamespacedName{a, b, a} {
		if why := r.enter(key, gold, fleet); why != "" {
			t.Fatalf("%s may not begin: %s", key, why)
		}
	}
	if why := r.enter(c, gold, fleet); !strings.Contains(why, "2 other clusters") {
		t.Fatalf("a third may begin: %q", why)
	}
	r.note(a, engine.RollingFacts{Outdated: old}, gold) // not begun yet: its place is kept
	if r.enter(c, gold, fleet) == "" {
		t.Fatal("a third may begin while the first keeps its place")
	}
	r.note(a, engine.RollingFacts{}, gold)
	if why := r.enter(c, gold, fleet); why != "" {
		t.Fatalf("c may not begin once a is done: %s", why)
	}
	r.forget(b)
	if why := r.enter(a, gold, []types.NamespacedName{a, c}); why != "" {
		t.Fatalf("a may not begin once b is gone: %s", why)
	}
}

func TestARollThatDoesNotComeUpHoldsBackItsLike(t *testing.T) {
	r := lookedAt(10)
	r.enter(a, gold, fleet)
	r.note(a, engine.RollingFacts{Outdated: old, Begun: true, Stalled: "a-1 (ErrImagePull)"}, gold)
	if why := r.enter(b, gold, fleet); !strings.Contains(why, "shop/a does not come up (a-1 (ErrImagePull))") {
		t.Errorf("b may begin: %q", why)
	}
	if why := r.enter(c, silver, fleet); why != "" {
		t.Errorf("c, of another config, may not begin: %s", why)
	}
	if why := r.enter(a, gold, fleet); why != "" {
		t.Errorf("a holds itself back: %s", why)
	}
}
