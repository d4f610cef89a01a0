package actions

import (
	"context"
	"fmt"
	"strings"
)

// ask sends the commands to the node's server and returns what it said to each
// as text; see converse.
func ask(ctx context.Context, env Env, node string, commands ...[]string) ([]string, error) {
	said, err := converse(ctx, env, node, commands...)
	texts := make([]string, 0, len(said))
	for _, reply := range said {
		texts = append(texts, reply.Text)
	}
	return texts, err
}

// converse sends the commands to the node's server and returns its replies. The
// first error reply is the error; it names the node and the command, and none of
// the command's arguments, which may be secrets. The replies before it are returned with it.
func converse(ctx context.Context, env Env, node string, commands ...[]string) ([]Reply, error) {
	said, err := env.Valkey.Do(ctx, node, commands...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", node, err)
	}
	if len(said) != len(commands) {
		return nil, fmt.Errorf("%s: %d replies to %d commands", node, len(said), len(commands))
	}
	for i := range said {
		if err := said[i].Err; err != nil {
			return said[:i], fmt.Errorf("%s: %s: %w", node, spoken(commands[i]), err)
		}
	}
	return said, nil
}

// spoken is the command without its arguments: "CLUSTER MEET".
func spoken(command []string) string {
	switch command[0] {
	case "CLUSTER", "CONFIG", "ACL", "FUNCTION":
		return strings.Join(command[:2], " ")
	default:
		return command[0]
	}
}

// command is the words as one command, with more arguments after them.
func command(words string, args ...string) []string {
	return append(strings.Fields(words), args...)
}
