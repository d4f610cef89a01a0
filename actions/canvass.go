package actions

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"valkey.gomomento.com/operator/engine"
)

// canvassPatience bounds a question to all servers. They answer within
// milliseconds; one that hangs must not hold up what the others are asked for.
const canvassPatience = 300 * time.Millisecond

// A voice is what one server says of itself and of the others.
type voice struct {
	node string
	view
	// info is the INFO it was asked for with it.
	info string
}

// voices are those of the servers that answered, by the name of their node.
type voices []voice

// canvass asks all servers at once, whoever may answer, who they are, whom they
// know, and the sections of INFO. Why one has no voice is among the silences, by
// its node.
func canvass(ctx context.Context, env Env, sections string) (heard voices, silences map[string]error) {
	timed, cancel := context.WithTimeout(ctx, canvassPatience)
	defer cancel()
	var guard sync.Mutex
	var asking sync.WaitGroup
	silences = map[string]error{}
	for _, node := range reachable(env) {
		asking.Go(func() {
			v, said, err := look(timed, env, node, command("INFO "+sections))
			guard.Lock()
			defer guard.Unlock()
			if err != nil {
				silences[node] = err
				return
			}
			heard = append(heard, voice{node: node, view: v, info: said[0].Text})
		})
	}
	asking.Wait()
	slices.SortFunc(heard, func(a, b voice) int { return strings.Compare(a.node, b.node) })
	return heard, silences
}

// reachable are the nodes whose server may answer.
func reachable(env Env) []string {
	var nodes []string
	for _, n := range env.Snapshot.Nodes {
		if n.Pod != nil && n.Pod.IP != "" && !n.Pod.Ended() {
			nodes = append(nodes, n.Name)
		}
	}
	return nodes
}

// of is the voice of the server with the id, nil when it did not answer.
func (vs voices) of(id string) *voice {
	i := slices.IndexFunc(vs, func(v voice) bool { return v.id == id })
	if i < 0 {
		return nil
	}
	return &vs[i]
}

// haveNode says that the node's server answered.
func (vs voices) haveNode(node string) bool {
	return slices.ContainsFunc(vs, func(v voice) bool { return v.node == node })
}

// voters are the members that the server counts as electorate: primaries that hold slots.
func (v view) voters() []engine.Peer {
	return slices.DeleteFunc(slices.Clone(v.members), func(m engine.Peer) bool { return m.Role != engine.Primary || len(m.Slots) == 0 })
}

// infoField is the value of a line of INFO, "" when it is missing.
func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), name+":"); found {
			return value
		}
	}
	return ""
}
