package actions

import (
	"context"
	"errors"
	"slices"
	"strings"

	"valkey.gomomento.com/operator/actions/objects"
)

// RecallCredentials writes down the passwords that only the running operator
// and the servers know any more. Its own it remembers, and the one that
// replicas log in with is on every server.
type RecallCredentials struct{}

// String implements Action.
func (*RecallCredentials) String() string { return "a Secret with the passwords that servers accept" }

// Execute implements Action.
func (*RecallCredentials) Execute(ctx context.Context, env Env) error {
	main, next, err := secretsNow(ctx, env)
	if err != nil || passwordsOf(main).Whole() || passwordsOf(next).Whole() || env.Known.Operator == "" {
		return err
	}
	recalled := objects.Credentials{Operator: env.Known.Operator}
	if recalled.Repl, err = recallRepl(ctx, env); err != nil {
		return err
	}
	return putSecret(ctx, env, objects.CopySecret(env.Cluster, recalled))
}

// recallRepl is the password that most servers log in to others with, of those
// that they accept themselves.
func recallRepl(ctx context.Context, env Env) (string, error) {
	var nodes []string
	for i := range env.Snapshot.Nodes {
		if n := &env.Snapshot.Nodes[i]; n.Server != nil {
			nodes = append(nodes, n.Name)
		}
	}
	said := make([]string, len(nodes))
	err := each(ctx, numbered(nodes), func(ctx context.Context, i int) (err error) {
		said[i], err = replPassword(ctx, env, nodes[i])
		return err
	})
	votes := map[string]int{}
	for _, password := range said {
		votes[password]++
	}
	delete(votes, "")
	best := ""
	for _, password := range said {
		if votes[password] > votes[best] {
			best = password
		}
	}
	if best == "" {
		return "", errors.Join(errors.New("no server tells the password that replicas log in with"), err)
	}
	return best, nil
}

// numbered are the indices of the items.
func numbered(items []string) []int {
	all := make([]int, len(items))
	for i := range all {
		all[i] = i
	}
	return all
}

// replPassword is the password that the server logs in to others with, "" when it would not accept that itself.
func replPassword(ctx context.Context, env Env, node string) (string, error) {
	texts, err := ask(ctx, env, node, command("CONFIG GET", primaryAuth), command("ACL GETUSER", replicationUser))
	if err != nil {
		return "", err
	}
	settings, err := parseSettings(texts[0])
	if err != nil {
		return "", err
	}
	password := settings[primaryAuth]
	if !slices.Contains(strings.Split(texts[1], "\n"), objects.Hash(password)) {
		return "", nil
	}
	return password, nil
}
