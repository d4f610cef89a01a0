package sim

import (
	"fmt"
	"strconv"
	"strings"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/testscripts/sim/kube"
)

// doEdit changes the specs, each object by itself as people do.
func (w *World) doEdit(args []string) error {
	return w.held(func() error {
		w.judge.edited(args)
		for _, arg := range args {
			name, value, found := strings.Cut(arg, "=")
			if !found {
				return fmt.Errorf("%q has no value", arg)
			}
			if err := w.edit(name, value); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *World) edit(name, value string) error {
	switch name {
	case "shards", "replicas", "paused", "passwords", "annotation", "reads":
		spec := w.cluster().DeepCopy()
		err := editCluster(spec, name, value)
		w.api.Put(spec)
		return err
	case "tag":
		image := kube.Get[v1alpha1.ValkeyImage](w.api, "", imageName).DeepCopy()
		image.Spec.Tag, image.Spec.Version = value, value
		w.api.Put(image)
	default:
		config := kube.Get[v1alpha1.ValkeyConfig](w.api, "", configName).DeepCopy()
		switch {
		case name == "memory":
			config.Spec.Resources.Memory = value
		case value == "-":
			delete(config.Spec.Valkey, name)
		default:
			config.Spec.Valkey[name] = value
		}
		w.api.Put(config)
	}
	return nil
}

// editCluster changes what a product team may change.
func editCluster(c *v1alpha1.ValkeyCluster, name, value string) error {
	switch name {
	case "shards", "replicas":
		n, err := strconv.ParseInt(value, 10, 32)
		if name == "shards" {
			c.Spec.Shards = int32(n)
		} else {
			c.Spec.ReplicasPerShard = int32(n)
		}
		return err
	case "paused":
		c.Spec.Paused = value == "true"
	case "passwords":
		c.Annotations = map[string]string{objects.RotationAnnotation: value}
	case "annotation":
		c.Spec.PodAnnotations = map[string]string{"team": value}
	case "reads":
		c.Spec.ACL = []v1alpha1.AclBinding{{
			Username: "shop", PasswordHashes: []string{strings.Repeat("5a", 32)},
			Permissions: []v1alpha1.Permission{{RoleRef: value, Keys: []v1alpha1.KeyPattern{{Pattern: "*"}}}},
		}}
	}
	return nil
}
