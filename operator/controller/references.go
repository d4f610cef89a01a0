package controller

import (
	"cmp"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// A reference names one object that a cluster's specs lead to, whether it exists or not. The menu has no namespace.
type reference struct {
	kind      string
	namespace string
	name      string
}

// The kinds of references.
const (
	configKind = "ValkeyConfig"
	imageKind  = "ValkeyImage"
	roleKind   = "ValkeyRole"
	secretKind = "Secret"
)

// references keeps which cluster depends on what, and so whom an edit has to wake. It is derived from the specs with
// every pass and holds nothing that they do not; an operator that starts fills it with its first pass over each cluster.
//
// Invariant: a reference is noted BEFORE its object is read. An edit that comes between the reading and the noting would
// otherwise wake nobody, and the cluster would run on with what it read.
type references struct {
	mu    sync.Mutex
	of    map[types.NamespacedName]map[reference]bool
	users map[reference]map[types.NamespacedName]bool
	// settled is what of held after the last whole look at a cluster's specs.
	settled map[types.NamespacedName][]reference
}

func newReferences() *references {
	return &references{
		of:    map[types.NamespacedName]map[reference]bool{},
		users: map[reference]map[types.NamespacedName]bool{},

		settled: map[types.NamespacedName][]reference{},
	}
}

// note adds one reference of a cluster.
func (r *references) note(cluster types.NamespacedName, ref reference) {
	r.mu.Lock()
	defer r.mu.Unlock()
	put(r.of, cluster, ref)
	put(r.users, ref, cluster)
}

// settle makes refs all that the cluster depends on, and returns what was added or dropped since the last time, sorted.
func (r *references) settle(cluster types.NamespacedName, refs []reference) []reference {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ref := range r.of[cluster] {
		if !slices.Contains(refs, ref) {
			drop(r.users, ref, cluster)
			drop(r.of, cluster, ref)
		}
	}
	changed := difference(r.settled[cluster], refs)
	r.settled[cluster] = refs
	return changed
}

// forget drops a cluster that is gone and returns what it depended on.
func (r *references) forget(cluster types.NamespacedName) []reference {
	changed := r.settle(cluster, nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.settled, cluster)
	return changed
}

// all is what a cluster depended on at the last whole look at its specs.
func (r *references) all(cluster types.NamespacedName) []reference {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.settled[cluster]
}

// clusters are those that depend on an object, sorted.
func (r *references) clusters(ref reference) []types.NamespacedName {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]types.NamespacedName, 0, len(r.users[ref]))
	for cluster := range r.users[ref] {
		all = append(all, cluster)
	}
	slices.SortFunc(all, compareKeys)
	return all
}

func put[K, V comparable](m map[K]map[V]bool, key K, value V) {
	if m[key] == nil {
		m[key] = map[V]bool{}
	}
	m[key][value] = true
}

func drop[K, V comparable](m map[K]map[V]bool, key K, value V) {
	delete(m[key], value)
	if len(m[key]) == 0 {
		delete(m, key)
	}
}

// difference is what only one of the two holds, sorted.
func difference(a, b []reference) []reference {
	var only []reference
	for _, ref := range a {
		if !slices.Contains(b, ref) {
			only = append(only, ref)
		}
	}
	for _, ref := range b {
		if !slices.Contains(a, ref) {
			only = append(only, ref)
		}
	}
	slices.SortFunc(only, compareReferences)
	return slices.Compact(only)
}

func compareReferences(a, b reference) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
}

func compareKeys(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
