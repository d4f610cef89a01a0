package actions

import (
	"context"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
)

// RecordSettings notes on nodes the settings that their servers have taken:
// what a node records is what its successor is compared with.
type RecordSettings struct {
	Changes []engine.SettingChange `expr:"changes"`
}

// String implements Action.
func (a *RecordSettings) String() string { return changed(a.Changes) }

// Execute implements Action.
func (a *RecordSettings) Execute(ctx context.Context, env Env) error {
	return each(ctx, a.Changes, func(ctx context.Context, c engine.SettingChange) error {
		return recordSettings(ctx, env, c)
	})
}

// recordSettings writes the configuration BEFORE the node's spec: while the
// spec is behind, the next pass sees that there is something to record.
func recordSettings(ctx context.Context, env Env, c engine.SettingChange) error {
	node, err := liveNode(ctx, env, c.Node)
	if err != nil || node == nil || !node.DeletionTimestamp.IsZero() {
		return err
	}
	recorded := node.DeepCopy()
	if recorded.Spec.ValkeySettings == nil {
		recorded.Spec.ValkeySettings = map[string]string{}
	}
	maps.Copy(recorded.Spec.ValkeySettings, c.Settings)
	if maps.Equal(recorded.Spec.ValkeySettings, node.Spec.ValkeySettings) {
		return nil
	}
	conf, err := confOf(env, recorded)
	if err != nil {
		return fmt.Errorf("configuration of %s: %w", c.Node, err)
	}
	if err := apply(ctx, env, objects.NodeConfig(node, conf)); err != nil {
		return err
	}
	return patchNode(ctx, env, node, recorded)
}

func patchNode(ctx context.Context, env Env, node, changed *v1alpha1.ValkeyNode) error {
	patch := client.MergeFromWithOptions(node, client.MergeFromWithOptimisticLock{})
	if err := env.Kube.Patch(ctx, changed, patch); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("record the settings of %s: %w", node.Name, err)
	}
	return nil
}
