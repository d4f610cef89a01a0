package actions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"valkey.gomomento.com/operator/engine"
)

// SetSettings sets directives of running servers. Names are told, values never:
// one may be a password.
type SetSettings struct {
	Changes []engine.SettingChange `expr:"changes"`
}

// String implements Action.
func (a *SetSettings) String() string {
	var names, nodes []string
	for _, c := range a.Changes {
		nodes = append(nodes, c.Node)
		names = slices.AppendSeq(names, maps.Keys(c.Settings))
	}
	slices.Sort(names)
	return fmt.Sprintf("%s on %s", list(slices.Compact(names)), list(nodes))
}

// Execute implements Action.
func (a *SetSettings) Execute(ctx context.Context, env Env) error {
	return each(ctx, a.Changes, func(ctx context.Context, c engine.SettingChange) error {
		return setSettings(ctx, env, c)
	})
}

// setSettings is all or nothing on its server: one CONFIG SET of them all.
func setSettings(ctx context.Context, env Env, c engine.SettingChange) error {
	if len(c.Settings) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(c.Settings))
	texts, err := ask(ctx, env, c.Node,
		command("CONFIG SET", pairs(c.Settings)...), command("CONFIG GET", names...))
	if err != nil {
		return fmt.Errorf("set %s: %w", list(names), err)
	}
	live, err := parseSettings(texts[1])
	if err != nil {
		return fmt.Errorf("%s: %w", c.Node, err)
	}
	return verify(c, live)
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

// verify compares what was set with what is live, as far as the server reads a
// value back as it was written: it rewrites sizes, lists and flags.
func verify(c engine.SettingChange, live map[string]string) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.Settings)) {
		value, known := live[strings.ToLower(name)]
		switch {
		case !known:
			errs = append(errs, fmt.Errorf("%s: the server does not know the directive %s", c.Node, name))
		case plain(c.Settings[name]) && plain(value) && !samePlain(c.Settings[name], value):
			errs = append(errs, fmt.Errorf("%s: %s reads back otherwise than it was set", c.Node, name))
		}
	}
	return errors.Join(errs...)
}

// plain says that the value is a number, yes or no.
func plain(value string) bool {
	_, err := strconv.ParseInt(value, 10, 64)
	return err == nil || strings.EqualFold(value, "yes") || strings.EqualFold(value, "no")
}

func samePlain(a, b string) bool {
	x, errA := strconv.ParseInt(a, 10, 64)
	y, errB := strconv.ParseInt(b, 10, 64)
	if errA == nil && errB == nil {
		return x == y
	}
	return strings.EqualFold(a, b)
}
