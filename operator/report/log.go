package report

import (
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
)

// A diary logs decisions: each that acts, and of those that wait or find nothing to do only the first of a row.
type diary struct {
	mu   sync.Mutex
	last map[types.NamespacedName]string
}

func newDiary() *diary { return &diary{last: map[types.NamespacedName]string{}} }

func (d *diary) write(log logr.Logger, p Pass) {
	changed := d.changed(p)
	for _, f := range p.Failures {
		log.Error(f.Err, "passed over", "rule", f.Rule)
	}
	switch {
	case p.Err != nil || p.Decision.Err != nil:
		// The error is returned to the loop, which logs it once.
		log.V(1).Info("failed", fields(p)...)
	case p.Decision.Acts():
		log.Info("acted", fields(p)...)
	case changed && p.Decision.Idle():
		log.Info("settled", fields(p)...)
	case changed:
		log.Info("waiting", fields(p)...)
	default:
		log.V(1).Info("looked", fields(p)...)
	}
}

// changed says that the pass came to another conclusion than the one before.
func (d *diary) changed(p Pass) bool {
	line := p.Decision.Rule + "\n" + p.Decision.Because + "\n" + p.Decision.Waiting
	d.mu.Lock()
	defer d.mu.Unlock()
	was, known := d.last[p.key()]
	d.last[p.key()] = line
	return !known || was != line
}

func (d *diary) forget(key types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.last, key)
}

// fields are the decision as it is logged. What an action touches comes from its String, which holds no secret.
func fields(p Pass) []any {
	if !p.complete() {
		return nil
	}
	d := p.Decision
	all := []any{"action", d.Action, "rule", d.Rule, "because", d.Because}
	if s := step(d); s != "" {
		all = append(all, "step", s)
	}
	if d.Waiting != "" {
		all = append(all, "waiting", d.Waiting)
	}
	if p.Desired.Problem != "" {
		all = append(all, "problem", p.Desired.Problem)
	}
	return all
}
