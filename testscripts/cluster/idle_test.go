package cluster

import (
	"bufio"
	"context"
	"fmt"
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
	menu(t, "idle", "200m")
	c := newCluster(namespace(t), "idle", "idle", 3, 1)
	bootstrap(t, c, convergenceLimit)
	time.Sleep(5 * time.Second) // the last Events of the bootstrap are still being written

	key := client.ObjectKeyFromObject(c)
	before, reads := counters(t), serverReads(t, key)
	time.Sleep(idleFor)
	after, readsAfter := counters(t), serverReads(t, key)

	if writes := after.writes - before.writes; writes != 0 {
		t.Errorf("%.0f writes to the API server in %s of idling", writes, idleFor)
	}
	passes := after.passes - before.passes
	if passes == 0 {
		t.Errorf("no pass in %s: the slow resync does not run", idleFor)
	}
	for pod, n := range readsAfter {
		// one read is this test's own question
		if trips := n - reads[pod] - testReads; trips > passes {
			t.Errorf("%s was asked %.0f times in %.0f passes", pod, trips, passes)
		}
	}
	t.Logf("%s idle: %.0f passes, %.0f writes", idleFor, passes, after.writes-before.writes)
	removed(t, c)
}

// testReads are the reads that members costs each server: connecting, and its questions.
const testReads = 8

type counted struct{ writes, passes float64 }

// counters reads the operator's own metrics.
func counters(t *testing.T) counted {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:18080/metrics", nil)
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

// serverReads is how often each server read from a connection, by Pod.
func serverReads(t *testing.T, key client.ObjectKey) map[string]float64 {
	t.Helper()
	members, err := shared.members(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, m := range members {
		var n float64
		if _, err := fmt.Sscanf(m.reads, "total_reads_processed:%f", &n); err != nil {
			t.Fatalf("%s: %q: %v", m.pod, m.reads, err)
		}
		out[m.pod] = n
	}
	return out
}
