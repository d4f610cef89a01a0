package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/testscripts/sim/kube"
	"valkey.gomomento.com/operator/testscripts/sim/model"
)

// A judge watches over what must never happen.
type judge struct {
	w *World
	// faults are what was found, in order.
	faults []string
	// trace are the decisions and what was done to the world, with their times.
	trace []string
	// fired counts decisions by their rule.
	fired             map[string]int
	decisions, writes int
	// before counts the decisions before the line of the script that is carried out.
	before int
	// rolled counts the failovers of each shard since the last edit, and disturbed says that a fault came after it.
	rolled    map[string]int
	disturbed bool
	// lastEdit is when the specs were edited last.
	lastEdit time.Duration
	// paused and removed are since when the cluster is, zero when it is not.
	paused, removed time.Duration
	// forgot is when somebody last let servers forget one by hand, and promoted when somebody last let a replica take over so;
	// zero when nobody has.
	forgot, promoted time.Duration
}

// race is how long before a command the world may have been another one: what an operator has just seen was true then.
const race = 5 * time.Second

// Whoever is forgotten by hand and lives comes and goes until the bans are over, with every server: real servers of Valkey 9.1
// that were told to meet it whenever they did not know it were told so 374 times in those 64 seconds. To introduce it each time
// is right, since nobody serves the slots of a primary that is not known.
const (
	introduction = "introduce-servers"
	forgotten    = 70 * time.Second
)

// tooMany decisions in one line of a script are no progress: the longest take a hundred.
const tooMany = 500

func (j *judge) now() time.Duration { return time.Since(j.w.started).Truncate(time.Millisecond) }

func (j *judge) tell(format string, args ...any) {
	j.trace = append(j.trace, fmt.Sprintf("%9s  ", j.now())+fmt.Sprintf(format, args...))
}

func (j *judge) accuse(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	j.tell("VIOLATION %s", text)
	j.faults = append(j.faults, text)
}

// decided notes a decision.
func (j *judge) decided(o *operator, rule string) {
	j.fired[rule]++
	if rule == introduction && j.forgot > 0 && j.now() < j.forgot+forgotten {
		j.before++
	}
	if j.decisions++; j.decisions == j.before+tooMany {
		j.accuse("%s decides over and over, in the end by rule %s", o.name, rule)
	}
	j.tell("%s: %s", o.name, o.last)
}

// edited begins a new roll, as far as the count of failovers goes.
func (j *judge) edited(args []string) {
	j.rolled, j.disturbed, j.lastEdit = map[string]int{}, false, j.now()
	if slices.Contains(args, "paused=true") {
		j.paused = j.now()
	}
	if slices.Contains(args, "paused=false") {
		j.paused = 0
	}
}

// wrote judges a write to the API server.
func (o *operator) wrote(verb, what string, obj client.Object) {
	j := &o.w.judge
	if _, sighting := obj.(*v1alpha1.ValkeyNode); !sighting || verb != "patch status of" {
		j.writes++ // when a node was last seen is written every few minutes
	}
	j.tell("%s: %s %s", o.name, verb, what)
	if verb != "patch status of" {
		j.meddling(verb + " " + what)
	}
	if c := j.w.cluster(); verb == "create" && (c == nil || c.DeletionTimestamp != nil && j.now() > j.removed+race) {
		j.accuse("%s of a cluster that is being deleted", verb+" "+what)
	}
	pod, is := obj.(*corev1.Pod)
	if verb != "delete" || !is || pod.DeletionTimestamp != nil {
		return
	}
	if s := o.w.servers.Find(pod.UID); s != nil && s.Alive() {
		j.removal(o, s, "delete "+what)
	}
}

// ordered judges a command that an operator gives to a server.
func (j *judge) ordered(operator string, s *model.Server, command []string) {
	words := strings.Join(command, " ")
	o := j.w.operator(operator)
	j.tell("%s → %s: %s", operator, s.Name, short(words))
	if operator == somebody {
		return
	}
	j.meddling("a command to " + s.Name)
	switch {
	case words == "CLUSTER FAILOVER TAKEOVER":
		j.takeover(s)
	case strings.HasPrefix(words, "CLUSTER FORGET"):
		j.forget(command[2])
	case command[0] == "SHUTDOWN":
		j.removal(o, s, "SHUTDOWN of "+s.Name)
	}
}

