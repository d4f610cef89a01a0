package actions

import (
	"context"
	"strconv"
	"time"

	"valkey.gomomento.com/operator/engine"
)

const (
	// streamPatience is how long a replica's stream is waited for in one pass. More is left for the next ones, so that
	// what is urgent comes between.
	streamPatience = 250 * time.Millisecond
	// streamInterval is how often the replica is asked meanwhile.
	streamInterval = 10 * time.Millisecond
)

// follows says that the replica, a node's name, has all that its primary, another's, had written when this was called.
//
// That the link is up and no sync runs does not say so. A primary sends nothing after a sync until it has read an
// acknowledgement that came after it noted the sync's end; if the replica was faster, that is the next one, up to a second
// later (replicaStartCommandStream and replicationCron in valkey/src/replication.c). Until then the replica gets nothing
// that is written, and a failover holds all writes up.
func follows(ctx context.Context, env Env, replica, primary string) (bool, error) {
	written, err := offsetOf(ctx, env, primary, "master_repl_offset")
	if err != nil {
		return false, err
	}
	caughtUp := false
	err = poll(ctx, streamPatience, streamInterval, func() (bool, error) {
		received, err := offsetOf(ctx, env, replica, "slave_repl_offset")
		caughtUp = received >= written
		return caughtUp, err
	})
	return caughtUp && err == nil, err
}

// offsetOf is the replication offset that the node's server tells in that field, in bytes.
func offsetOf(ctx context.Context, env Env, node, field string) (int64, error) {
	texts, err := ask(ctx, env, node, command("INFO", "replication"))
	if err != nil {
		return -1, err
	}
	return offsetIn(texts[0], field), nil
}

// offsetIn is the replication offset in a field of INFO, in bytes; -1 when it is not told, as by a server of another role.
func offsetIn(info, field string) int64 {
	offset, err := strconv.ParseInt(infoField(info, field), 10, 64)
	if err != nil {
		return -1
	}
	return offset
}

// leaderOf is the name of the node whose server the replica follows; "" for a server that is no replica, and known is
// whether there is such a node.
func leaderOf(snapshot engine.Snapshot, replica string) (primary string, known bool) {
	id := ""
	for i := range snapshot.Nodes {
		if n := &snapshot.Nodes[i]; n.Name == replica && n.Server != nil {
			id = n.Server.PrimaryID
		}
	}
	for i := range snapshot.Nodes {
		if n := &snapshot.Nodes[i]; id != "" && n.Server != nil && n.Server.ID == id {
			return n.Name, true
		}
	}
	return "", id == ""
}
