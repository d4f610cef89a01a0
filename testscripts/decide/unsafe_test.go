package decide

import (
	"cmp"
	"slices"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/topology"
)

// unsafe says what is wrong with carrying out the decision, "" when nothing is.
func (w *world) unsafe(d engine.Decision) string {
	if w.Cluster.Paused && !w.Cluster.Deleting && d.Acts() {
		return "acts on a paused cluster"
	}
	if fault := cmp.Or(w.unsafeForCredentials(d), w.unsafeForProgress(d)); fault != "" {
		return fault
	}
	switch a := d.Args.(type) {
	case *actions.DeleteNodes:
		return w.deletesTheLiving(a)
	case *actions.ForgetMembers:
		return w.forgetsTheLiving(a)
	case *actions.RecordSettings:
		return w.recordsUnseen(a)
	case *actions.PrepareServers:
		return w.handsOutHeldSlots(a)
	default:
		return cmp.Or(w.unsafeForObjects(d), w.unsafeForShards(d))
	}
}

// unsafeForObjects is about the steps that make or change objects of Kubernetes.
func (w *world) unsafeForObjects(d engine.Decision) string {
	switch a := d.Args.(type) {
	case *actions.SetBudget:
		return w.exposes(a)
	case *actions.CreateNodes:
		return cmp.Or(w.createsTooMuch(a), w.uncounted(len(a.Nodes)), w.createsUnfurnished())
	case *actions.ProvisionNodes:
		return w.provisions(a)
	case *actions.ApplyObjects:
		return cmp.Or(w.takesUpTheRefused(true), w.locksOut())
	case *actions.GuardCluster:
		return w.guardsTheDeleted()
	case *actions.CopyCertificate:
		return w.takesUpTheRefused(a.Secret != w.Certificate.CopiedFrom)
	case *actions.RecordTarget:
		return w.takesUpTheRefused(true)
	}
	return ""
}

func (w *world) takesUpTheRefused(news bool) string {
	if w.desired.Problem != "" && news {
		return "takes up a spec that does not resolve"
	}
	return ""
}

// unsafeForShards is about the steps that change who holds which slots.
func (w *world) unsafeForShards(d engine.Decision) string {
	switch a := d.Args.(type) {
	case *actions.FailOver:
		return cmp.Or(w.failsOverToTheUnready(a.Succession), w.asksInVain(a.Succession.Node))
	case *actions.ForceFailover:
		return cmp.Or(w.replacesTheLiving(a.Succession, false), w.asksInVain(a.Succession.Node))
	case *actions.TakeOver:
		return cmp.Or(w.replacesTheLiving(a.Succession, true), w.passesOverTheVoters(a.Succession.Node), w.passesOverTheSilent(a.Succession))
	case *actions.ReturnReplicas:
		return w.discards(a)
	case *actions.RetireNodes:
		return cmp.Or(w.retiresTheNeeded(a), w.retiresUncounted(a))
	case *actions.MoveSlots:
		return cmp.Or(w.movesToTheUnready(a.Moves), w.movesBeforeRepairs())
	case *actions.CarrySlots:
		return cmp.Or(w.movesToTheUnready(a.Moves), w.movesBeforeRepairs())
	}
	return ""
}

// createsTooMuch: while the specs do not resolve, what is lost is replaced and
// nothing else; and no shard gets more servers of today's specs than it needs.
func (w *world) createsTooMuch(a *actions.CreateNodes) string {
	if w.desired.Problem != "" && w.Cluster.Kept == nil {
		return "makes something new from a spec that does not resolve"
	}
	target := w.accepted()
	if w.Cluster.Target != nil { // a bootstrap builds what it began with, whatever is edited
		target = *w.Cluster.Target
	}
	fit := map[int]int{}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if stays(n) && (w.desired.Problem != "" || n.Spec.Image == w.desired.Node.Image) {
			fit[n.ShardIndex]++
		}
	}
	for _, n := range a.Nodes {
		if fit[n.ShardIndex]++; fit[n.ShardIndex] > 1+target.ReplicasPerShard {
			return "makes more servers than a shard is to have"
		}
	}
	return ""
}

