package actions

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// crashOnLoad begins the versions whose replicas crash on ACL LOAD: the client
// that is their primary has no user, and is asked for it all the same
// (ACLLoadFromFile in valkey/src/acl.c). It was mended between 8.0.2 and 8.1.1;
// no server is worth finding out on in which release of 8.0.
var crashOnLoad = regexp.MustCompile(`^8\.(0\.|1\.0$)`)

// crashesOnLoad says that the node's server must not be told ACL LOAD. A
// primary of these releases counts too, since it may be a replica by the time
// it is told.
func crashesOnLoad(ctx context.Context, env Env, node string) (bool, error) {
	texts, err := ask(ctx, env, node, command("INFO server"))
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(texts[0]) {
		if version, found := strings.CutPrefix(strings.TrimSpace(line), "valkey_version:"); found {
			return crashOnLoad.MatchString(version), nil
		}
	}
	return false, nil
}

// setUsers gives the server the users of the desired file one by one, each of
// them whole, and takes everything from the others.
func setUsers(ctx context.Context, env Env, node string) error {
	texts, err := ask(ctx, env, node, command("ACL LIST"))
	if err != nil {
		return err
	}
	wanted, err := parseUsers(env.Desired.ACLFile)
	if err != nil {
		return fmt.Errorf("users.acl: %w", err)
	}
	present, err := parseUsers(texts[0])
	if err != nil {
		return fmt.Errorf("%s: ACL LIST: %w", node, err)
	}
	var commands [][]string
	kept := map[string]bool{}
	for _, user := range wanted {
		kept[user[0]] = true
		commands = append(commands, command("ACL SETUSER", append([]string{user[0], "reset"}, user[1:]...)...))
	}
	for _, user := range present {
		if !kept[user[0]] {
			commands = append(commands, command("ACL SETUSER", user[0], "reset"))
		}
	}
	_, err = ask(ctx, env, node, commands...)
	return err
}

// parseUsers reads lines of "user name rule…": each user is its name and its
// rules. A file without users is an error, since it would shut everyone out.
func parseUsers(text string) ([][]string, error) {
	var users [][]string
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if len(words) < 2 || words[0] != "user" {
			return nil, fmt.Errorf("a line begins with %q instead of a user", words[0])
		}
		users = append(users, words[1:])
	}
	if len(users) == 0 {
		return nil, errors.New("there are no users")
	}
	return users, nil
}