func short(text string) string {
	const enough = 120
	if len(text) > enough {
		return text[:enough] + "…"
	}
	return text
}

// meddling is whatever changes something: while a cluster is paused, nothing may.
func (j *judge) meddling(what string) {
	if j.paused > 0 && j.now() > j.paused+race+j.w.stale {
		j.accuse("%s while the cluster is paused", what)
	}
}

// takeover must not be while a majority of the voters can elect somebody. Who has given its slots away votes no more,
// whatever others believe.
func (j *judge) takeover(s *model.Server) {
	if s.IsPrimary() {
		return // It refuses: another operator was a moment earlier.
	}
	voters := slices.DeleteFunc(s.Voters(), func(v *model.Server) bool { return v != nil && v.Runs() && v.Slots() == 0 })
	for _, v := range voters {
		together := 0
		for _, u := range voters {
			if v != nil && u != nil && v.Runs() && u.Runs() && v.TalksTo(u) {
				together++
			}
		}
		if together > len(voters)/2 {
			j.accuse("%s takes over although %d of %d voters are together", s.Name, together, len(voters))
			return
		}
	}
}

// forget must not be of a member that lives and is to stay.
func (j *judge) forget(id string) {
	s := j.w.servers.ByID(id)
	if s == nil || !s.Alive() {
		return
	}
	node, pod := kube.Get[v1alpha1.ValkeyNode](j.w.api, namespace, s.Name), j.w.pod(s.Name)
	if node != nil && node.DeletionTimestamp == nil && node.Spec.Lifecycle == v1alpha1.LifecycleActive &&
		pod != nil && pod.UID == s.UID && pod.DeletionTimestamp == nil {
		j.accuse("%s is to be forgotten, and lives", s.Name)
	}
}

// removal must leave a shard the copies that the specs ask for, if the world has left them.
func (j *judge) removal(o *operator, s *model.Server, what string) {
	head := s
	if p := s.Primary(); p != nil {
		head = p
	}
	if !s.Runs() || head.Slots() == 0 || s != head && !s.InSync() || j.excused(s) {
		return
	}
	copies := 0
	for _, r := range j.w.servers.Servers() {
		if r == head || r.InSync() && r.Primary() == head {
			copies++
		}
	}
	if target := int(j.w.cluster().Spec.ReplicasPerShard) + 1; s == head || copies-1 < target {
		j.accuse("%s by rule %s leaves %d of %d copies", what, o.rule, copies-1, target)
	}
}

// excused says that a fault on the shard has just changed what is there, or that somebody else ends the server anyway.
func (j *judge) excused(s *model.Server) bool {
	pod, spec := j.w.pod(s.Name), j.w.cluster()
	if pod == nil || pod.DeletionTimestamp != nil || spec == nil || spec.DeletionTimestamp != nil {
		return true
	}
	since := j.w.line.Now().Add(-race)
	for _, other := range j.w.servers.All() {
		if shardOf(other) == shardOf(s) && other.Hurt(since) {
			return true
		}
	}
	return false
}

// shardOf is the digit in the server's name that tells its shard.
func shardOf(s *model.Server) string { return s.Name[len(clusterName)+1 : len(clusterName)+2] }

// succeeded counts failovers that an operator has brought about in a roll.
func (j *judge) succeeded(s *model.Server, agreed bool) {
	j.tell("%s is elected after %s", s.Name, s.Primary().Name)
	if !agreed || j.rolled == nil || j.now() < j.lastEdit+time.Second+j.w.stale {
		return // What was decided before the edit belongs to the roll before.
	}
	for _, o := range j.w.operators {
		if o.rule == "fail-over-to-replacement" {
			j.rolled[shardOf(s)]++
			if j.rolled[shardOf(s)] > 1 && !j.disturbed {
				j.accuse("shard %s has a second failover in one roll, to %s", shardOf(s), s.Name)
			}
			return
		}
	}
}
