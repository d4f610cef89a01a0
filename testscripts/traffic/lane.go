package traffic

import (
	"context"
	"time"
)

// A lane writes one thing after the other to keys of its own.
type lane struct {
	run           *Run
	ledger        *ledger
	router        *router
	acks, reads   int
	started       chan struct{} // closed by the first acknowledgement
	sinceLastRead int
}

// work writes until the run stops. A command that is under way then is finished, so that the end leaves no doubt.
func (l *lane) work(ctx context.Context) {
	due := time.Now()
	for {
		select {
		case <-l.run.stopping:
			return
		case <-ctx.Done():
			return
		case <-time.After(time.Until(due)):
		}
		pause := l.run.options.Pace
		if !l.step(ctx) {
			pause = max(pause, retryPace)
		}
		due = due.Add(pause)
		if now := time.Now(); due.Before(now) {
			due = now // a lane that was held up does not make up for it in a burst
		}
	}
}

// step writes one value, now and then reads it again, and says whether all went well.
func (l *lane) step(ctx context.Context) bool {
	place, t := l.ledger.turn()
	if !l.write(ctx, place, t) {
		return false
	}
	if l.sinceLastRead++; l.sinceLastRead < l.run.options.ReadEvery {
		return true
	}
	l.sinceLastRead = 0
	return l.read(ctx, place, t)
}

func (l *lane) write(ctx context.Context, place int, t tag) bool {
	e := l.ledger.open[place]
	value := e.write()
	replaced, err := l.router.set(ctx, t, e.key, value)
	if err != nil {
		l.run.failed(err)
		if !notWritten(err) {
			l.ledger.unknown(place)
		}
		return false
	}
	l.ledger.acknowledged(place, replaced)
	l.acknowledged(t)
	return true
}

// acknowledged tells the gauges.
func (l *lane) acknowledged(t tag) {
	now := time.Now()
	l.run.overall.ack(now)
	l.run.buckets[t.bucket()].ack(now)
	if l.acks == 0 {
		close(l.started)
	}
	l.acks++
	l.run.acks.Add(1)
}

func (l *lane) read(ctx context.Context, place int, t tag) bool {
	value, err := l.router.get(ctx, t, l.ledger.open[place].key)
	if err != nil {
		l.run.failed(err)
		return false
	}
	l.ledger.read(place, value)
	l.reads++
	return true
}
