package actions

import (
	"context"
	"fmt"
	"strings"
)

// ask sends the commands to the node's server and returns what it said to
// each. The first error reply is the error; it names the node and the command,
// and none of the command's arguments, which may be secrets.
func ask(ctx context.Context, env Env, node string, commands ...[]string) ([]string, error) {
	replies, err := env.Valkey.Do(ctx, node, commands...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", node, err)
	}
	if len(replies) != len(commands) {
		return nil, fmt.Errorf("%s: %d replies to %d commands", node, len(replies), len(commands))
	}
	texts := make([]string, 0, len(replies))
	for i, reply := range replies {
		if reply.Err != nil {
			return texts, fmt.Errorf("%s: %s: %w", node, spoken(commands[i]), reply.Err)
		}
		texts = append(texts, reply.Text)
	}
	return texts, nil
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
