package vet

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine/derivation"
)

// Kinds of the menu and of what is ordered from it.
const (
	imageKind   = "ValkeyImage"
	configKind  = "ValkeyConfig"
	roleKind    = "ValkeyRole"
	clusterKind = "ValkeyCluster"
)

// A key names an object. The menu has no namespace.
type key struct{ kind, namespace, name string }

func keyOf(m derivation.Manifest) key {
	switch m.Kind {
	case imageKind, configKind, roleKind:
		return key{kind: m.Kind, name: m.Name} // a namespace that is written there means nothing
	default:
		return key{m.Kind, m.Namespace, m.Name}
	}
}

// An inventory is what the files hold.
type inventory struct {
	// manifests are all by their key, faulty ones included.
	manifests map[key]derivation.Manifest
	// The specs are those of manifests that are sound by themselves.
	clusters map[key]v1alpha1.ValkeyClusterSpec
	configs  map[string]v1alpha1.ValkeyConfigSpec
	images   map[string]v1alpha1.ValkeyImageSpec
	roles    map[string]v1alpha1.ValkeyRoleSpec
	// partial is set when there may be more than the files hold, or than could be read of them.
	partial bool
}

func newInventory(partial bool) *inventory {
	return &inventory{
		manifests: map[key]derivation.Manifest{},
		clusters:  map[key]v1alpha1.ValkeyClusterSpec{},
		configs:   map[string]v1alpha1.ValkeyConfigSpec{},
		images:    map[string]v1alpha1.ValkeyImageSpec{},
		roles:     map[string]v1alpha1.ValkeyRoleSpec{},
		partial:   partial,
	}
}

// known says whether a missing spec is no news: its manifest is faulty, which is said already, or may be elsewhere.
func (i *inventory) known(kind, name string) bool {
	_, here := i.manifests[key{kind: kind, name: name}]
	return here || i.partial
}

// add takes a manifest that the schema has found no fault with.
func (i *inventory) add(m derivation.Manifest) error {
	switch m.Kind {
	case clusterKind:
		var o v1alpha1.ValkeyCluster
		return take(m, &o, func() { i.clusters[keyOf(m)] = o.Spec })
	case configKind:
		var o v1alpha1.ValkeyConfig
		return take(m, &o, func() { i.configs[m.Name] = o.Spec })
	case imageKind:
		var o v1alpha1.ValkeyImage
		return take(m, &o, func() { i.images[m.Name] = o.Spec })
	case roleKind:
		var o v1alpha1.ValkeyRole
		return take(m, &o, func() { i.roles[m.Name] = o.Spec })
	default: // a node, which derives to nothing
		return take(m, &v1alpha1.ValkeyNode{}, func() {})
	}
}

func take(m derivation.Manifest, into any, taken func()) error {
	if err := m.Decode(into); err != nil {
		return err
	}
	taken()
	return nil
}

// config looks one up for derivation.Walk.
func (i *inventory) config(name string) (*v1alpha1.ValkeyConfigSpec, bool) {
	spec, found := i.configs[name]
	return &spec, found
}

// undecoded is what the schema leaves to Kubernetes: the metadata.
func undecoded(m derivation.Manifest, err error) derivation.Fault {
	var other *json.UnmarshalTypeError
	if errors.As(err, &other) {
		path := strings.Split(other.Field, ".")
		return derivation.Fault{At: m.At(path...), Field: other.Field, Said: fmt.Sprintf("holds a %s where a %s belongs", other.Value, other.Type)}
	}
	if inner := errors.Unwrap(err); inner != nil {
		err = inner
	}
	return derivation.Fault{At: m.At("metadata"), Field: "metadata", Said: strings.TrimPrefix(err.Error(), "json: ")}
}
