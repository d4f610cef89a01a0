package vet

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine/derivation"
)

// review says what a derivation finds, of what counts. from is the manifest that leads to it.
func (c *check) review(in derivation.Input, from derivation.Manifest, counts func(derivation.Finding) bool) error {
	problems, warnings, err := c.Deriver.Review(in)
	if err != nil {
		return err
	}
	for _, p := range problems {
		if counts(p) && !c.excused(in, p) {
			c.report.Remarks = append(c.report.Remarks, c.remark(in, from, p))
		}
	}
	for _, w := range warnings {
		if counts(w) {
			r := c.remark(in, from, w)
			r.Warning = true
			c.report.Remarks = append(c.report.Remarks, r)
		}
	}
	return nil
}

// excused says whether a problem only follows from an object that is faulty or may be elsewhere.
func (c *check) excused(in derivation.Input, p derivation.Finding) bool {
	image := imageRef(in.Chain)
	_, known := c.images[image]
	switch p.Reason {
	case "ConfigNotFound":
		return c.known(configKind, in.Chain.Visited[len(in.Chain.Visited)-1])
	case "ImageNotFound":
		return c.known(imageKind, image)
	case "UnknownCommand": // depends on the image's version
		return !known
	case "RoleNotFound":
		return c.known(roleKind, p.Role)
	default:
		return false
	}
}

func imageRef(chain derivation.Chain) string {
	for _, config := range chain.Configs {
		if config.Spec.ImageRef != "" {
			return config.Spec.ImageRef
		}
	}
	return ""
}

// remark is a finding at its place.
func (c *check) remark(in derivation.Input, from derivation.Manifest, f derivation.Finding) Remark {
	m, path := c.locate(in, from, f)
	r := Remark{At: m.At(path...), Object: title(m), Field: strings.Join(path, "."), Said: f.Message}
	if len(path) > 0 && path[0] == "derived" {
		r.At = m.At("spec", "configRef")
	}
	for _, said := range []string{fmt.Sprintf("%s %q: ", m.Kind, m.Name), r.Field + ": "} {
		r.Said = strings.TrimPrefix(r.Said, said)
	}
	return r
}

func title(m derivation.Manifest) string { return strings.TrimSpace(m.Kind + " " + m.Name) }

// locate is the manifest and the field that a finding is about.
func (c *check) locate(in derivation.Input, from derivation.Manifest, f derivation.Finding) (derivation.Manifest, []string) {
	switch {
	case f.User != "":
		return c.binding(in, from, f)
	case f.Directive != "":
		return c.directive(in, from, f)
	case f.Config != "":
		return c.of(configKind, f.Config), split(f.Field)
	case f.Image != "":
		return c.of(imageKind, f.Image), split(f.Field)
	case f.Role != "":
		return c.of(roleKind, f.Role), []string{"spec"}
	default:
		return from, split(f.Field)
	}
}

func (c *check) of(kind, name string) derivation.Manifest {
	return c.manifests[key{kind: kind, name: name}]
}

func split(field string) []string {
	if field == "" {
		return []string{"spec"}
	}
	return strings.Split(field, ".")
}

// directive is in the config that the finding names, or in the nearest one that sets it.
func (c *check) directive(in derivation.Input, from derivation.Manifest, f derivation.Finding) (derivation.Manifest, []string) {
	for _, config := range in.Chain.Configs {
		for name := range config.Spec.Valkey {
			if strings.EqualFold(name, f.Directive) && (f.Config == "" || f.Config == config.Name && name == f.Directive) {
				return c.of(configKind, config.Name), []string{"spec", "valkey", name}
			}
		}
	}
	return from, []string{"spec"}
}

// binding is the user's in the cluster, the last one of that name, or in the config that supplies the users.
func (c *check) binding(in derivation.Input, from derivation.Manifest, f derivation.Finding) (derivation.Manifest, []string) {
	if path := bindingPath(in.Cluster.ACL, f); path != nil {
		return from, path
	}
	for _, config := range in.Chain.Configs {
		if config.Spec.ACL != nil {
			return c.of(configKind, config.Name), bindingPath(config.Spec.ACL, f)
		}
	}
	return from, []string{"spec"}
}

// bindingPath leads to the user's name or, of a finding about a role, to the permission that refers to it.
func bindingPath(acl []v1alpha1.AclBinding, f derivation.Finding) []string {
	for i, b := range slices.Backward(acl) {
		if b.Username != f.User {
			continue
		}
		if f.Role == "" {
			return []string{"spec", "acl", strconv.Itoa(i), "username"}
		}
		for j, p := range b.Permissions {
			if p.RoleRef == f.Role {
				return []string{"spec", "acl", strconv.Itoa(i), "permissions", strconv.Itoa(j), "roleRef"}
			}
		}
	}
	return nil
}
