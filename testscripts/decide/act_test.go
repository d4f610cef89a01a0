package decide

import (
	"fmt"
	"maps"
	"slices"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/engine"
)

// act changes the world as the last decision's action would, when all goes well.
func (w *world) act() error {
	if w.actOnCredentials() {
		return nil
	}
	switch a := w.last.Args.(type) {
	case *actions.GuardCluster:
		w.Cluster.Finalizer = true
	case *actions.RemoveCluster:
		w.Nodes, w.Objects, w.Auth, w.Strays, w.Cluster.Finalizer = nil, nil, nil, nil, false
	case *actions.ApplyObjects:
		w.Objects = slices.Clone(w.desired.Objects)
	case *actions.SetBudget:
		w.Budget = &a.Keep
	case *actions.RemoveStrays:
		w.Strays = nil
	case *actions.RecordTarget:
		target := w.desired.Topology
		w.Cluster.Target, w.Cluster.State = &target, "Creating"
	case *actions.DeclareActive:
		w.Cluster.Target, w.Cluster.State = nil, "Active"
	case *actions.CreateNodes:
		for _, n := range a.Nodes {
			w.addNode(n.ShardIndex)
		}
	default:
		return w.actOnNodes()
	}
	return nil
}

func (w *world) actOnNodes() error {
	switch a := w.last.Args.(type) {
	case *actions.DeleteNodes:
		w.Nodes = slices.DeleteFunc(w.Nodes, func(n engine.Node) bool { return slices.Contains(a.Nodes, n.Name) })
	case *actions.ProvisionNodes:
		for _, name := range a.Nodes {
			n := w.node(name)
			n.HasConfig, n.Pod = true, &engine.Pod{Phase: "Pending"}
		}
	case *actions.ActivateNodes:
		for _, name := range a.Nodes {
			w.node(name).Lifecycle = engine.Active
		}
	case *actions.SetSettings:
		for _, c := range a.Changes {
			w.setSettings(c)
		}
	case *actions.RecordSettings:
		for _, c := range a.Changes {
			w.recordSettings(c)
		}
	case *actions.AnnotatePods:
		for _, name := range a.Nodes {
			w.node(name).Pod.Annotations = maps.Clone(w.desired.PodAnnotations)
		}
	default:
		return w.actOnServers()
	}
	return nil
}

func (w *world) actOnServers() error {
	switch a := w.last.Args.(type) {
	case *actions.ForgetMembers:
		for _, gone := range a.Departed {
			w.forget(gone)
		}
	case *actions.LoadACL:
		w.loadUsers(a.Nodes)
	case *actions.EvictUsers:
		for _, name := range a.Nodes {
			delete(w.node(name).Pod.Annotations, engine.EvictAnnotation)
		}
	case *actions.CopyCertificate:
		w.copyCertificate(a)
	case *actions.LoadCertificate:
		w.loadCertificate(a)
	default:
		return w.actOnMembers()
	}
	return nil
}

// actOnMembers is for what makes servers members.
func (w *world) actOnMembers() error {
	switch a := w.last.Args.(type) {
	case *actions.PrepareServers:
		for _, p := range a.Preparations {
			w.prepare(p)
		}
	case *actions.IntroduceServers:
		for _, in := range a.Introductions {
			for _, m := range in.Meets {
				w.meet(w.node(in.Node).Server, w.node(m.Node).Server)
			}
		}
	case *actions.AttachReplicas:
		w.attach(a.Attachments)
	case *actions.ReturnReplicas:
		w.attach(a.Attachments)
	default:
		return w.actOnShards()
	}
	return nil
}

// actOnShards is for what changes who holds which slots.
func (w *world) actOnShards() error {
	switch a := w.last.Args.(type) {
	case *actions.FailOver:
		w.succeed(a.Succession)
	case *actions.ForceFailover:
		w.succeed(a.Succession)
	case *actions.TakeOver:
		w.succeed(a.Succession)
	case *actions.RetireNodes:
		for _, r := range a.Retirements {
			w.retire(r)
		}
	case *actions.MoveSlots:
		w.move(a.Moves)
	case *actions.CarrySlots:
		w.move(a.Moves)
	case *actions.RecallMoves:
		for _, r := range a.Recalls {
			w.node(r.Node).Server.Migrations = nil
		}
	case *actions.UnmarkSlots:
		for _, u := range a.Unmarkings {
			w.node(u.Node).Server.Marks = nil
		}
	default:
		return fmt.Errorf("the paper world does not know how to carry out %q", w.last.Action)
	}
	return nil
}

func (w *world) attach(all []engine.Attachment) {
	for _, at := range all {
		w.follow(w.node(at.Node).Server, at.PrimaryID)
	}
}

func (w *world) prepare(p engine.Preparation) {
	s := w.node(p.Node).Server
	maps.Copy(s.Settings, p.Settings)
	me := s.Self()
	me.Epoch, s.CurrentEpoch = max(me.Epoch, p.Epoch), max(s.CurrentEpoch, p.Epoch)
	me.Slots = append(me.Slots, p.Slots...)
}

func (w *world) forget(gone engine.Oblivion) {
	for _, name := range gone.By {
		n := w.node(name)
		if n == nil {
			continue // it left in the same step
		}
		s := n.Server
		s.Peers = slices.DeleteFunc(s.Peers, func(p engine.Peer) bool { return p.ID == gone.ID })
	}
}
