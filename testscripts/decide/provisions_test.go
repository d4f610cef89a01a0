package decide

import (
	"cmp"
	"slices"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/engine"
)

// halfMade leaves a node in n's shard that has no Pod: the operator was killed while it made it.
func (w *world) halfMade(n *engine.Node) {
	shard := n.ShardIndex
	names := make([]string, 0, len(w.Nodes))
	for i := range w.Nodes {
		names = append(names, w.Nodes[i].Name)
	}
	w.addNode(shard)
	for i := range w.Nodes {
		if made := &w.Nodes[i]; !slices.Contains(names, made.Name) {
			made.HasConfig, made.Pod = false, nil
		}
	}
}

// refuse lets the specs break a rule of the platform: they resolve, and are not to be carried out.
func (w *world) refuse(problem string) {
	w.keep()
	w.desired.Problem = problem
}

// keep notes the topology of the specs, if they are accepted.
func (w *world) keep() {
	if w.desired.Problem == "" {
		kept := w.desired.Topology
		w.Cluster.Kept = &kept
	}
}

// spoilCertificate lets the Secret that the spec names turn bad, while servers use the copy of what it held.
func (w *world) spoilCertificate() {
	w.Certificate = &engine.Certificate{Secret: "cart-tls", Copied: "good", CopiedFrom: "cart-tls"}
	w.refuse("tls.crt is not valid PEM")
}

// unfurnished: a Pod that is made now must find what it mounts. It goes for those of new nodes as for those of nodes that
// have lost theirs before a server ran.
func (w *world) unfurnished() string {
	k := w.Certificate
	switch {
	case !w.Auth.Whole():
		return "makes a Pod that finds no system passwords"
	case k != nil && k.Copied == "" && w.desired.Problem == "":
		return "makes a Pod that finds no certificate"
	case k != nil && k.Offered == "" && w.desired.Problem != "":
		return "makes a Pod while its certificate cannot be used"
	}
	return ""
}

// provisions: a node gets a Pod under the same conditions as a new one.
func (w *world) provisions(a *actions.ProvisionNodes) string {
	pods := 0
	for _, name := range a.Nodes {
		if w.node(name).Pod == nil {
			pods++
		}
	}
	return cmp.Or(w.uncounted(pods), w.unfurnished())
}

// createsUnfurnished: new nodes are made once the rest of the cluster's objects are there.
func (w *world) createsUnfurnished() string {
	if w.desired.Problem == "" && len(w.Objects) < len(w.desired.Objects) {
		return "makes nodes that nobody can find: their Service is not there"
	}
	return w.unfurnished()
}

// locksOut: the users that servers load must be those of today's passwords among others.
func (w *world) locksOut() string {
	if operator, _ := w.SystemHashes(); len(operator) == 0 {
		return "writes down users without the operator and the replicas"
	}
	return ""
}

// guardsTheDeleted: to an object that is being deleted Kubernetes lets no finalizer be added, and says so each time.
func (w *world) guardsTheDeleted() string {
	if w.Cluster.Deleting {
		return "guards a cluster that is being deleted"
	}
	return ""
}

// votes counts the primaries that the server knows, and those of them that can vote.
func (w *world) votes(s *engine.Server) (alive, all int) {
	for i := range s.Peers {
		if p := &s.Peers[i]; len(p.Slots) > 0 {
			all++
			if w.serverOf(p.ID) != nil {
				alive++
			}
		}
	}
	return alive, all
}

// asksInVain: who asks for votes that too few are left to give does not become the primary, and in an orderly failover
// the primary lets its clients wait for nothing.
func (w *world) asksInVain(heir string) string {
	if alive, all := w.votes(w.node(heir).Server); 2*alive <= all {
		return "asks for votes that too few are left to give: " + heir
	}
	return ""
}

// passesOverTheVoters: to take over without a vote may make two primaries of a shard, and is for when nobody can vote.
func (w *world) passesOverTheVoters(heir string) string {
	if alive, all := w.votes(w.node(heir).Server); 2*alive > all {
		return "takes over without a vote, though the others could elect: " + heir
	}
	return ""
}
