package controller

import (
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"valkey.gomomento.com/operator/engine"
)

// rollouts paces the fleet: so many clusters roll at once, and one whose new servers do not come up holds back the others
// that would roll for the same reason.
//
// What it keeps comes from the passes themselves. An operator that starts lets no roll begin before it has looked at every
// cluster once, so that it cannot forget one that is under way.
type rollouts struct {
	limit int

	mu      sync.Mutex
	seen    map[types.NamespacedName]bool
	rolling map[types.NamespacedName]rollout
}

// A rollout is one cluster that rolls or is about to.
type rollout struct {
	// stalled is why its new servers do not come up, "" when nothing is wrong.
	stalled string
	menu    []reference
}

func newRollouts(limit int) *rollouts {
	return &rollouts{
		limit: max(limit, 1),
		seen:  map[types.NamespacedName]bool{}, rolling: map[types.NamespacedName]rollout{},
	}
}

// note records what a pass found of the cluster's roll. A place that was taken for a roll is kept until there is nothing
// left to roll.
func (r *rollouts) note(key types.NamespacedName, f engine.RollingFacts, menu []reference) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen[key] = true
	_, placed := r.rolling[key]
	switch {
	case len(f.Outdated) == 0:
		delete(r.rolling, key)
	case f.Begun || placed:
		r.rolling[key] = rollout{stalled: f.Stalled, menu: menu}
	}
}

// enter takes a place for a roll that has not begun. It returns why there is none, "" when the roll may begin; fleet are
// all clusters there are.
func (r *rollouts) enter(key types.NamespacedName, menu []reference, fleet []types.NamespacedName) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, other := range fleet {
		if other != key && !r.seen[other] {
			return "the operator has just started, and is still looking which other clusters are being rolled"
		}
	}
	for _, other := range sortedKeys(r.rolling) {
		if one := r.rolling[other]; other != key && one.stalled != "" && shared(one.menu, menu) {
			return fmt.Sprintf("the roll of %s does not come up (%s)", other, one.stalled)
		}
	}
	if _, placed := r.rolling[key]; placed {
		return ""
	}
	if len(r.rolling) >= r.limit {
		return fmt.Sprintf("%d other clusters are being rolled, as many as may at once (maxConcurrentRollouts)", len(r.rolling))
	}
	r.rolling[key] = rollout{menu: menu}
	return ""
}

func (r *rollouts) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.rolling, key)
	delete(r.seen, key)
}

// shared says that two clusters are made from a common config or image, so that what stalls one will stall the other.
func shared(a, b []reference) bool {
	return slices.ContainsFunc(a, func(ref reference) bool {
		return (ref.kind == configKind || ref.kind == imageKind) && slices.Contains(b, ref)
	})
}

func sortedKeys(m map[types.NamespacedName]rollout) []types.NamespacedName {
	keys := make([]types.NamespacedName, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, compareKeys)
	return keys
}