// accepted is the topology of the last specs that could be carried out.
func (w *world) accepted() engine.Topology {
	if w.desired.Problem != "" && w.Cluster.Kept != nil {
		return *w.Cluster.Kept
	}
	return w.desired.Topology
}

// stays says that nothing speaks against the node's Pod.
func stays(n *engine.Node) bool {
	p := n.Pod
	return p != nil && !p.Ended() && !p.Deleting && !p.Cordoned && !p.HostLost && !n.Deleting
}

// failsOverToTheUnready: an orderly failover needs a primary that lives and a
// replica that has all it has.
func (w *world) failsOverToTheUnready(s engine.Succession) string {
	heir, old := w.node(s.Node), w.serverOf(s.PrimaryID)
	switch {
	case old == nil || len(old.Self().Slots) == 0:
		return "an orderly failover without a primary"
	case heir.Server == nil || heir.Server.PrimaryID != s.PrimaryID || !heir.Server.LinkUp:
		return "fails over to a server that is not in sync: " + s.Node
	}
	return ""
}

// discards: what a replica holds is thrown away when it follows another primary.
func (w *world) discards(a *actions.ReturnReplicas) string {
	for _, at := range a.Attachments {
		s := w.node(at.Node).Server
		if s == nil || s.Role != engine.Replica || w.serverOf(s.PrimaryID) == nil && !w.leavesACopy(s.PrimaryID) {
			return "throws away what may be the last copy: " + at.Node
		}
		if own := w.serverOf(at.PrimaryID); own == nil || own.Role != engine.Primary {
			return "lets a replica follow one that is no primary: " + at.Node
		}
	}
	return ""
}

// leavesACopy says that a server of the primary's own shard is in the cluster as its replica.
func (w *world) leavesACopy(primary string) bool {
	at := slices.IndexFunc(w.Nodes, func(n engine.Node) bool { return n.LastID == primary })
	return at >= 0 && slices.ContainsFunc(w.Nodes, func(n engine.Node) bool {
		return n.ShardIndex == w.Nodes[at].ShardIndex && n.Server != nil && n.Server.PrimaryID == primary
	})
}

func (w *world) replacesTheLiving(s engine.Succession, ended bool) string {
	heir := w.node(s.Node)
	if w.serverOf(s.PrimaryID) != nil {
		return "replaces a primary that answers"
	}
	if heir.Server == nil || heir.Server.PrimaryID != s.PrimaryID {
		return "makes a server the primary that was no replica of it: " + s.Node
	}
	old := w.node(s.Primary)
	if ended && old != nil && old.Pod != nil && !old.Pod.Ended() {
		return "takes over from a primary whose Pod runs: " + s.Primary
	}
	return ""
}

// retiresTheNeeded: who holds slots stays, and a shard that stays keeps as many
// servers in sync as it should have.
func (w *world) retiresTheNeeded(a *actions.RetireNodes) string {
	gone := map[string]bool{}
	for _, r := range a.Retirements {
		gone[r.Node] = true
		if s := w.node(r.Node).Server; s != nil && len(s.Self().Slots) > 0 || len(w.held[r.Node]) > 0 && s == nil {
			return "retires a server that holds slots: " + r.Node
		}
	}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if n.Server == nil || len(n.Server.Self().Slots) == 0 || n.ShardIndex >= w.accepted().Shards {
			continue
		}
		before, after := w.copiesOf(n.Server, nil), w.copiesOf(n.Server, gone)
		if after < before && after < 1+w.accepted().ReplicasPerShard {
			return "leaves a shard with too few copies: " + n.Name
		}
	}
	return ""
}

