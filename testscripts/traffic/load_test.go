package traffic_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"valkey.gomomento.com/operator/testscripts/traffic"
)

const (
	megabytes = 5
	ttlEvery  = 10
)

func TestALoadIsCheckedByValueAndTimeToLive(t *testing.T) {
	nodes := newCluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	began := time.Now()
	load, err := traffic.Fill(ctx, traffic.FillOptions{Access: access(nodes), Name: "a", Megabytes: megabytes, TTLEvery: ttlEvery})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d MB were written in %s", megabytes, time.Since(began))
	verify := func() traffic.LoadReport {
		t.Helper()
		began := time.Now()
		report, err := load.Verify(ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s (in %s)", report, time.Since(began))
		return report
	}
	if report := verify(); !report.Whole() || report.Keys != megabytes*1000 {
		t.Error("not all is there")
	}

	keys := strings.Fields(nodes[0].Do(t, "EVAL return(table.concat(redis.call('KEYS','fill:*'),'\\n')) 0"))
	var lasting, living string
	for _, key := range keys {
		if strings.HasSuffix(key, "0") {
			living = key
		} else {
			lasting = key
		}
	}
	nodes[0].Do(t, "PERSIST "+living)
	if report := verify(); report.TTL != 1 || report.Missing+report.Wrong != 0 {
		t.Error("a key has no time to live any more, and it is not said")
	}
	nodes[0].Do(t, "SET "+lasting+" nonsense")
	nodes[1].Do(t, "FLUSHALL")
	if report := verify(); report.Wrong != 1 || report.Missing < megabytes*1000/4 || report.Whole() {
		t.Error("keys are missing and one is wrong, and it is not said")
	}
}
