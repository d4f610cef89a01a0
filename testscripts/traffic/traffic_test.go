package traffic_test

import (
	"strings"
	"testing"
	"time"

	"valkey.gomomento.com/operator/operator/valkey/valkeytest"
)

// enough is a number of writes in which each key of the run has had its turn.
const enough = 8000

func TestAHandOverLosesNothing(t *testing.T) {
	nodes := newCluster(t)
	run := start(t, nodes)
	more(t, run, enough/2)
	nodes[3].Do(t, "CLUSTER FAILOVER")
	nodes[3].AwaitPrimary(t)
	more(t, run, enough)
	report := stop(t, run)
	if report.Lost != 0 || report.Wrong != 0 || report.Acks < enough || report.Reads == 0 {
		t.Error("something was lost, wrong or not written")
	}
	if _, gap := report.Longest(); gap.Length > time.Second {
		t.Errorf("%s without a write", gap.Length)
	}
}

func TestAPrimaryThatDiesIsNotedAndItsReplicaFound(t *testing.T) {
	nodes := newCluster(t)
	run := start(t, nodes)
	more(t, run, enough/2)
	nodes[0].Kill()
	nodes[3].Do(t, "CLUSTER FAILOVER FORCE")
	nodes[3].AwaitPrimary(t)
	more(t, run, enough)
	report := stop(t, run)
	if report.Lost != 0 || report.Wrong != 0 {
		t.Error("something was lost or wrong")
	}
	if report.Errors == 0 {
		t.Error("nobody noticed that a primary died")
	}
	if report.Buckets[0].Length > time.Second {
		t.Errorf("%s without a write: the client takes longer than the failover", report.Buckets[0].Length)
	}
}

func TestWritesThatAReplicaNeverSawAreLost(t *testing.T) {
	nodes := newCluster(t)
	run := start(t, nodes)
	more(t, run, enough/2)
	nodes[3].Stop(t)
	nodes[0].Do(t, "CLIENT KILL TYPE replica") // or the kernel keeps what is sent, and the replica reads it all in the end
	more(t, run, enough/4)
	nodes[0].Kill()
	nodes[3].Continue(t)
	nodes[3].Do(t, "CLUSTER FAILOVER FORCE")
	more(t, run, 2*enough) // long enough for all keys to be written over
	if report := stop(t, run); report.Lost == 0 {
		t.Error("an overwrite has hidden that acknowledged writes were lost")
	}
}

func TestWhatIsFlushedIsLost(t *testing.T) {
	nodes := newCluster(t)
	run := start(t, nodes)
	more(t, run, enough/2)
	nodes[1].Do(t, "FLUSHALL")
	if report := stop(t, run); report.Lost == 0 || report.Wrong != 0 {
		t.Error("a shard was emptied, and nothing is lost, or something is wrong")
	}
}

func TestAStrangersValueIsWrong(t *testing.T) {
	nodes := newCluster(t)
	run := start(t, nodes)
	more(t, run, enough/2)
	for _, key := range strings.Fields(nodes[2].Do(t, "EVAL return(table.concat(redis.call('KEYS','traffic:*'),'\\n')) 0")) {
		nodes[2].Do(t, "SET "+key+" nonsense")
	}
	if report := stop(t, run); report.Wrong == 0 || report.Lost != 0 {
		t.Error("values were replaced by nonsense, and nothing is wrong, or something is lost")
	}
}

// TestAServerThatHangsLeavesNoDoubtBehind stops a primary with writes under way. It carries them out when it goes on,
// after the client has had others acknowledged, and that is neither lost nor wrong.
func TestAServerThatHangsLeavesNoDoubtBehind(t *testing.T) {
	nodes := newCluster(t)
	run := start(t, nodes)
	more(t, run, enough/2)
	for range 2 {
		nodes[0].Stop(t)
		time.Sleep(600 * time.Millisecond) // longer than a command's time, shorter than the node timeout
		nodes[0].Continue(t)
		more(t, run, enough/2)
	}
	report := stop(t, run)
	if report.Lost != 0 || report.Wrong != 0 || report.Errors == 0 {
		t.Error("a pause was taken for a loss, or not noticed")
	}
	if report.Gap.Length > report.Buckets[0].Length || report.Buckets[0].Length < 500*time.Millisecond {
		t.Error("the gap is not where the server hung")
	}
}

// TestAServerThatHasComeSinceIsFound moves slots to a server that the library has not heard of, while the client is on a
// detour: MOVED names an address that is not among the library's.
func TestAServerThatHasComeSinceIsFound(t *testing.T) {
	nodes := newCluster(t)
	run := start(t, nodes)
	more(t, run, enough/2)
	fresh := valkeytest.Join(t, "9.1", nodes)
	nodes[0].Stop(t)
	time.Sleep(300 * time.Millisecond) // longer than a command's time
	nodes[0].Continue(t)
	nodes[0].Do(t, "CLUSTER MIGRATESLOTS SLOTSRANGE 0 1023 NODE "+fresh.ID)
	more(t, run, enough)
	report := stop(t, run)
	if report.Lost != 0 || report.Wrong != 0 {
		t.Error("a move was taken for a loss")
	}
	for _, m := range report.Mishaps {
		if strings.Contains(m.Text, "MOVED") {
			t.Errorf("%d commands were not carried to the server that MOVED names", m.Count)
		}
	}
}
