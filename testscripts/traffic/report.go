package traffic

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// A Report is what became of a run.
type Report struct {
	Began time.Time
	// Length is the time from Start to Stop.
	Length time.Duration
	// Acks are acknowledged writes, Reads the readings in the middle of the run, Errors the commands that failed.
	Acks, Reads, Errors int
	// Mishaps are the first distinct errors.
	Mishaps []Mishap
	// Keys is how many keys were read back at the end.
	Keys int
	// Lost are acknowledged writes that are gone: their key holds an older value or none. Wrong are readings of a value
	// that was never written to that key, at any time, and readings that went back during the run.
	Lost, Wrong int
	// Faults are the first of these in words.
	Faults []string
	// Gap is the longest time without an acknowledged write anywhere, Buckets those of each range of slots.
	Gap     Gap
	Buckets [BucketCount]Gap
	// Stall is the longest time for which this client itself did not run. A gap of that length at that time is its own.
	Stall Gap
}

// Longest is the longest gap of any bucket, and which one it was.
func (r Report) Longest() (bucket int, gap Gap) {
	for i, g := range r.Buckets {
		if g.Length > gap.Length {
			bucket, gap = i, g
		}
	}
	return bucket, gap
}

// String tells the report on a few lines.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d writes acknowledged in %.1fs, %d read, %d errors, %d keys read back: %d lost, %d wrong\n",
		r.Acks, r.Length.Seconds(), r.Reads, r.Errors, r.Keys, r.Lost, r.Wrong)
	bucket, longest := r.Longest()
	fmt.Fprintf(&b, "longest write gap: %s anywhere; %s in slots %d-%d; the client itself stood still for %s\n",
		r.tell(r.Gap), r.tell(longest), bucket*BucketSlots, (bucket+1)*BucketSlots-1, r.tell(r.Stall))
	b.WriteString("write gaps by slots:")
	for i, g := range r.Buckets {
		fmt.Fprintf(&b, " %d-%d %s", i*BucketSlots, (i+1)*BucketSlots-1, ms(g.Length))
	}
	b.WriteString("\n")
	for _, m := range r.Mishaps {
		fmt.Fprintf(&b, "%d times from +%.3fs: %s\n", m.Count, m.First.Seconds(), m.Text)
	}
	for _, f := range r.Faults {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}

func (r Report) tell(g Gap) string {
	return fmt.Sprintf("%s at +%.3fs", ms(g.Length), g.From.Sub(r.Began).Seconds())
}

func ms(d time.Duration) string { return fmt.Sprintf("%dms", d.Round(time.Millisecond).Milliseconds()) }

func (r *Run) report(stopped time.Time) Report {
	rep := Report{Began: r.began, Length: stopped.Sub(r.began), Stall: r.stall, Gap: r.overall.end(stopped)}
	for i := range r.buckets {
		rep.Buckets[i] = r.buckets[i].end(stopped)
	}
	for _, l := range r.lanes {
		rep.Acks += l.acks
		rep.Reads += l.reads
		rep.Keys += len(l.ledger.written())
		rep.Lost += l.ledger.lost
		rep.Wrong += l.ledger.wrong
		rep.Faults = append(rep.Faults, l.ledger.faults...)
	}
	rep.Faults = rep.Faults[:min(len(rep.Faults), maxFaults)]
	rep.Errors, rep.Mishaps = r.mishaps.tell()
	return rep
}

// A Mishap is an error text with how often it came.
type Mishap struct {
	Text  string
	Count int
	// First is when it came first, counted from the start.
	First time.Duration
}

// mishaps counts errors by their text without its numbers, which are addresses and slots.
type mishaps struct {
	mu    sync.Mutex
	total int
	seen  []Mishap
	kinds []string
}

// maxMishaps is how many kinds of errors are told.
const maxMishaps = 8

var digits = regexp.MustCompile(`[0-9]+`)

func (m *mishaps) add(err error, since time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.total++
	kind := digits.ReplaceAllString(err.Error(), "0")
	for i := range m.kinds {
		if m.kinds[i] == kind {
			m.seen[i].Count++
			return
		}
	}
	if len(m.kinds) < maxMishaps {
		m.kinds = append(m.kinds, kind)
		m.seen = append(m.seen, Mishap{Text: err.Error(), Count: 1, First: since})
	}
}

func (m *mishaps) tell() (int, []Mishap) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.total, m.seen
}

// String tells the first of each kind.
func (m *mishaps) String() string {
	_, seen := m.tell()
	texts := make([]string, len(seen))
	for i := range seen {
		texts[i] = seen[i].Text
	}
	return strings.Join(texts, "; ")
}
