package valkey

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	valkeygo "github.com/valkey-io/valkey-go"

	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/replies"
)

// revisionUser is the user nobody can log in as whose password hash is the revision of the ACL file it came with.
const revisionUser = "_momento_revision"

// always are the settings that are asked for whether or not a node's spec records them: a bootstrap changes the first live,
// and moves of slots the second.
var always = []string{"cluster-node-timeout", "loglevel"}

// idLength is how long a node id is.
const idLength = 40

// secrets are the directives whose values are passwords. They are not among the settings of a Snapshot, so that
// no plan or log made from one can show them.
var secrets = []string{"masterauth", "primaryauth", "requirepass", "tls-client-key-file-pass", "tls-key-file-pass"}

// Ask asks a server, in one round trip, for all that a Snapshot holds of it; settings are the directives
// whose live values are wanted, those that are passwords excepted. Silence puts the error in a word.
func (p *Pool) Ask(ctx context.Context, t Target, a Access, settings []string) (*engine.Server, error) {
	names := wanted(settings)
	c, err := p.connected(ctx, t, a)
	if err != nil {
		return nil, err
	}
	results, err := p.exchange(ctx, c, questions(names, c.beforeMigrations.Load()))
	if err != nil {
		return nil, err
	}
	s, err := understand(results, names)
	if err != nil {
		return nil, err
	}
	if !engine.Since9.Holds(s.Version) {
		c.beforeMigrations.Store(true)
	}
	return s, nil
}

// questions are the commands of Ask, in the order in which understand reads the replies.
func questions(names []string, beforeMigrations bool) [][]string {
	all := [][]string{
		append([]string{"INFO"}, infoSections...),
		{"CLUSTER", "NODES"},
		{"CLUSTER", "INFO"},
		append([]string{"CONFIG", "GET"}, names...),
		{"ACL", "GETUSER", revisionUser},
		{"ACL", "GETUSER", replicationUser},
		askReplication,
		{"ACL", "LIST"},
	}
	if beforeMigrations {
		return all
	}
	return append(all, askMigrations)
}

// wanted are the settings to ask for. CONFIG GET takes patterns, so what is no directive's name is left out.
func wanted(settings []string) []string {
	names := slices.Clone(always)
	for _, name := range settings {
		if !slices.Contains(secrets, strings.ToLower(name)) && !strings.ContainsAny(name, `*?[]\^`) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// understand makes a Server of the replies. One that loads its data answers all of them.
func understand(r []valkeygo.ValkeyResult, names []string) (*engine.Server, error) {
	var s engine.Server
	if err := read(r[0], &s, parseInfo); err != nil {
		return nil, err
	}
	err := read(r[1], &s, takePeers)
	if err == nil {
		err = read(r[2], &s, parseClusterInfo)
	}
	if err != nil {
		return nil, err
	}
	if s.Settings, err = live(r[3], names); err != nil {
		return nil, err
	}
	if s.Revision, err = revision(r[4]); err != nil {
		return nil, err
	}
	if s.ReplAccepts, err = passwords(r[5]); err != nil {
		return nil, err
	}
	if s.ReplHash, err = replication(r[6]); err != nil {
		return nil, err
	}
	if s.Users, err = users(r[7]); err != nil {
		return nil, err
	}
	if len(r) > 8 {
		s.Migrations, err = migrations(r[8])
	}
	return &s, err
}

// read reads a reply that is one text.
func read(r valkeygo.ValkeyResult, s *engine.Server, parse func(string, *engine.Server) error) error {
	text, err := r.ToString()
	if err != nil {
		return err
	}
	return parse(text, s)
}

// takePeers reads CLUSTER NODES: the peers, and of the server itself what its own line says.
func takePeers(text string, s *engine.Server) error {
	peers, marks, err := replies.Nodes(text)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(peers, func(p engine.Peer) bool { return len(p.ID) != idLength }); i >= 0 {
		return fmt.Errorf("read CLUSTER NODES: %q is no node id", peers[i].ID)
	}
	i := slices.IndexFunc(peers, func(p engine.Peer) bool { return p.Myself })
	if i < 0 {
		return errors.New("read CLUSTER NODES: no line of the server itself")
	}
	s.Peers, s.ID, s.Role, s.PrimaryID = peers, peers[i].ID, peers[i].Role, peers[i].PrimaryID
	s.Marks = marks
	return nil
}

// live reads the reply to CONFIG GET. A name that was asked for in two spellings is answered in one of them only.
func live(r valkeygo.ValkeyResult, names []string) (map[string]string, error) {
	reply, err := r.AsStrMap()
	if forbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read CONFIG GET: %w", err)
	}
	values := make(map[string]string, len(reply))
	for name, value := range reply {
		values[strings.ToLower(name)] = value
	}
	settings := make(map[string]string, len(names))
	for _, name := range names {
		if value, known := values[strings.ToLower(name)]; known {
			settings[name] = value
		}
	}
	return settings, nil
}

// revision reads the reply to ACL GETUSER of the user that carries the revision.
func revision(r valkeygo.ValkeyResult) (string, error) {
	hashes, err := passwords(r)
	if err != nil || len(hashes) != 1 {
		return "", err
	}
	return hashes[0], nil
}

// users reads the reply to ACL LIST. Only a hash is kept: what it says are secrets.
func users(r valkeygo.ValkeyResult) (string, error) {
	list, err := r.AsStrSlice()
	if forbidden(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read ACL LIST: %w", err)
	}
	return replies.Users(strings.Join(list, "\n")), nil
}

// forbidden says that the server's ACL does not let the operator ask: it is one of before this release, and
// the reload that mends it must not wait for the answer.
func forbidden(err error) bool { return strings.HasPrefix(refusal(err), "NOPERM") }
