package vet

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine/derivation"
)

// A Checker checks manifests with the schema and the derivation that it is given.
type Checker struct {
	Schema  *derivation.Schema
	Deriver *derivation.Deriver
	// Defaults are the settings of the operator that will run the clusters.
	Defaults derivation.Defaults
	// Partial says that the manifests may refer to objects that are not in the files.
	Partial bool
}

// A check is one run over some files.
type check struct {
	Checker
	*inventory
	report Report
}

// Check checks all manifests of the files. An error says that the program is broken, not the manifests.
func (c Checker) Check(files []File) (Report, error) {
	run := &check{Checker: c, inventory: newInventory(c.Partial)}
	for _, file := range files {
		run.file(file)
	}
	used := map[string]bool{}
	for _, k := range slices.SortedFunc(maps.Keys(run.clusters), compareKeys) {
		if err := run.cluster(k, used); err != nil {
			return Report{}, err
		}
	}
	if err := run.unused(used); err != nil {
		return Report{}, err
	}
	run.report.Remarks = sorted(run.report.Remarks)
	return run.report, nil
}

func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
}

// file checks each manifest of a file by itself.
func (c *check) file(f File) {
	manifests, broken := c.Schema.Manifests(f.Name, f.Content)
	for _, m := range manifests {
		if m.Ours() {
			c.report.Objects++
			c.manifest(m)
		}
	}
	if broken != nil {
		c.partial = true // nobody knows what it would have held
		c.say(derivation.Manifest{}, *broken)
	}
}

func (c *check) manifest(m derivation.Manifest) {
	faults := c.Schema.Check(m)
	for _, fault := range faults {
		c.say(m, fault)
	}
	if first, twice := c.manifests[keyOf(m)]; twice && m.Name != "" {
		c.say(m, derivation.Fault{At: m.At("metadata", "name"), Field: "metadata.name", Said: fmt.Sprintf("is the name of another one, at %s", first.At("metadata", "name"))})
		return
	}
	c.manifests[keyOf(m)] = m
	if len(faults) > 0 {
		return
	}
	if err := c.add(m); err != nil {
		c.say(m, undecoded(m, err))
	}
}

func (c *check) say(m derivation.Manifest, fault derivation.Fault) {
	c.report.Remarks = append(c.report.Remarks, Remark{At: fault.At, Object: title(m), Field: fault.Field, Said: fault.Said})
}

// cluster checks what a cluster leads to and notes which configs that uses.
func (c *check) cluster(k key, used map[string]bool) error {
	spec := c.clusters[k]
	in := c.input(k, spec)
	note(in.Chain, used)
	return c.review(in, c.manifests[k], func(derivation.Finding) bool { return true })
}

// unused checks the configs that no cluster leads to as if one did: first those that are no other's base, which check
// their bases, then what is left, which goes round in circles.
func (c *check) unused(used map[string]bool) error {
	bases := map[string]bool{}
	for _, spec := range c.configs {
		bases[spec.BaseRef] = true
	}
	names := slices.Sorted(maps.Keys(c.configs))
	slices.SortStableFunc(names, func(a, b string) int { return order(bases[a]) - order(bases[b]) })
	for _, name := range names {
		if used[name] {
			continue
		}
		in := c.input(key{kind: clusterKind, name: name}, v1alpha1.ValkeyClusterSpec{
			ConfigRef: name, Shards: 1, ReplicasPerShard: math.MaxInt32, // enough for any min-replicas-to-write
		})
		note(in.Chain, used)
		if err := c.review(in, c.manifests[key{kind: configKind, name: name}], aboutTheMenu); err != nil {
			return err
		}
	}
	return nil
}

func order(base bool) int {
	if base {
		return 1
	}
	return 0
}

func note(chain derivation.Chain, used map[string]bool) {
	for _, config := range chain.Configs {
		used[config.Name] = true
	}
}

// aboutTheMenu leaves out what depends on the cluster.
func aboutTheMenu(f derivation.Finding) bool {
	return f.Config != "" || f.Image != "" || f.Role != "" || f.Directive != "" || f.User != ""
}

func (c *check) input(k key, spec v1alpha1.ValkeyClusterSpec) derivation.Input {
	return derivation.Input{
		Name: k.name, Namespace: k.namespace, Cluster: spec, Chain: derivation.Walk(spec.ConfigRef, c.config),
		Images: c.images, Roles: c.roles, Operator: c.Defaults,
	}
}
