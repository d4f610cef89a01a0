package actions

import (
	"context"
	"strings"
	"time"

	"valkey.gomomento.com/operator/engine"
)

const (
	// promotionPatience is how long a succession is watched after it was asked
	// for. It takes some tens of milliseconds; what takes longer is left for the
	// next look. It must stay well below the five seconds after which Valkey gives
	// a manual failover up (cluster-manual-failover-timeout).
	promotionPatience = 500 * time.Millisecond
	// promotionInterval is how often the replica is asked meanwhile.
	promotionInterval = 5 * time.Millisecond
)

// describe is the succession for people.
func describe(s engine.Succession) string {
	if s.Primary == "" {
		return s.Node + " after " + shortID(s.PrimaryID)
	}
	return s.Node + " after " + s.Primary
}

// succeed tells the replica to become primary, and waits for a moment until it
// is in everyone's eyes, so that the next look finds it so. That it is not yet
// is no error: the next look tells.
func succeed(ctx context.Context, env Env, s engine.Succession, how ...string) error {
	if _, err := ask(ctx, env, s.Node, command("CLUSTER FAILOVER", how...)); err != nil {
		return err
	}
	return poll(ctx, promotionPatience, promotionInterval, func() (bool, error) {
		texts, err := ask(ctx, env, s.Node, command("ROLE"))
		if err != nil || !strings.HasPrefix(texts[0], "master") {
			return false, err
		}
		heard, _ := canvass(ctx, env, "replication")
		return heard.agreeOn(s), nil
	})
}

// agreeOn says that all see the successor in the place of the primary.
func (vs voices) agreeOn(s engine.Succession) bool {
	for _, v := range vs {
		now, _ := v.member(s.ID)
		if before, known := v.member(s.PrimaryID); len(now.Slots) == 0 || known && len(before.Slots) > 0 {
			return false
		}
	}
	return true
}

// poll asks until it is done, fails, or the patience is over.
func poll(ctx context.Context, patience, interval time.Duration, ask func() (bool, error)) error {
	for end := time.Now().Add(patience); ; {
		if done, err := ask(); done || err != nil {
			return err
		}
		if time.Now().After(end) || !pause(ctx, interval) {
			return nil
		}
	}
}

// inShard says that the replica and the primary are those of the plan still: one
// follows the other, which in the replica's eyes holds the shard's slots. A
// replica that knows better, since another has succeeded, says so here.
func (v view) inShard(s engine.Succession) bool {
	primary, known := v.member(s.PrimaryID)
	return v.id == s.ID && v.self().PrimaryID == s.PrimaryID && known && primary.Role == engine.Primary && len(primary.Slots) > 0
}

// electable says that a majority of the voters can elect the replica, and that
// every voter that answers can be asked and can reply. A vote travels over the
// voter's own link to the replica: while that is down, votes are granted and
// lost, and an election that fails keeps writes waiting for seconds.
func (vs voices) electable(replica *voice) bool {
	voters, votes := replica.voters(), 0
	for _, voter := range voters {
		v := vs.of(voter.ID)
		if v == nil {
			continue
		}
		back, known := v.member(replica.id)
		if !voter.Linked || !known || !back.Reachable() {
			return false
		}
		votes++
	}
	return votes > len(voters)/2
}
