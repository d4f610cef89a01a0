package controller

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"valkey.gomomento.com/operator/engine"
)

// A streak is a row of passes over one cluster that came to the same decision. It sets the pace and nothing else: an
// operator that forgets it decides the same.
type streak struct {
	// repeats is how often the decision came again, 0 the first time.
	repeats int
	// lasted is how long ago it came first.
	lasted time.Duration
}

// streaks counts the rows of all clusters.
type streaks struct {
	mu   sync.Mutex
	rows map[types.NamespacedName]row
}

type row struct {
	decision string
	repeats  int
	since    time.Time
}

func newStreaks() *streaks { return &streaks{rows: map[types.NamespacedName]row{}} }

// count notes a decision and says which row it belongs to. What a rule waits for may change in a row: a wait that
// gets shorter is still the same wait.
func (s *streaks) count(key types.NamespacedName, d engine.Decision, now time.Time) streak {
	decision := d.Rule
	if text, ok := d.Args.(fmt.Stringer); ok {
		decision += " " + text.String()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	last, known := s.rows[key]
	if !known || last.decision != decision {
		s.rows[key] = row{decision: decision, since: now}
		return streak{}
	}
	last.repeats++
	s.rows[key] = last
	return streak{repeats: last.repeats, lasted: now.Sub(last.since)}
}

func (s *streaks) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.rows, key)
}
