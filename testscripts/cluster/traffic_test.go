package cluster

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"valkey.gomomento.com/operator/testscripts/copies"
	"valkey.gomomento.com/operator/testscripts/traffic"
)

const (
	// readBackLimit bounds the reading back of all keys, in a cluster that is whole again.
	readBackLimit = 30 * time.Second
	// trafficPace makes 2000 writes a second in all: servers, Kubernetes and client share a small machine here.
	trafficPace = 8 * time.Millisecond
	// rediscovery is how often a client that knows the cluster by its name looks who is behind it.
	rediscovery = time.Second
	// loadLimit bounds the writing or reading of a load: 50 MB take a few seconds.
	loadLimit = 3 * time.Minute
)

// cmdTraffic starts the verifying client, and stops it with the bars it has to keep.
func cmdTraffic(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	switch {
	case len(args) > 1 && args[0] == "start" && s.traffic == nil:
		words, login := options(ts, args[1:], "user", "password", "by")
		access, err := s.access(context.Background(), s.key(words[0]), login["user"], login["password"])
		ts.Check(err)
		if login["by"] == "name" {
			access.Seeds = []string{net.JoinHostPort(strings.TrimPrefix(host(s.key(words[0]), ""), "."), "6379")}
			access.Rediscover = rediscovery
		}
		if access.TLS != nil {
			access.Authorities = s.trusted.pool.Load
		}
		s.traffic, err = traffic.Start(context.Background(), traffic.Options{Access: access, Pace: trafficPace})
		ts.Check(err)
		ts.Defer(func() {
			if s.traffic != nil { // the script failed before it came to its end
				report, err := s.stopTraffic()
				ts.Logf("traffic until the failure: %s%v", report, err)
			}
		})
	case len(args) > 0 && args[0] == "stop" && s.traffic != nil:
		_, bars := options(ts, args[1:], "gap", "lost", "wrong", "dropped")
		report, err := s.stopTraffic()
		ts.Logf("%s", report)
		ts.Check(err)
		keep(ts, report, bars)
		s.found.report = &report
	default:
		ts.Fatalf("traffic: start CLUSTER [user=U password=P] [by=name], then stop [gap=DURATION] [lost=N] [wrong=N] [dropped=N]")
	}
}

func (s *scenario) stopTraffic() (traffic.Report, error) {
	run := s.traffic
	s.traffic = nil
	ctx, cancel := context.WithTimeout(context.Background(), readBackLimit)
	defer cancel()
	return run.Stop(ctx)
}

// keep fails the script when the report is beyond the bars.
func keep(ts *testscript.TestScript, report traffic.Report, bars map[string]string) {
	for _, m := range report.Mishaps {
		if strings.Contains(m.Text, "x509") {
			ts.Fatalf("a client could not verify a server: %s", m.Text)
		}
	}
	if allowed := count(ts, bars["lost"]); report.Lost > allowed {
		ts.Fatalf("%d acknowledged writes are lost, at most %d may be", report.Lost, allowed)
	}
	if allowed := count(ts, bars["wrong"]); report.Wrong > allowed {
		ts.Fatalf("%d reads were wrong, at most %d may be", report.Wrong, allowed)
	}
	if allowed, set := bars["dropped"]; set && dropped(report) > count(ts, allowed) {
		ts.Fatalf("%d commands failed on connections that were dropped or refused, at most %s may", dropped(report), allowed)
	}
	if bars["gap"] == "" {
		return
	}
	// A machine that did not let the client run for so long did not let the servers run either.
	if bucket, gap := report.Longest(); gap.Length > limit(ts, bars["gap"])+report.Stall.Length {
		ts.Fatalf("no write to slots %d-%d was acknowledged for %s, at most %s are allowed, and the %s for which the client itself did not run",
			bucket*traffic.BucketSlots, (bucket+1)*traffic.BucketSlots-1, gap.Length, bars["gap"], report.Stall.Length)
	}
}

