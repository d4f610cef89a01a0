package controller

import (
	"errors"
	"testing"
	"time"

	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/topology"
	"valkey.gomomento.com/operator/operator/report"
)

// waiting is a pass over a forming cluster that waits for its servers.
func waiting() report.Pass {
	return report.Pass{
		Decision: engine.Decision{Action: engine.Hold, Rule: "wait"},
		Facts: &engine.Facts{
			Cluster: engine.ClusterFacts{Creating: true},
			Spec:    engine.SpecFacts{Accepted: true},
			Nodes:   engine.NodeFacts{Names: []string{"a"}},
		},
	}
}

func TestWhatFollowsFromAPass(t *testing.T) {
	idle := func(p *report.Pass, _ *streak) {
		p.Decision.Rule, p.Facts.Cluster.Creating = "", false
		p.Facts.Nodes.Answering, p.Facts.Members.Agreed = 1, true
		p.Facts.Slots.Agreed, p.Facts.Slots.Known, p.Facts.Slots.Covered = true, true, topology.SlotCount
	}
	joining := []engine.Node{{Name: "a", Lifecycle: engine.Joining, Server: &engine.Server{}}}
	syncs := []engine.Node{{Name: "a", Lifecycle: engine.Active, Server: &engine.Server{Role: engine.Replica}}}
	for name, c := range map[string]struct {
		change    func(*report.Pass, *streak)
		from, til time.Duration
	}{
		"something was done: look at once":                   {func(p *report.Pass, _ *streak) { p.Decision.Action = "meet" }, atOnce, atOnce},
		"the same was done again: not quite at once":         {func(p *report.Pass, s *streak) { p.Decision.Action, s.repeats = "meet", 2 }, 4 * atOnce, 4 * atOnce},
		"the same was done for ever: at a bounded pace":      {func(p *report.Pass, s *streak) { p.Decision.Action, s.repeats = "meet", 1000 }, atOnceLimit, atOnceLimit},
		"servers are at work: soon":                          {func(*report.Pass, *streak) {}, soon, soon},
		"servers have been at work for long: later":          {func(_ *report.Pass, s *streak) { s.lasted = soonFor }, later, later},
		"Pods are starting: their events wake":               {func(p *report.Pass, _ *streak) { p.Facts.Nodes.Starting = []string{"a"} }, resync - resyncJitter, resync + resyncJitter},
		"there are no nodes yet: events wake":                {func(p *report.Pass, _ *streak) { p.Facts.Nodes.Names = nil }, resync - resyncJitter, resync + resyncJitter},
		"a refused spec: an edit wakes":                      {func(p *report.Pass, _ *streak) { p.Facts.Spec.Accepted = false }, resync - resyncJitter, resync + resyncJitter},
		"paused: an edit wakes":                              {func(p *report.Pass, _ *streak) { p.Facts.Cluster.Paused = true }, resync - resyncJitter, resync + resyncJitter},
		"being deleted: the end of what it owns wakes":       {func(p *report.Pass, _ *streak) { p.Facts.Cluster.Deleting = true }, resync - resyncJitter, resync + resyncJitter},
		"idle: the slow resync":                              {idle, resync - resyncJitter, resync + resyncJitter},
		"idle while a node joins: soon":                      {func(p *report.Pass, s *streak) { idle(p, s); p.Snapshot.Nodes = joining }, soon, soon},
		"idle while a node has been joining for long: later": {func(p *report.Pass, s *streak) { idle(p, s); p.Snapshot.Nodes, s.lasted = joining, soonFor }, later, later},
		"idle while a replica syncs: nothing else tells":     {func(p *report.Pass, s *streak) { idle(p, s); p.Snapshot.Nodes = syncs }, soon, soon},
		"idle while servers disagree: nothing else tells":    {func(p *report.Pass, s *streak) { idle(p, s); p.Facts.Members.Agreed = false }, soon, soon},
		"idle while owners differ: nothing else tells":       {func(p *report.Pass, s *streak) { idle(p, s); p.Facts.Slots.Agreed = false }, soon, soon},
		"idle while a server knows no owner: nothing tells":  {func(p *report.Pass, s *streak) { idle(p, s); p.Facts.Slots.Known = false }, soon, soon},
		"idle while a slot is nobody's: nothing else tells":  {func(p *report.Pass, s *streak) { idle(p, s); p.Facts.Slots.Covered-- }, soon, soon},
		"idle with a certificate on its way: nothing tells":  {func(p *report.Pass, s *streak) { idle(p, s); p.Facts.Certificate.Unserved = []string{"a"} }, soon, soon},
		"idle with a silent server: nothing else tells":      {func(p *report.Pass, s *streak) { idle(p, s); p.Facts.Nodes.Silent = []string{"a"} }, soon, soon},
	} {
		t.Run(name, func(t *testing.T) {
			pass, row := waiting(), streak{}
			c.change(&pass, &row)
			got, err := conclude(pass, row).result()
			if err != nil {
				t.Fatal(err)
			}
			if got.RequeueAfter < c.from || got.RequeueAfter > c.til {
				t.Errorf("again after %s, want %s to %s", got.RequeueAfter, c.from, c.til)
			}
		})
	}
}

func TestAFailureIsLeftToTheRateLimiter(t *testing.T) {
	cause := errors.New("no")
	if got, err := failed(cause).result(); !errors.Is(err, cause) || got.RequeueAfter != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestStreaksCountTheSameDecision(t *testing.T) {
	s, start := newStreaks(), time.Now()
	meet := engine.Decision{Action: "meet", Rule: "meet", Args: named("a")}
	other := engine.Decision{Action: "meet", Rule: "meet", Args: named("b")}
	for i, step := range []struct {
		decision engine.Decision
		after    time.Duration
		want     streak
	}{
		{meet, 0, streak{}},
		{meet, time.Second, streak{1, time.Second}},
		{meet, 3 * time.Second, streak{2, 3 * time.Second}},
		{other, 4 * time.Second, streak{}},
		{meet, 5 * time.Second, streak{}},
	} {
		if got := s.count(shop, step.decision, start.Add(step.after)); got != step.want {
			t.Errorf("step %d: %v, want %v", i, got, step.want)
		}
	}
	s.count(billing, meet, start)
	s.forget(shop)
	if got := s.count(shop, meet, start); got != (streak{}) {
		t.Errorf("after forgetting: %v", got)
	}
	if got := s.count(billing, meet, start); got.repeats != 1 {
		t.Errorf("another cluster's row was touched: %v", got)
	}
}

type named string

func (n named) String() string { return string(n) }
