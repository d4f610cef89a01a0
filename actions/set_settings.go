package actions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/directive"
)

// SetSettings sets directives of running servers. Names are told, values never:
// one may be a password.
type SetSettings struct {
	Changes []engine.SettingChange `expr:"changes"`
}

// String implements Action.
func (a *SetSettings) String() string { return changed(a.Changes) }

// changed is "hz, maxmemory on cart-00001, cart-00002".
func changed(changes []engine.SettingChange) string {
	var names, nodes []string
	for _, c := range changes {
		nodes = append(nodes, c.Node)
		names = slices.AppendSeq(names, maps.Keys(c.Settings))
	}
	slices.Sort(names)
	return fmt.Sprintf("%s on %s", list(slices.Compact(names)), list(nodes))
}

// Execute implements Action. What servers refuse is one error for all that
// refuse it in the same words.
func (a *SetSettings) Execute(ctx context.Context, env Env) error {
	refused := refusals{}
	err := each(ctx, a.Changes, func(ctx context.Context, c engine.SettingChange) error {
		return setSettings(ctx, env, c, &refused)
	})
	return refused.join(err)
}

// setSettings is all or nothing on its server: one CONFIG SET of them all.
func setSettings(ctx context.Context, env Env, c engine.SettingChange, refused *refusals) error {
	if len(c.Settings) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(c.Settings))
	replies, err := env.Valkey.Do(ctx, c.Node,
		command("CONFIG SET", pairs(whole(c.Settings))...), command("CONFIG GET", names...))
	if err != nil {
		return fmt.Errorf("set %s: %s: %w", list(names), c.Node, err)
	}
	for _, reply := range replies {
		if reply.Err != nil {
			refused.add(list(names), c.Node, reply.Err)
			return nil
		}
	}
	live, err := parseSettings(replies[1].Text)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Node, err)
	}
	return noteSpellings(ctx, env, c, live)
}

// whole are the settings so that a server keeps nothing of what it had.
func whole(settings map[string]string) map[string]string {
	out := make(map[string]string, len(settings))
	for name, value := range settings {
		out[name] = directive.Whole(name, value)
	}
	return out
}

// parseSettings reads the lines of a CONFIG GET: a name, then its value.
func parseSettings(text string) (map[string]string, error) {
	if text == "" {
		return map[string]string{}, nil
	}
	lines := strings.Split(text, "\n")
	if len(lines)%2 != 0 {
		return nil, fmt.Errorf("CONFIG GET gave %d lines, want pairs", len(lines))
	}
	settings := make(map[string]string, len(lines)/2)
	for pair := range slices.Chunk(lines, 2) {
		settings[strings.ToLower(pair[0])] = pair[1]
	}
	return settings, nil
}

// noteSpellings records on the node what its server made of values that it
// took and does not give back as they were, nor in a spelling that is known: it
// has clamped a number, or is of a release that spells anew. It has been told,
// and telling it again would change nothing.
func noteSpellings(ctx context.Context, env Env, c engine.SettingChange, live map[string]string) error {
	made := map[string]v1alpha1.Spelling{}
	for name, value := range c.Settings {
		read, known := live[name]
		if !known {
			return fmt.Errorf("%s: the server does not know the directive %s", c.Node, name)
		}
		if !directive.Same(name, value, read) {
			made[name] = v1alpha1.Spelling{Written: value, Read: read}
		}
	}
	if len(made) == 0 {
		return nil
	}
	node, err := liveNode(ctx, env, c.Node)
	if err != nil || node == nil {
		return err
	}
	noted := node.DeepCopy()
	maps.DeleteFunc(noted.Status.Spellings, func(name string, s v1alpha1.Spelling) bool {
		return node.Spec.ValkeySettings[name] != s.Written
	})
	if noted.Status.Spellings == nil {
		noted.Status.Spellings = map[string]v1alpha1.Spelling{}
	}
	maps.Copy(noted.Status.Spellings, made)
	if err := env.Kube.Status().Patch(ctx, noted, client.MergeFrom(node)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("note what %s made of %s: %w", c.Node, list(slices.Sorted(maps.Keys(made))), err)
	}
	return nil
}

// refusals are what servers said to settings that they do not take, with who said it.
type refusals struct {
	sync.Mutex
	nodes map[refusal][]string
}

type refusal struct{ names, words string }

func (r *refusals) add(names, node string, err error) {
	r.Lock()
	defer r.Unlock()
	if r.nodes == nil {
		r.nodes = map[refusal][]string{}
	}
	what := refusal{names, err.Error()}
	r.nodes[what] = append(r.nodes[what], node)
}

// join adds the refusals to the error, each once.
func (r *refusals) join(err error) error {
	errs := []error{err}
	for what, nodes := range r.nodes {
		slices.Sort(nodes)
		errs = append(errs, fmt.Errorf("%s: refused by %s: %s", what.names, list(nodes), what.words))
	}
	slices.SortFunc(errs[1:], func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}