// dropped counts the commands that failed because a connection was lost or refused, and not because an answer came late.
func dropped(report traffic.Report) int {
	n := 0
	for _, m := range report.Mishaps {
		late := strings.HasSuffix(m.Text, "deadline exceeded") || strings.HasSuffix(m.Text, "i/o timeout")
		if !late && !strings.Contains(m.Text, "MOVED") {
			n += m.Count
		}
	}
	return n
}

// count reads a number; none is 0.
func count(ts *testscript.TestScript, text string) int {
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	ts.Check(err)
	return n
}

// cmdFill loads the cluster with keys.
func cmdFill(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	words, o := options(ts, args, "user", "password", "ttl")
	if len(words) != 2 || !strings.HasSuffix(words[1], "MB") {
		ts.Fatalf("fill: CLUSTER NUMBERMB [ttl=EVERY] [user=U password=P]")
	}
	ctx, cancel := context.WithTimeout(context.Background(), loadLimit)
	defer cancel()
	access, err := s.access(ctx, s.key(words[0]), o["user"], o["password"])
	ts.Check(err)
	began := time.Now()
	load, err := traffic.Fill(ctx, traffic.FillOptions{
		Access: access, Name: fmt.Sprintf("%s-%d", s.ns, len(s.loads[words[0]])),
		Megabytes: count(ts, strings.TrimSuffix(words[1], "MB")), TTLEvery: count(ts, o["ttl"]),
	})
	ts.Check(err)
	if s.loads == nil {
		s.loads = map[string][]*traffic.Load{}
	}
	s.loads[words[0]] = append(s.loads[words[0]], load)
	ts.Logf("%s were written in %.1fs", words[1], time.Since(began).Seconds())
}

// cmdFilled checks all that fill has written, by value, over connections of its own.
func cmdFilled(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	if len(args) != 1 || len(s.loads[args[0]]) == 0 {
		ts.Fatalf("filled: CLUSTER, after fill")
	}
	ctx, cancel := context.WithTimeout(context.Background(), loadLimit)
	defer cancel()
	now, err := s.access(ctx, s.key(args[0]), "", "")
	ts.Check(err)
	for _, load := range s.loads[args[0]] {
		report, err := load.Verify(ctx, now.Seeds...)
		ts.Check(err)
		ts.Logf("%s", report)
		if !report.Whole() {
			ts.Fatalf("the load is not whole")
		}
	}
}

// cmdWatch begins to count the synced copies of every slot.
func cmdWatch(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	words, login := options(ts, args, "user", "password")
	if len(words) != 3 || words[0] != "copies" || s.watch != nil {
		ts.Fatalf("watch: copies CLUSTER NUMBER [user=U password=P], once at a time")
	}
	o, err := s.watched(context.Background(), s.key(words[1]), count(ts, words[2]))
	ts.Check(err)
	if login["user"] != "" {
		o.User, o.Password = login["user"], login["password"]
	}
	s.watch = copies.Start(o)
	ts.Defer(func() {
		if s.watch != nil {
			ts.Logf("watched until the failure: %s", s.watch.Stop())
		}
	})
}

// cmdUnwatch ends it, with the bars it has to keep.
func cmdUnwatch(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	words, bars := options(ts, args, "below", "failovers", "least")
	if s.watch == nil || len(words) > 0 {
		ts.Fatalf("unwatch: [below=DURATION] [failovers=N] [least=N], after watch")
	}
	report := s.watch.Stop()
	s.watch = nil
	ts.Logf("%s", report)
	ts.Check(report.Err)
	if text, set := bars["below"]; set && report.Worst.Below.Length > limit(ts, text) {
		ts.Fatalf("fewer than %d synced copies for %s, at most %s are allowed", report.Target, report.Worst.Below.Length, text)
	}
	if text, set := bars["failovers"]; set && report.Worst.Failovers > count(ts, text) {
		ts.Fatalf("%d failovers of one shard, at most %s are allowed", report.Worst.Failovers, text)
	}
	if text, set := bars["least"]; set && report.Worst.Least < count(ts, text) {
		ts.Fatalf("as few as %d synced copies, at least %s must be there", report.Worst.Least, text)
	}
}
