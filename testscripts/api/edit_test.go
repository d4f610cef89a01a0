package api

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

var repeated = regexp.MustCompile(`\(([^()]*?)\*(\d+)\)`)

// expand replaces (TEXT*N).
func expand(value string) string {
	return repeated.ReplaceAllStringFunc(value, func(found string) string {
		parts := repeated.FindStringSubmatch(found)
		n, err := strconv.Atoi(parts[2])
		if err != nil {
			return found
		}
		var all strings.Builder
		for i := range n {
			all.WriteString(strings.ReplaceAll(parts[1], "%d", strconv.Itoa(i)))
		}
		return all.String()
	})
}

// edit applies PATH=VALUE or PATH- to the object.
func edit(object map[string]any, change string) error {
	path, text, assign := strings.Cut(change, "=")
	if !assign {
		path, assign = strings.CutSuffix(path, "-")
		if !assign {
			return fmt.Errorf("%q is neither PATH=VALUE nor PATH-", change)
		}
		_, err := set(object, strings.Split(path, "."), nil, true)
		return err
	}
	var value any
	if err := yaml.Unmarshal([]byte(expand(text)), &value); err != nil {
		return fmt.Errorf("read the value of %s: %w", path, err)
	}
	_, err := set(object, strings.Split(path, "."), value, false)
	return err
}

// set returns the node with the value at the path, or without it, making maps on the way.
func set(node any, path []string, value any, remove bool) (any, error) {
	if len(path) == 0 {
		return value, nil
	}
	switch n := node.(type) {
	case nil:
		return set(map[string]any{}, path, value, remove)
	case map[string]any:
		if remove && len(path) == 1 {
			maps.DeleteFunc(n, func(k string, _ any) bool { return k == path[0] })
			return n, nil
		}
		child, err := set(n[path[0]], path[1:], value, remove)
		n[path[0]] = child
		return n, err
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i >= len(n) {
			return nil, fmt.Errorf("no element %s in a list of %d", path[0], len(n))
		}
		n[i], err = set(n[i], path[1:], value, remove)
		return n, err
	}
	return nil, fmt.Errorf("nothing can be set in %v", node)
}
