package derive

import (
	"strings"
	"testing"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// TestVocabularyIsTheServers derives, for each version, a role of every command
// that a real server lists: none may be refused, and a made-up one must be.
func TestVocabularyIsTheServers(t *testing.T) {
	d := deriver(t)
	for minor, version := range versions {
		t.Run(minor, func(t *testing.T) {
			t.Parallel()
			c := openServer(t, minor)
			in := simple(version)
			in.Cluster.ACL = bindings(1, 1)
			role := v1alpha1.ValkeyRoleSpec{}
			for _, command := range ask(t, c, "COMMAND", "LIST") {
				name, subcommand, _ := strings.Cut(command, "|")
				role.Commands = append(role.Commands, v1alpha1.CommandRule{Name: name, Subcommand: subcommand, Access: v1alpha1.Allow})
			}
			for _, category := range ask(t, c, "ACL", "CAT") {
				role.Categories = append(role.Categories, v1alpha1.CategoryRule{Name: category, Access: v1alpha1.Allow})
			}
			// More than one role may hold by its schema, so by parts.
			for start := 0; start < len(role.Commands); start += 250 {
				part := role
				part.Commands = role.Commands[start:min(start+250, len(role.Commands))]
				in.Roles = map[string]v1alpha1.ValkeyRoleSpec{"reader": part}
				if got, _, err := d.Derive(in); err != nil || got.Problem != "" {
					t.Errorf("problem %q, error %v", got.Problem, err)
				}
			}
			in.Roles = map[string]v1alpha1.ValkeyRoleSpec{"reader": {Commands: []v1alpha1.CommandRule{{Name: "nosuch", Access: v1alpha1.Allow}}}}
			if got, _, err := d.Derive(in); err != nil || got.Reason != "UnknownCommand" {
				t.Errorf("reason %q, error %v", got.Reason, err)
			}
		})
	}
}

// ask sends a command whose reply is a list.
func ask(t *testing.T, c *conn, args ...string) []string {
	t.Helper()
	reply, err := c.do(args...)
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Split(reply, "\n")
	if len(words) < 20 {
		t.Fatalf("%s lists only %d words", strings.Join(args, " "), len(words))
	}
	return words
}
