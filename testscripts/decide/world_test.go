package decide

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/topology"
)

// A world is a cluster on paper: enough of Kubernetes and Valkey to carry a
// scenario from one decision to the next. Nothing in it takes time.
type world struct {
	engine.Snapshot
	desired engine.Desired
	last    engine.Decision
	// failures are the rules whose actions do not succeed.
	failures []engine.Failure
	// unnoticed says that the servers have yet to find out who is gone, doubted that each by itself suspects it.
	unnoticed, doubted bool
	// named are the names ever given: a node's name is never used twice.
	named map[string]bool
	// stuck are the nodes whose server gets no new certificate.
	stuck []string
	// held are the slots that a node's server holds, whether it can be heard or not.
	held map[string][]engine.SlotRange
	// users is the revision of the users that the specs ask for, keys what each server knows of the system passwords.
	users string
	keys  map[string]keyring
	// remembered is the hash of the password that the running operator was last let in with.
	remembered string
	// mounted is the hash of the replication password that new Pods get, "" for the Secret's.
	mounted string
	// away are the servers that were lost, for when they are heard again.
	away map[string]*engine.Server
	// deaf are the nodes whose server learns nothing new of the others.
	deaf []string
	// cordoned are the Kubernetes nodes that take no new Pods.
	cordoned map[string]bool
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const formingTimeout, finalTimeout = "500", "5000"

func newWorld(t engine.Topology) *world {
	w := &world{named: map[string]bool{}, keys: map[string]keyring{}, away: map[string]*engine.Server{}, cordoned: map[string]bool{}}
	w.At = epoch
	w.Cluster = engine.Cluster{Namespace: "shop", Name: "cart", UID: "u1", Generation: 1}
	w.desired = engine.Desired{
		Topology: t, FormingNodeTimeout: formingTimeout, Version: "9.1.2", Live: live,
		Node: engine.NodeSpec{
			Image: "valkey:9.1", Memory: "1Gi", CPU: "1",
			Settings: map[string]string{"cluster-node-timeout": finalTimeout},
		},
		Objects: []engine.Object{{Kind: "Service", Name: "cart", Content: "headless"}},
	}
	return w
}

func id(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:20])
}

// node returns the node by name, nil when there is none.
func (w *world) node(name string) *engine.Node {
	i := slices.IndexFunc(w.Nodes, func(n engine.Node) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	return &w.Nodes[i]
}

// addNode names nodes by shard and letter: 0a, 0b, 1a …
func (w *world) addNode(shard int) {
	name := ""
	for letter := 'a'; ; letter++ {
		name = fmt.Sprintf("%d%c", shard, letter)
		if !w.named[name] {
			break
		}
	}
	w.named[name] = true
	w.Nodes = append(w.Nodes, engine.Node{
		Name: name, Created: w.At, Spec: w.desired.Node, Lifecycle: engine.Joining, ShardIndex: shard,
		HasConfig: true, Pod: &engine.Pod{Phase: "Pending"},
	})
	slices.SortFunc(w.Nodes, func(a, b engine.Node) int { return strings.Compare(a.Name, b.Name) })
}

// run starts the node's Pod and server.
func (w *world) run(n *engine.Node) {
	n.Pod.Phase, n.Pod.Trouble = "Running", ""
	n.Pod.IP = "10.0.0." + n.Name
	w.place(n)
	n.LastID = id(n.Name)
	n.Server = &engine.Server{
		ID: id(n.Name), Version: "9.1.2", Role: engine.Primary,
		Settings: withDefaults(n.Spec.Settings),
		Peers:    []engine.Peer{{ID: id(n.Name), Myself: true, Role: engine.Primary, Linked: true, IP: n.Pod.IP}},
	}
	w.equip(n.Server)
}

// gossip lets every server that has met another learn all it says of itself,
// and of those it has met, until there is no more news.
func (w *world) gossip() {
	for news := true; news; {
		news = false
		for i := range w.Nodes {
			n := &w.Nodes[i]
			if n.Server != nil && !slices.Contains(w.deaf, n.Name) && w.hearPeers(n.Server) {
				news = true
			}
		}
	}
	for i := range w.Nodes {
		if s := w.Nodes[i].Server; s != nil {
			s.ClusterOK = w.slotsKnown(s)
		}
	}
}

// hearPeers updates all that s knows of others, and says whether anybody met anybody new.
func (w *world) hearPeers(s *engine.Server) bool {
	met := false
	for _, known := range slices.Clone(s.Peers) {
		if known.Myself {
			continue
		}
		p, other := s.Peer(known.ID), w.serverOf(known.ID)
		if other == nil {
			// Valkey calls a link connected that is only being opened; where nobody listens that is over at once.
			p.Linked, p.Failed, p.Suspected = !w.refuses(known.ID), !w.unnoticed, w.doubted
			continue
		}
		*p = *other.Self()
		p.Myself = false
		met = w.meet(other, s) || met
		if slices.EqualFunc(other.Peers, s.Peers, func(a, b engine.Peer) bool { return a.ID == b.ID }) {
			continue
		}
		for _, friend := range other.Peers {
			if third := w.serverOf(friend.ID); third != nil {
				met = w.meet(s, third) || met
			}
		}
	}
	return met
}

// refuses says that the port of the member refuses connections.
func (w *world) refuses(id string) bool {
	return slices.ContainsFunc(w.Nodes, func(n engine.Node) bool {
		return n.LastID == id && n.Silence == engine.SilenceRefused
	})
}

// meet makes b known to a, and says whether it was not before.
func (w *world) meet(a, b *engine.Server) bool {
	if a.Peer(b.ID) != nil {
		return false
	}
	self := *b.Self()
	self.Myself = false
	a.Peers = append(a.Peers, self)
	slices.SortFunc(a.Peers, func(x, y engine.Peer) int { return strings.Compare(x.ID, y.ID) })
	return true
}

func (w *world) serverOf(id string) *engine.Server {
	for i := range w.Nodes {
		if s := w.Nodes[i].Server; s != nil && s.ID == id {
			return s
		}
	}
	return nil
}

func (w *world) slotsKnown(s *engine.Server) bool {
	count := 0
	for _, p := range s.Peers {
		count += topology.Count(p.Slots)
	}
	return count == topology.SlotCount
}

// follow makes the server a replica of the primary, in sync with it.
func (w *world) follow(s *engine.Server, primary string) {
	s.Role, s.PrimaryID, s.LinkUp, s.Offset = engine.Replica, primary, true, 1000
	me := s.Self()
	me.Role, me.PrimaryID = engine.Replica, primary
}
