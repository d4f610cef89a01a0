package report

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
)

// freshness is how old the sighting in a ValkeyNode's status may grow while nothing else there changes: young enough to
// tell a watched node from a forgotten one, old enough that an idle cluster costs the API server next to nothing.
const freshness = 5 * time.Minute

// clusterNodes are the nodes as the cluster's status lists them, in the snapshot's order, which is by name.
func clusterNodes(s engine.Snapshot) []v1alpha1.ClusterNode {
	ids := liveIDs(s)
	nodes := make([]v1alpha1.ClusterNode, 0, len(s.Nodes))
	for i := range s.Nodes {
		n := &s.Nodes[i]
		node := v1alpha1.ClusterNode{Name: n.Name, ShardIndex: int32(n.ShardIndex), ID: n.LastID, Ready: ready(n, ids)}
		if n.Pod != nil {
			node.Zone = n.Pod.Zone
		}
		if n.Server != nil {
			node.ID, node.Role, node.Slots = n.Server.ID, v1alpha1.NodeRole(n.Server.Role), slots(n.Server)
		}
		nodes = append(nodes, node)
	}
	return nodes
}

// liveIDs are the Valkey ids of the servers that answer and that everyone should know: those of working members, or of
// all while there are none yet. A node that joins does not make the others less ready.
func liveIDs(s engine.Snapshot) []string {
	var working, all []string
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Server == nil {
			continue
		}
		all = append(all, n.Server.ID)
		if n.Lifecycle == engine.Active {
			working = append(working, n.Server.ID)
		}
	}
	if len(working) > 0 {
		return working
	}
	return all
}

// ready says that a node's server is up, knows every server that answers and, if a replica, is in sync.
func ready(n *engine.Node, ids []string) bool {
	s := n.Server
	if s == nil || s.Loading || n.Deleting || n.Lifecycle == engine.Leaving {
		return false
	}
	if s.Role == engine.Replica && !s.LinkUp {
		return false
	}
	return knowsAll(s, ids)
}

func knowsAll(s *engine.Server, ids []string) bool {
	for _, id := range ids {
		if p := s.Peer(id); p == nil || p.Handshake || !p.Myself && !p.Linked {
			return false
		}
	}
	return true
}

// slots is how many slots a server says it serves itself.
func slots(s *engine.Server) int32 {
	n := 0
	if me := s.Self(); me != nil {
		for _, r := range me.Slots {
			n += r.Len()
		}
	}
	return int32(n)
}

// lags is how many bytes each replica is behind its primary, by node name.
func lags(s engine.Snapshot) map[string]int64 {
	offsets := map[string]int64{}
	for i := range s.Nodes {
		if server := s.Nodes[i].Server; server != nil {
			offsets[server.ID] = server.Offset
		}
	}
	behind := map[string]int64{}
	for i := range s.Nodes {
		server := s.Nodes[i].Server
		if server == nil || server.Role != engine.Replica {
			continue
		}
		// The two were asked one after the other, so that a replica may seem to be ahead.
		behind[s.Nodes[i].Name] = max(0, offsets[server.PrimaryID]-server.Offset)
	}
	return behind
}

// nodeStatus is what a ValkeyNode's status should say. Of a server that does not answer it keeps what was last known,
// above all its id: that is how a server that comes back under another id is told from the one that was. It shares with
// what was all that it leaves alone.
func nodeStatus(was v1alpha1.ValkeyNodeStatus, seen *engine.Node, lag int64, at time.Time) v1alpha1.ValkeyNodeStatus {
	now := was
	now.PodPhase, now.LinkUp = "", false
	if seen.Pod != nil {
		now.PodPhase = seen.Pod.Phase
	}
	if s := seen.Server; s != nil {
		now.Role, now.NodeID, now.Version = v1alpha1.NodeRole(s.Role), s.ID, s.Version
		now.Slots, now.ReplicationLag, now.LinkUp = slots(s), lag, s.Role == engine.Replica && s.LinkUp
		sighting := metav1.NewTime(at).Rfc3339Copy()
		now.LastObserved = &sighting
	}
	return now
}

// worthWriting says that a status tells something new: a lag or a time alone is news only when the old one is stale.
func worthWriting(was, now v1alpha1.ValkeyNodeStatus) bool {
	if now.LastObserved != nil && was.LastObserved != nil && now.LastObserved.Sub(was.LastObserved.Time) < freshness {
		now.LastObserved, now.ReplicationLag = was.LastObserved, was.ReplicationLag
	}
	return !equality.Semantic.DeepEqual(was, now)
}
