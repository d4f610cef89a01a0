package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine/derivation"
)

// A menu is what one cluster's specs lead to, as read from the cache.
type menu struct {
	chain  derivation.Chain
	images map[string]v1alpha1.ValkeyImageSpec
	roles  map[string]v1alpha1.ValkeyRoleSpec
	// references are all objects asked for, found or not.
	references []reference
}

// A menuReader reads a menu. It notes each object BEFORE it reads it.
type menuReader struct {
	ctx  context.Context
	kube client.Reader
	note func(reference)

	read menu
	err  error
}

// readMenu follows the cluster's references. note is told of each.
func readMenu(ctx context.Context, kube client.Reader, cluster *v1alpha1.ValkeyCluster, note func(reference)) (menu, error) {
	r := &menuReader{ctx: ctx, kube: kube, note: note, read: menu{
		images: map[string]v1alpha1.ValkeyImageSpec{},
		roles:  map[string]v1alpha1.ValkeyRoleSpec{},
	}}
	r.read.chain = derivation.Walk(cluster.Spec.ConfigRef, r.config)
	r.image()
	r.rolesOf(cluster.Spec.ACL)
	r.rolesOf(nearestACL(r.read.chain))
	if tls := cluster.Spec.TLS; tls != nil {
		r.refer(reference{kind: secretKind, namespace: cluster.Namespace, name: tls.SecretRef})
	}
	return r.read, r.err
}

// nearestACL is the one list of bindings that counts in a chain.
func nearestACL(chain derivation.Chain) []v1alpha1.AclBinding {
	for _, c := range chain.Configs {
		if c.Spec.ACL != nil {
			return c.Spec.ACL
		}
	}
	return nil
}

func (r *menuReader) config(name string) (*v1alpha1.ValkeyConfigSpec, bool) {
	config := &v1alpha1.ValkeyConfig{}
	found := r.get(configKind, name, config)
	return &config.Spec, found
}

// image reads the image that the nearest config names.
func (r *menuReader) image() {
	for _, c := range r.read.chain.Configs {
		if c.Spec.ImageRef == "" {
			continue
		}
		image := &v1alpha1.ValkeyImage{}
		if r.get(imageKind, c.Spec.ImageRef, image) {
			r.read.images[c.Spec.ImageRef] = image.Spec
		}
		return
	}
}

func (r *menuReader) rolesOf(bindings []v1alpha1.AclBinding) {
	for _, b := range bindings {
		for _, p := range b.Permissions {
			r.role(p.RoleRef)
		}
	}
}

func (r *menuReader) role(name string) {
	if _, known := r.read.roles[name]; known {
		return
	}
	role := &v1alpha1.ValkeyRole{}
	if r.get(roleKind, name, role) {
		r.read.roles[name] = role.Spec
	}
}

// get reads an object of the menu and says whether it exists. An error that is not its absence is kept for the end.
func (r *menuReader) get(kind, name string, into client.Object) bool {
	r.refer(reference{kind: kind, name: name})
	err := r.kube.Get(r.ctx, types.NamespacedName{Name: name}, into)
	if err == nil {
		return true
	}
	if client.IgnoreNotFound(err) != nil && r.err == nil {
		r.err = fmt.Errorf("read %s %q: %w", kind, name, err)
	}
	return false
}

func (r *menuReader) refer(ref reference) {
	r.note(ref)
	r.read.references = append(r.read.references, ref)
}
