package actions

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"time"

	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/topology"
)

// fateLimit is how long the API server may take to say what became of a primary: clients wait meanwhile. It is asked of ends
// that the network does not show; where the network shows one it need not be.
const fateLimit = time.Second

// ForceFailover lets a replica ask for the votes of the primaries at once, in
// the place of a primary that is certainly dead. Valkey by itself would wait for
// the node timeout first.
//
// A majority of the primaries still has to vote for it, so that a mistake of the
// operator alone cannot give a shard two primaries.
//
// That a Pod is gone, deleted by force, is no sign that its server is: a kubelet
// ends it a second later. As long as the replica hears it, it is asked for an
// orderly failover, which loses nothing.
type ForceFailover struct {
	Succession engine.Succession `expr:"succession"`
}

// String implements Action.
func (a *ForceFailover) String() string { return describe(a.Succession) }

// Execute implements Action.
func (a *ForceFailover) Execute(ctx context.Context, env Env) error {
	if a.Succession.Node == "" {
		return nil
	}
	heard, silences := canvass(ctx, env, "replication")
	replica := heard.heir(a.Succession)
	if replica == nil || !heard.electable(replica) {
		return nil
	}
	hears := replica.hearsPrimary(a.Succession.PrimaryID)
	dead := errors.Is(silences[a.Succession.Primary], syscall.ECONNREFUSED) && heard.haveLost(replica, a.Succession.PrimaryID)
	if dead && !hears {
		return succeed(ctx, env, a.Succession, "FORCE") // whatever the API server knows
	}
	timed, cancel := context.WithTimeout(ctx, fateLimit)
	defer cancel()
	f, err := fateOf(timed, env, a.Succession.Primary) // on an error it is notEnded: then the network's word has to do
	switch {
	case f == struckOff && hears:
		return succeed(ctx, env, a.Succession)
	case f == notEnded && !dead:
		return err
	default:
		return succeed(ctx, env, a.Succession, "FORCE")
	}
}

// hearsPrimary says that the replica's links to its primary stand, that of replication and that of the bus. The primary
// then still serves clients, and what it acknowledges must not be left behind. Where a machine lost its power, the first
// stands until repl-timeout; the second is doubted after the node timeout.
func (v *voice) hearsPrimary(id string) bool {
	return infoField(v.info, "master_link_status") == "up" && v.trusts(id)
}

// heir is the voice of the replica that is to succeed, as long as the primary
// does not answer, nobody has seen another in its place, and no other replica has
// received more of its writes, nor may have: one that somebody reaches and that
// does not answer; nil otherwise.
//
// That a server sees the primary without slots is no sign of another: one that
// joined after the primary's death has never heard what it held.
func (vs voices) heir(s engine.Succession) *voice {
	replica := vs.of(s.ID)
	if replica == nil || replica.node != s.Node || vs.of(s.PrimaryID) != nil || !replica.inShard(s) {
		return nil
	}
	var held topology.Set
	before, _ := replica.member(s.PrimaryID)
	held.Add(before.Slots...)
	for _, v := range vs {
		if vs.seesOther(v, before, &held) || vs.missReplica(v, s.PrimaryID) {
			return nil
		}
		if v.self().PrimaryID == s.PrimaryID && v.offset() > replica.offset() {
			return nil
		}
	}
	return replica
}

// seesOther says that the server sees another in the place of the primary that held these slots, unless that is old news.
func (vs voices) seesOther(v voice, primary engine.Peer, held *topology.Set) bool {
	return slices.ContainsFunc(v.members, func(m engine.Peer) bool {
		return m.ID != primary.ID && held.Overlaps(m.Slots...) && !vs.oldNews(m, primary, held)
	})
}

// oldNews says that what a server knows of a member is old news. The member says itself that it holds none of these slots,
// with no lower an epoch: it gave them to the primary, which died before it could tell everybody. Or nobody reaches it nor
// hears it, and the primary has had a higher epoch since.
func (vs voices) oldNews(m, primary engine.Peer, held *topology.Set) bool {
	if own := vs.of(m.ID); own != nil {
		self := own.self()
		return !held.Overlaps(self.Slots...) && self.Epoch >= m.Epoch
	}
	return !m.Reachable() && m.Epoch < primary.Epoch
}

// missReplica says that one of the servers reaches a replica of the primary that does not answer.
func (vs voices) missReplica(v voice, primary string) bool {
	return slices.ContainsFunc(v.members, func(m engine.Peer) bool {
		return m.PrimaryID == primary && m.Reachable() && vs.of(m.ID) == nil
	})
}

// offset is how many bytes of its primary's writes a replica has received.
func (v *voice) offset() int64 { return offsetIn(v.info, "slave_repl_offset") }

// haveLost says that most of the voters that the replica knows have lost their link to its primary.
func (vs voices) haveLost(replica *voice, primaryID string) bool {
	voters, lost := replica.voters(), 0
	for _, voter := range voters {
		if v := vs.of(voter.ID); v != nil {
			if dead, known := v.member(primaryID); known && (!dead.Linked || dead.Failed) {
				lost++
			}
		}
	}
	return lost > len(voters)/2
}
