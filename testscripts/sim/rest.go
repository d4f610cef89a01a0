package sim

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// settleLimit is in how much time a world without faults must come to rest.
const settleLimit = 4 * time.Minute

// quiet is how long a world at rest is watched for decisions and writes to the API server. It is longer than a minute, which
// primaries wait for without new servers before they spread over zones; spreads is how often they may.
const (
	quiet   = 70 * time.Second
	spreads = 4
)

func (w *World) doSettle(args []string) error {
	limit := settleLimit
	if len(args) > 0 {
		var err error
		if limit, err = time.ParseDuration(args[0]); err != nil {
			return err
		}
	}
	if !w.pass(limit, w.atRest) {
		w.line.Hold()
		defer w.line.LetGo()
		w.judge.accuse("not at rest after %s: %s", limit, w.unrest())
		return nil
	}
	calm := false
	for range spreads {
		if calm = w.calm(); calm {
			break
		}
	}
	w.line.Hold()
	defer w.line.LetGo()
	if !calm {
		w.judge.accuse("something is written to the API server or decided time and again, with nothing to do: %s", w.unrest())
	}
	w.judge.settled()
	return nil
}

// calm lets time pass and says whether operators have decided and written nothing meanwhile.
func (w *World) calm() bool {
	count := func() (n int) {
		w.line.Hold()
		defer w.line.LetGo()
		for _, times := range w.judge.fired {
			n += times
		}
		return n + w.judge.writes
	}
	before := count()
	w.pass(quiet, func() bool { return false })
	return count() == before
}

// atRest says that for a second now no operator has had anything to do: what it did last has come back by every watch.
func (w *World) atRest() bool {
	if !w.idle() {
		w.restless = w.line.Now()
	}
	return w.line.Now().Sub(w.restless) > time.Second+w.stale
}

// idle says that no operator has anything to do, and that nobody waits for anything.
func (w *World) idle() bool {
	for _, o := range w.operators {
		if !o.dead && !o.idle {
			return false
		}
	}
	spec := w.cluster()
	return spec != nil && spec.Status.State == v1alpha1.Active && spec.Status.ObservedGeneration == spec.Generation &&
		!slices.ContainsFunc(w.nodes(), func(n *v1alpha1.ValkeyNode) bool { return n.DeletionTimestamp != nil })
}

func (w *World) unrest() string {
	text := "there is no cluster"
	if spec := w.cluster(); spec != nil {
		text = spec.Status.Message
	}
	for _, o := range w.operators {
		if !o.dead {
			text += fmt.Sprintf("; %s: last %q, error %v", o.name, o.last, o.err)
		}
	}
	return text
}

func (w *World) doRest([]string) error {
	if !w.pass(settleLimit, w.atRest) {
		w.line.Hold()
		defer w.line.LetGo()
		w.judge.accuse("not at rest after %s: %s", settleLimit, w.unrest())
	}
	return nil
}

// doUntil lets time pass until so many more decisions are made; what the last of them does is under way then.
func (w *World) doUntil(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	last := 0
	w.pass(time.Minute, func() bool {
		if last == 0 {
			last = w.judge.decisions + n
		}
		return w.judge.decisions >= last
	})
	return nil
}

func (w *World) doTick(args []string) error {
	d, err := time.ParseDuration(args[0])
	if err == nil {
		w.pass(d, func() bool { return false })
	}
	return err
}

// pass lets time pass, event by event, until it is over or stop says so.
func (w *World) pass(d time.Duration, stop func() bool) bool {
	for end := time.Now().Add(d); ; {
		next := w.line.Next()
		if next.IsZero() || next.After(end) {
			next = end
		}
		time.Sleep(time.Until(next))
		w.line.Hold()
		stopped := stop() || w.hasty && len(w.judge.faults) > 0
		w.line.LetGo()
		if stopped || !time.Now().Before(end) {
			return stopped
		}
	}
}
