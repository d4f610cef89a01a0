package traffic

import (
	"sync"
	"time"
)

// A Gap is a time in which nothing was acknowledged.
type Gap struct {
	Length time.Duration
	// From is when the last acknowledgement before it came.
	From time.Time
}

// A gauge finds the longest gap between acknowledgements, from the first one or from begin.
type gauge struct {
	mu      sync.Mutex
	last    time.Time
	longest Gap
}

// begin opens a gap if there was no acknowledgement yet.
func (g *gauge) begin(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.last.IsZero() {
		g.last = now
	}
}

// ack records an acknowledgement, or the end of the measurement.
func (g *gauge) ack(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.last.IsZero() {
		if length := now.Sub(g.last); length > g.longest.Length {
			g.longest = Gap{Length: length, From: g.last}
		}
	}
	if now.After(g.last) { // lanes that finish together may come here in another order
		g.last = now
	}
}

// end closes a gap that is still open, and returns the longest one.
func (g *gauge) end(now time.Time) Gap {
	g.ack(now)
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.longest
}

// A stopwatch for this process itself: it should wake every stallTick, and how late it wakes is how long nothing here ran.
const stallTick = 2 * time.Millisecond

// watchStalls measures until stop is closed how long this process, and with it every lane, was kept from running.
func watchStalls(stop <-chan struct{}) Gap {
	var longest Gap
	ticker := time.NewTicker(stallTick)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-stop:
			return longest
		case <-ticker.C:
		}
		now := time.Now()
		if late := now.Sub(last) - stallTick; late > longest.Length {
			longest = Gap{Length: late, From: last}
		}
		last = now
	}
}
