package actions

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"valkey.gomomento.com/operator/engine"
)

const (
	// rejoinPatience is how long a takeover waits for the survivors to believe in
	// their new majority: half a second with the shortened node timeout.
	rejoinPatience = 1500 * time.Millisecond
	// rejoinInterval is how often they are asked meanwhile.
	rejoinInterval = 20 * time.Millisecond
)

// TakeOver makes a replica the primary without any vote, where too few primaries
// are left to elect one.
//
// Nobody else checks it: two primaries of one shard would both take writes, and
// those of one of them would be lost. So the old primary and so many others must
// have ended that the rest can elect nobody, by the word of the API server and
// not by silence: those that are silent may be a majority that hears each other.
// And nobody may still have a link to the old primary, unless its kubelet has
// seen it end; nor may a member of the shard be silent that may have received more.
type TakeOver struct {
	Succession engine.Succession `expr:"succession"`
}

// String implements Action.
func (a *TakeOver) String() string { return describe(a.Succession) }

// Execute implements Action.
func (a *TakeOver) Execute(ctx context.Context, env Env) error {
	s := a.Succession
	if s.Node == "" {
		return nil
	}
	heard, _ := canvass(ctx, env, "replication")
	replica := heard.heir(s)
	if replica == nil {
		return nil
	}
	fates, err := tollOf(ctx, env, heard, replica.view)
	if err != nil || fates[s.PrimaryID] == notEnded || replica.hasQuorum(fates) || heard.reach(s.PrimaryID, fates) {
		return err
	}
	if fresher, err := mayBeFresher(ctx, env, heard, s); err != nil || fresher {
		return err
	}
	voters, left := len(fates), len(fates)-fates.ended()
	if left > voters/2 {
		return nil
	}
	takeOver := func() error { return succeed(ctx, env, s, "TAKEOVER") }
	if left+1 <= voters/2 {
		return takeOver() // The next one may make a majority.
	}
	return hurried(ctx, env, heard, takeOver)
}

// mayBeFresher says that another member of the shard runs, as far as Kubernetes can tell, and does not answer: it may have
// received more, where the replica has been cut off.
func mayBeFresher(ctx context.Context, env Env, heard voices, s engine.Succession) (bool, error) {
	nodes := env.Snapshot.Nodes
	at := slices.IndexFunc(nodes, func(n engine.Node) bool { return n.Name == s.Node })
	for i := range nodes {
		n := &nodes[i]
		mate := at >= 0 && n.ShardIndex == nodes[at].ShardIndex && n.LastID != "" && n.LastID != s.PrimaryID
		if !mate || heard.haveNode(n.Name) || n.Pod != nil && n.Pod.HostLost {
			continue
		}
		if f, err := fateOf(ctx, env, n.Name); err != nil || f == notEnded {
			return true, err
		}
	}
	return false, nil
}

// hasQuorum says that the server reaches a majority of the voters, as far as it
// can tell.
func (v view) hasQuorum(fates toll) bool {
	reached := 0
	for id, f := range fates {
		if m, _ := v.member(id); m.Reachable() && f != witnessed {
			reached++
		}
	}
	return reached > len(fates)/2
}

// reach says that somebody can reach the member.
func (vs voices) reach(id string, fates toll) bool {
	return fates[id] != witnessed && slices.ContainsFunc(vs, func(v voice) bool {
		m, known := v.member(id)
		return known && m.Reachable()
	})
}

// hurried takes over with a short node timeout on those that survive. A primary
// that finds itself in a majority again waits for the node timeout, at most five
// seconds of it, before it serves clients (clusterUpdateState in
// valkey/src/cluster_legacy.c). Afterwards they get back what they had. What a kill
// leaves undone is undone as any setting that is not as it should be.
func hurried(ctx context.Context, env Env, heard voices, takeOver func() error) error {
	before, asked := timeouts(ctx, env, heard)
	nodes := slices.Sorted(maps.Keys(before))
	hurry := setTimeouts(ctx, env, nodes, func(string) string { return shortNodeTimeout })
	err := takeOver()
	if err == nil {
		err = poll(ctx, rejoinPatience, rejoinInterval, func() (bool, error) { return allOK(ctx, env, nodes) })
	}
	usual := func(node string) string {
		if before[node] == shortNodeTimeout { // A kill left it so.
			return env.Desired.Node.Settings[nodeTimeout]
		}
		return before[node]
	}
	return errors.Join(asked, hurry, err, setTimeouts(ctx, env, nodes, usual))
}

// timeouts are the node timeouts of the servers, by their node.
func timeouts(ctx context.Context, env Env, heard voices) (map[string]string, error) {
	var guard sync.Mutex
	found := map[string]string{}
	err := each(ctx, heard, func(ctx context.Context, v voice) error {
		texts, err := ask(ctx, env, v.node, command("CONFIG GET", nodeTimeout))
		if err != nil {
			return err
		}
		settings, err := parseSettings(texts[0])
		if err != nil {
			return err
		}
		guard.Lock()
		defer guard.Unlock()
		found[v.node] = settings[nodeTimeout]
		return nil
	})
	return found, err
}

const (
	nodeTimeout = "cluster-node-timeout"
	// shortNodeTimeout is the least that Valkey waits, in milliseconds.
	shortNodeTimeout = "500"
)

// setTimeouts sets the node timeout of each server, if there is one to set.
func setTimeouts(ctx context.Context, env Env, nodes []string, timeout func(node string) string) error {
	return each(ctx, nodes, func(ctx context.Context, node string) error {
		if timeout(node) == "" {
			return nil
		}
		return tell(ctx, env, node, [][]string{command("CONFIG SET", nodeTimeout, timeout(node))})
	})
}

// allOK says that all of the servers serve clients.
func allOK(ctx context.Context, env Env, nodes []string) (bool, error) {
	for _, node := range nodes {
		texts, err := ask(ctx, env, node, command("CLUSTER INFO"))
		if err != nil || infoField(texts[0], "cluster_state") != "ok" {
			return false, err
		}
	}
	return true, nil
}
