package sim

import (
	"fmt"
	"strconv"
	"strings"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/testscripts/sim/kube"
)

// doEdit changes the specs, each object by itself as people do.
func (w *World) doEdit(args []string) error {
	return w.held(func() error {
		w.judge.edited()
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
	case "shards", "replicas":
		n, err := strconv.ParseInt(value, 10, 32)
		spec := w.cluster().DeepCopy()
		if name == "shards" {
			spec.Spec.Shards = int32(n)
		} else {
			spec.Spec.ReplicasPerShard = int32(n)
		}
		w.api.Put(spec)
		return err
	case "tag":
		image := kube.Get[v1alpha1.ValkeyImage](w.api, "", imageName).DeepCopy()
		image.Spec.Tag, image.Spec.Version = value, value
		w.api.Put(image)
	case "memory":
		config := kube.Get[v1alpha1.ValkeyConfig](w.api, "", configName).DeepCopy()
		config.Spec.Resources.Memory = value
		w.api.Put(config)
	default:
		config := kube.Get[v1alpha1.ValkeyConfig](w.api, "", configName).DeepCopy()
		config.Spec.Valkey[name] = value
		w.api.Put(config)
	}
	return nil
}
