package actions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
)

const (
	// lossPatience is how long the others are given to lose touch with a server
	// that has ended. Its machine closes its connections at once; if one stands
	// after this, the member is left for a later pass to forget.
	lossPatience = time.Second
	// lossInterval is how often they are asked meanwhile.
	lossInterval = 10 * time.Millisecond
)

// RetireNodes takes members that hold no slots out of the cluster, for good.
//
// Each is marked as leaving, its server ended, forgotten by the others, and its
// Pod and node deleted, in this order. A server that lives cannot be forgotten:
// it comes back by gossip. Whatever is left undone, by a kill or since a server
// cannot be reached, is what is done for any dead node and departed member.
type RetireNodes struct {
	Retirements []engine.Retirement `expr:"retirements"`
}

// String implements Action.
func (a *RetireNodes) String() string {
	names := make([]string, 0, len(a.Retirements))
	for _, r := range a.Retirements {
		names = append(names, r.Node)
	}
	return list(names)
}

// Execute implements Action. Replicas go first, so that a primary whose replicas
// all leave is nobody's primary when its turn comes.
func (a *RetireNodes) Execute(ctx context.Context, env Env) error {
	left := slices.Clone(a.Retirements)
	var errs []error
	for _, replicas := range []bool{true, false} {
		if len(left) == 0 {
			break
		}
		heard, _ := canvass(ctx, env, "server")
		turn := func(r engine.Retirement) bool { return !replicas || heard.follower(r.ID) }
		errs = append(errs, each(ctx, left, func(ctx context.Context, r engine.Retirement) error {
			if !turn(r) || !heard.dispensable(r) {
				return nil
			}
			return a.retire(ctx, env, r, heard)
		}))
		left = slices.DeleteFunc(left, turn)
	}
	return errors.Join(errs...)
}

// follower says that the server is a replica, by its own word.
func (vs voices) follower(id string) bool {
	v := vs.of(id)
	return v != nil && v.self().PrimaryID != ""
}

// dispensable says that the member holds no slots and has no replicas, by its own
// word and by that of all who are heard. One that is not heard itself may hold
// more than those say who are cut off with the operator: then a majority must
// be heard.
func (vs voices) dispensable(r engine.Retirement) bool {
	for _, v := range vs {
		m, _ := v.member(r.ID)
		if (v.node == r.Node) != (v.id == r.ID) || len(m.Slots) > 0 || v.needsAsPrimary(r.ID) {
			return false
		}
	}
	return vs.of(r.ID) != nil || vs.quorate()
}

// needsAsPrimary says that the server is, or knows, a living replica of the member.
func (v voice) needsAsPrimary(id string) bool {
	return slices.ContainsFunc(v.members, func(m engine.Peer) bool { return m.PrimaryID == id && !m.Failed })
}

// quorate says that all who are heard have a majority of their voters among them.
func (vs voices) quorate() bool {
	for _, v := range vs {
		voters := v.voters()
		heard := slices.DeleteFunc(slices.Clone(voters), func(m engine.Peer) bool { return vs.of(m.ID) == nil })
		if len(heard) <= len(voters)/2 {
			return false
		}
	}
	return len(vs) > 0
}

// retire takes one member out. A node that is gone by now has nothing to retire.
func (a *RetireNodes) retire(ctx context.Context, env Env, r engine.Retirement, heard voices) error {
	node, err := markLeaving(ctx, env, r.Node)
	if err != nil || node == nil {
		return err
	}
	ended, err := endServer(ctx, env, node, r, heard)
	if err != nil {
		return err
	}
	if ended {
		// Who has not forgotten it now does so with any departed member.
		err = forgetEnded(ctx, env, engine.Oblivion{ID: r.ID, By: a.witnesses(r, heard)})
	}
	return errors.Join(err, deleteNode(ctx, env, r.Node))
}

// markLeaving marks the node, if nobody has changed it meanwhile. It returns nil
// when the node is gone.
func markLeaving(ctx context.Context, env Env, name string) (*v1alpha1.ValkeyNode, error) {
	node, err := liveNode(ctx, env, name)
	if err != nil || node == nil || node.Spec.Lifecycle == v1alpha1.LifecycleLeaving {
		return node, err
	}
	leaving := node.DeepCopy()
	leaving.Spec.Lifecycle = v1alpha1.LifecycleLeaving
	patch := client.MergeFromWithOptions(node, client.MergeFromWithOptimisticLock{})
	if err := env.Kube.Patch(ctx, leaving, patch); err != nil {
		return nil, client.IgnoreNotFound(fmt.Errorf("mark %s as leaving: %w", name, err))
	}
	return leaving, nil
}

// endServer ends the server, and says whether it has, or may have. One that is
// not heard is left alone: its Pod's end is its end.
func endServer(ctx context.Context, env Env, node *v1alpha1.ValkeyNode, r engine.Retirement, heard voices) (bool, error) {
	me := heard.of(r.ID)
	if me == nil {
		pod, err := podOf(ctx, env, node)
		return pod == nil || hasEnded(pod), err
	}
	now, _, err := look(ctx, env, r.Node)
	if err != nil {
		return false, err
	}
	if now.id != r.ID || len(now.self().Slots) > 0 {
		return false, fmt.Errorf("%s came to hold slots while it was leaving", r.Node)
	}
	replies, err := env.Valkey.Do(ctx, r.Node, shutdown(infoField(me.info, "valkey_version")))
	switch {
	case err != nil || replies[0].Err == nil:
		return true, nil // It ends instead of replying. Whether it has is for the others to see.
	case strings.HasPrefix(replies[0].Err.Error(), "NOPERM"):
		return false, nil // Its users are of an earlier release of the operator.
	default:
		return false, fmt.Errorf("%s: SHUTDOWN: %w", r.Node, replies[0].Err)
	}
}

// shutdown ends a server without a dump and without a wait for replicas, of
// which it has none. Since 9.0 it can be told to refuse if it holds slots after
// all; FORCE would override that. Before, nothing is to keep it.
func shutdown(version string) []string {
	if engine.Since9.Holds(version) {
		return command("SHUTDOWN NOSAVE NOW SAFE")
	}
	return command("SHUTDOWN NOSAVE NOW FORCE")
}

// witnesses are those of the servers that are to forget the member that can be
// told to: they are heard, and not about to end themselves.
func (a *RetireNodes) witnesses(r engine.Retirement, heard voices) []string {
	return slices.DeleteFunc(slices.Clone(r.By), func(node string) bool {
		leaves := slices.ContainsFunc(a.Retirements, func(r engine.Retirement) bool { return r.Node == node })
		return leaves || !heard.haveNode(node)
	})
}

// forgetEnded lets the others forget a server that has ended, once they have all
// lost touch with it.
func forgetEnded(ctx context.Context, env Env, d engine.Oblivion) error {
	return poll(ctx, lossPatience, lossInterval, func() (bool, error) {
		if needed, err := stillNeeded(ctx, env, d, nil); needed || err != nil {
			return false, err
		}
		return true, forgetAtOnce(ctx, env, d)
	})
}
