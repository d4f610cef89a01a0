package cluster

import (
	"bufio"
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// idleFor is how long an idle cluster is watched: several slow resyncs.
const idleFor = 75 * time.Second

// TestIdleClusterCostsNothing watches a formed cluster that nobody touches: no
// write goes to the API server, and a pass asks each server once.
func TestIdleClusterCostsNothing(t *testing.T) {
	menu(t, "idle", "200m", "64Mi")
	c := newCluster(namespace(t), "idle", "idle", 3, 1)
	bootstrap(t, c, convergenceLimit)
	time.Sleep(5 * time.Second) // the last Events of the bootstrap are still being written

	key := client.ObjectKeyFromObject(c)
	before, asked := counters(t), questions(t, key)
	time.Sleep(idleFor)
	after, askedAfter := counters(t), questions(t, key)

	if writes := after.writes - before.writes; writes != 0 {
		t.Errorf("%.0f writes to the API server in %s of idling", writes, idleFor)
	}
	passes := after.passes - before.passes
	if passes == 0 {
		t.Errorf("no pass in %s: the slow resync does not run", idleFor)
	}
	for pod, n := range askedAfter {
		if trips := n - asked[pod] - ownQuestions; trips > int(passes) {
			t.Errorf("%s was asked %d times in %.0f passes", pod, trips, passes)
		}
	}
	t.Logf("%s idle: %.0f passes, %.0f writes", idleFor, passes, after.writes-before.writes)
	removed(t, c)
}

// ownQuestions is how often this test asks each server in the time it counts.
const ownQuestions = 1

type counted struct{ writes, passes float64 }

// counters reads the operator's own metrics.
func counters(t *testing.T) counted {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+shared.operator.metrics+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var c counted
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), "} ")
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			continue
		}
		switch {
		case strings.HasPrefix(name, "rest_client_requests_total{") && !strings.Contains(name, `method="GET"`):
			c.writes += n
		case strings.HasPrefix(name, `controller_runtime_reconcile_total{controller="valkeycluster"`):
			c.passes += n
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return c
}

// questions is how often each server was asked who is who, by Pod. An
// observation asks it once, with all its other questions in the same packet
// (the connection pool's own tests count the packets).
func questions(t *testing.T, key client.ObjectKey) map[string]int {
	t.Helper()
	members, err := shared.members(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, m := range members {
		out[m.pod] = m.asked
	}
	return out
}