// copiesOf counts the primary and its replicas in sync, without those that are gone.
func (w *world) copiesOf(primary *engine.Server, gone map[string]bool) int {
	copies := 1
	for i := range w.Nodes {
		if s := w.Nodes[i].Server; s != nil && s.PrimaryID == primary.ID && s.LinkUp && !gone[w.Nodes[i].Name] {
			copies++
		}
	}
	return copies
}

func (w *world) deletesTheLiving(a *actions.DeleteNodes) string {
	for _, name := range a.Nodes {
		n := w.node(name)
		if n.Server != nil && n.Lifecycle == engine.Active {
			return "deletes a member that answers: " + name
		}
		if p := n.Pod; p != nil && p.HostLost && !p.Ended() && n.Lifecycle == engine.Active && !p.Deleting && w.needs(n.LastID) {
			return "gives up a primary that nobody has replaced: " + name
		}
	}
	return ""
}

// needs says that somebody who is heard gives slots to the member, or does not think that it has failed.
func (w *world) needs(id string) bool {
	return slices.ContainsFunc(w.Nodes, func(n engine.Node) bool {
		if n.Server == nil {
			return false
		}
		p := n.Server.Peer(id)
		return p != nil && (len(p.Slots) > 0 || !p.Failed)
	})
}

// forgetsTheLiving also covers the silent: a running Pod may hold data.
func (w *world) forgetsTheLiving(a *actions.ForgetMembers) string {
	for _, gone := range a.Departed {
		for i := range w.Nodes {
			n := &w.Nodes[i]
			if n.LastID == gone.ID && n.Pod != nil && !n.Pod.Ended() {
				return "forgets a member whose Pod runs: " + n.Name
			}
			if n.Server != nil && n.Server.PrimaryID == gone.ID {
				return "forgets the primary of a living replica: " + n.Name
			}
		}
	}
	return ""
}

// handsOutHeldSlots also covers the silent: a server that only the operator
// cannot hear goes on serving its slots.
func (w *world) handsOutHeldSlots(a *actions.PrepareServers) string {
	for _, p := range a.Preparations {
		for i := range w.Nodes {
			n := &w.Nodes[i]
			if n.Name != p.Node && n.Pod != nil && !n.Pod.Ended() && overlap(w.held[n.Name], p.Slots) {
				return "hands out slots that " + n.Name + " holds"
			}
		}
		w.held[p.Node] = append(w.held[p.Node], p.Slots...)
	}
	return ""
}

func (w *world) movesToTheUnready(moves []engine.Move) string {
	for _, m := range moves {
		from, to := w.node(m.From).Server, w.node(m.To).Server
		if from == nil || to == nil || to.Role != engine.Primary {
			return "moves slots from or to a server that is no primary: " + m.From + ", " + m.To
		}
		var held topology.Set
		held.Add(from.Self().Slots...)
		for _, r := range m.Slots {
			if topology.Count(held.Within(r)) != r.Len() {
				return "moves slots that the source does not hold: " + m.From
			}
		}
	}
	return ""
}

// movesBeforeRepairs: while a member is gone its shard may have one copy, and what moves loads it.
func (w *world) movesBeforeRepairs() string {
	for i := range w.Nodes {
		if n := &w.Nodes[i]; n.Lifecycle == engine.Active && (n.Pod == nil || n.Pod.Ended()) {
			return "moves slots before " + n.Name + " is replaced"
		}
	}
	return ""
}

// passesOverTheSilent: one of the shard that runs and does not answer may have received more than the heir.
func (w *world) passesOverTheSilent(s engine.Succession) string {
	heir := w.node(s.Node)
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if n.ShardIndex == heir.ShardIndex && n.Server == nil && n.LastID != "" && n.LastID != s.PrimaryID && living(n) && !n.Pod.HostLost {
			return "takes over while " + n.Name + " may have more"
		}
	}
	return ""
}

func overlap(a, b []engine.SlotRange) bool {
	return slices.ContainsFunc(a, func(x engine.SlotRange) bool {
		return slices.ContainsFunc(b, func(y engine.SlotRange) bool { return x.From <= y.To && y.From <= x.To })
	})
}
