package sim

import (
	"fmt"
	"strings"
)

// A sweep is one script over and over, disturbed after its first decision, its second, and so on: what a rule's conditions and
// an action's preconditions are for happens between two decisions.

// courses are what is disturbed: by its name, what comes before it and what brings the decisions about.
var courses = []struct{ name, before, begin string }{
	{"forming", "", "cluster 3 1"},
	{"rolling", "cluster 2 1\nrest", "edit tag=9.1.1"},
	{"scaling out", "cluster 2 1\nrest", "edit shards=3 replicas=2"},
	{"scaling in", "cluster 3 2\nrest", "edit shards=2 replicas=1"},
	{"rolling and scaling", "cluster 3 1\nrest", "edit tag=9.1.1 shards=2"},
	{"draining", "cluster 3 1\nrest", "cordon on primary 0\ncordon on replica 1"},
	{"healing", "cluster 3 1\nrest", "kill primary 0\nkill replica 1\ndelete primary 2"},
	{"healing without a quorum", "cluster 3 1\nrest", "kill primary 0\nkill primary 1"},
	{"replacing a shard", "cluster 3 1\nrest", "kill primary 0\nkill replica 0"},
	{"rotating passwords", "cluster 2 1\nrest", "edit passwords=new reads=reader"},
	{"setting", "cluster 2 1\nrest", "edit hz=12 annotation=a\nby-hand primary 0 CONFIG SET maxmemory-policy noeviction"},
	{"returning", "cluster 2 2\nrest", "by-hand replica 0 CLUSTER REPLICATE @primary/1\nremove users"},
	{"keeping passwords", "cluster 2 1\nrest", "remove secret\nremove budget"},
	{"spreading", "cluster 3 1\nrest", "by-hand replica 0 CLUSTER FAILOVER\nby-hand replica 1 CLUSTER FAILOVER"},
}

// disturbances are what comes in between, and how it ends.
var disturbances = []struct{ name, begin, end string }{
	{"paused", "edit paused=true\ntick 40s", "edit paused=false"},
	{"specs with a mistake", "edit reads=nobody\ntick 40s", "edit reads=writer"},
	{"deletion", "remove cluster", ""},
	{"another operator", "operator start operator-1\ntick 3s", "operator kill operator-0"},
	{"an operator that dies", "operator kill operator-0\noperator start operator-1", ""},
	{"caches that lag", "stale 4s\ntick 30s", "heal"},
	{"a primary that dies", "kill primary 1\ntick 15s", ""},
	{"a replica that dies", "kill replica 1\ntick 15s", ""},
	{"a primary that hangs", "hang primary 0\ntick 12s", "heal"},
	{"a replica that hangs", "hang replica 0\ntick 12s", "heal"},
	{"a primary that is cut off", "cut primary 1\ntick 20s", "heal"},
	{"a split", "cut primary 0,operator-0,api\ntick 20s", "heal"},
	{"requests that get lost", "flaky 40\ntick 20s", "heal"},
	{"a replica that lags", "lag replica 0 3s\ntick 10s", "heal"},
	{"a Secret that is deleted", "remove secret\ntick 5s", ""},
	{"a budget that is deleted", "remove budget\ntick 5s", ""},
	{"a service that is deleted", "remove service\ntick 5s", ""},
	{"a node that is deleted", "remove node primary 0\ntick 5s", ""},
	{"another edit", "edit tag=9.1.7 hz=17", ""},
	{"an edit that takes it back", "edit tag=9.1.0 shards=3 replicas=1", ""},
	{"a scaling out", "edit shards=4", ""},
	{"a scaling in", "edit shards=1 replicas=0", ""},
	{"a drain", "drain primary 1\ntick 60s", "heal"},
	{"a machine that is lost", "power off primary 0\ntick 40s", "heal"},
	{"a failover by hand", "by-hand replica 1 CLUSTER FAILOVER\ntick 2s", ""},
	{"a replica moved by hand", "by-hand replica 1 CLUSTER REPLICATE @primary/0\ntick 5s", ""},
	{"slots moved by hand", "by-hand primary 1 CLUSTER MIGRATESLOTS SLOTSRANGE 9000 9009 NODE @primary/0\ntick 5s", ""},
	{"a Pod that is deleted", "delete primary 0\ntick 5s", ""},
	{"a replica's Pod that is deleted", "delete replica 1\ntick 5s", ""},
}

// deepest is after how many decisions a sweep disturbs at the latest.
const deepest = 30

// stride is how far apart the sweeps are that have neighbouring numbers, so that a few of them are spread over all: a prime,
// which has no divisor in common with how many there are.
const stride = 9973

// sweepOf is one script of the sweeps, which are numbered.
func sweepOf(number int) (name, script string) {
	number = number * stride % sweepCount()
	course := courses[number%len(courses)]
	number /= len(courses)
	disturbance := disturbances[number%len(disturbances)]
	number /= len(disturbances)
	after := number%deepest + 1
	slow := ""
	if number/deepest%2 == 1 {
		slow, name = "slow operator-0 3s", ", by a slow operator"
	}
	var b strings.Builder
	parts := []string{fmt.Sprintf("seed %d", number+1), course.before, slow, course.begin}
	if course.before == "" {
		parts = []string{fmt.Sprintf("seed %d", number+1), course.begin, slow}
	}
	for _, part := range append(parts, fmt.Sprintf("until %d", after), disturbance.begin, disturbance.end) {
		if part != "" {
			b.WriteString(part + "\n")
		}
	}
	if disturbance.name == "deletion" {
		b.WriteString("gone\n")
	} else {
		b.WriteString("heal\nsettle\n")
	}
	return fmt.Sprintf("%s, after %d decisions %s%s", course.name, after, disturbance.name, name), b.String()
}

// sweepCount is how many sweeps there are.
func sweepCount() int { return len(courses) * len(disturbances) * deepest * 2 }
