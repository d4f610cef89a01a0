package traffic

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"valkey.gomomento.com/operator/engine/topology"
)

func TestTagsAreSpreadOverAllSlots(t *testing.T) {
	perBucket := map[int]int{}
	for i, tag := range spread() {
		if tag.slot*tagCount/topology.SlotCount != i || topology.SlotOf(tag.text) != tag.slot {
			t.Errorf("tag %d is %+v", i, tag)
		}
		perBucket[tag.bucket()]++
	}
	if len(perBucket) != BucketCount || perBucket[0] != tagCount/BucketCount {
		t.Errorf("tags per bucket: %v", perBucket)
	}
}

func TestReadingsAreJudged(t *testing.T) {
	e := entry{key: "k", sent: 7, acked: 5}
	for value, want := range map[string]verdict{
		"":      older,
		"k=4":   older,
		"k=5":   right,
		"k=6":   right, // sent after it, and nobody said that it was not written
		"k=7":   right,
		"k=8":   alien,
		"k=0":   alien,
		"k=x":   alien,
		"other": alien,
		"j=5":   alien,
	} {
		if got := e.judge(value); got != want {
			t.Errorf("%q is judged %d, want %d", value, got, want)
		}
	}
	if never := (&entry{key: "k", sent: 1}); never.judge("") != right || never.judge("k=1") != right {
		t.Error("a write that was not acknowledged may be there or not")
	}
}

func newTestLedger() *ledger { return newLedger("r", spread()[:2], 1) }

func TestAnOverwriteDoesNotHideALoss(t *testing.T) {
	l := newTestLedger()
	e := l.open[0]
	first := e.write()
	l.acknowledged(0, "")
	e.write()
	l.acknowledged(0, first)
	e.write()
	l.acknowledged(0, first) // the second write was acknowledged, and is not what the third replaced
	if l.lost != 1 || l.wrong != 0 || len(l.faults) != 1 {
		t.Errorf("%d lost, %d wrong: %q", l.lost, l.wrong, l.faults)
	}
}

func TestAWriteInDoubtEndsItsKey(t *testing.T) {
	l := newTestLedger()
	old := l.open[1]
	value := old.write()
	l.unknown(1)
	if l.open[1].key == old.key || topology.SlotOf(l.tags[1].text) != l.tags[1].slot {
		t.Errorf("%s is still in use", old.key)
	}
	written := l.written()
	if len(written) != 1 || written[0] != old {
		t.Fatalf("written: %v", written)
	}
	l.settle(old, value)
	l.settle(old, "")
	if l.lost+l.wrong != 0 {
		t.Errorf("either is right, but: %q", l.faults)
	}
}

func TestAReadThatGoesBackIsWrongOnce(t *testing.T) {
	l := newTestLedger()
	e := l.open[0]
	first := e.write()
	l.acknowledged(0, "")
	second := e.write()
	l.acknowledged(0, first)
	l.read(0, second)
	if l.wrong != 0 {
		t.Fatalf("wrong: %q", l.faults)
	}
	l.read(0, first)
	l.read(0, "")
	l.read(0, "traffic:somebody=1")
	if l.wrong != 2 || l.lost != 0 {
		t.Errorf("%d wrong, %d lost: %q", l.wrong, l.lost, l.faults)
	}
}

// TestTheLedgerCountsExactly lets a server lose some of the acknowledged writes, at any time, and the ledger must
// find each of them and nothing else. One loss cannot be seen by anyone: that of a write whose key then took another
// without a word.
func TestTheLedgerCountsExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, server, lost := newLedger("r", spread()[:4], 2), map[string]string{}, map[string]int{}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			place, tag := l.turn()
			e := l.open[place]
			ofTag(t, e.key, tag)
			replaced := server[e.key]
			value := e.write()
			switch rapid.SampledFrom([]string{"acknowledged", "refused", "done without a word", "not done", "acknowledged and lost"}).Draw(t, "what happens") {
			case "acknowledged":
				server[e.key] = value
				l.acknowledged(place, replaced)
			case "refused":
			case "done without a word":
				if e.judge(replaced) == older {
					lost[e.key]--
				}
				server[e.key] = value
				l.unknown(place)
			case "not done":
				l.unknown(place)
			case "acknowledged and lost":
				l.acknowledged(place, replaced)
				lost[e.key]++
			}
		}
		for _, e := range l.written() {
			l.settle(e, server[e.key])
		}
		want := 0
		for _, n := range lost {
			want += n
		}
		if l.lost != want || l.wrong != 0 {
			t.Fatalf("%d lost and %d wrong, want %d and 0: %q", l.lost, l.wrong, want, l.faults)
		}
	})
}

func ofTag(t *rapid.T, key string, tag tag) {
	if topology.SlotOf(tag.text) != tag.slot || !strings.HasPrefix(key, "traffic:r:{"+tag.text+"}:") {
		t.Fatalf("%s is not of tag %s", key, tag.text)
	}
}

func TestGapsAreMeasuredFromAckToAck(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	var g gauge
	for _, ms := range []int{10, 12, 11, 50, 60} {
		g.ack(at(ms))
	}
	if got, want := g.end(at(70)), (Gap{38 * time.Millisecond, at(12)}); got != want {
		t.Errorf("longest gap is %v, want %v", got, want)
	}
	if got, want := g.end(at(170)), (Gap{100 * time.Millisecond, at(70)}); got != want {
		t.Errorf("with nothing after it the longest gap is %v, want %v", got, want)
	}
}
