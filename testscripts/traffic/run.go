package traffic

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valkey-io/valkey-go"
)

const (
	// retryPace is the least pause after an error: short beside the failovers to be measured, long enough not to
	// take the machine from the servers that are to mend it.
	retryPace = 5 * time.Millisecond
	// firstAck is how long Start waits for every lane's first acknowledged write.
	firstAck = 10 * time.Second
	// keysPerTag makes a key's turn come every two seconds or so: soon enough to see a loss while it happens, and few
	// enough keys to be read back in a moment.
	keysPerTag = 128
)

// Options say what to write, and how.
type Options struct {
	Access
	// Lanes is how many writes are under way at once, 1 to 64. The default is one for each bucket, so that one which
	// waits for a dead server keeps no other bucket waiting.
	Lanes int
	// Pace is the time from one write of a lane to the next; the default is 4 ms. Those 4000 writes a second take half a
	// core, and leave the rest of a small machine to the servers.
	Pace time.Duration
	// Timeout is the time of one command at one server; the default is 250 ms.
	Timeout time.Duration
	// ReadEvery is after how many writes a lane reads its latest; the default is 8.
	ReadEvery int
}

func (o *Options) setDefaults() {
	if o.Lanes == 0 {
		o.Lanes = BucketCount
	}
	if o.Pace == 0 {
		o.Pace = 4 * time.Millisecond
	}
	if o.Timeout == 0 {
		o.Timeout = 250 * time.Millisecond
	}
	if o.ReadEvery == 0 {
		o.ReadEvery = 8
	}
}

// A Run is traffic that flows until it is stopped.
type Run struct {
	options  Options
	client   valkey.Client
	began    time.Time
	stopping chan struct{}
	cancel   context.CancelFunc
	working  sync.WaitGroup
	lanes    []*lane
	acks     atomic.Int64
	overall  gauge
	buckets  [BucketCount]gauge
	stall    Gap
	mishaps  mishaps
}

// Start begins to write and returns when every lane has had its first write acknowledged. The traffic ends with ctx,
// or properly with Stop.
func Start(ctx context.Context, o Options) (*Run, error) {
	o.setDefaults()
	if o.Lanes < 1 || o.Lanes > tagCount {
		return nil, fmt.Errorf("start traffic: %d lanes, want 1 to %d", o.Lanes, tagCount)
	}
	client, err := o.client()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &Run{options: o, client: client, began: time.Now(), stopping: make(chan struct{}), cancel: cancel}
	r.working.Go(func() { r.stall = watchStalls(r.stopping) })
	r.open(ctx)
	if err := r.awaitAcks(ctx); err != nil {
		r.end()
		return nil, err
	}
	for i := range r.buckets {
		r.buckets[i].begin(time.Now())
	}
	return r, nil
}

// open starts the lanes. Each has a contiguous part of the slots.
func (r *Run) open(ctx context.Context) {
	tags := spread()
	name := strconv.FormatInt(r.began.UnixNano(), 36)
	shared := &shunned{}
	for i := range r.options.Lanes {
		from, to := i*tagCount/r.options.Lanes, (i+1)*tagCount/r.options.Lanes
		l := &lane{
			run:     r,
			ledger:  newLedger(name, tags[from:to], keysPerTag),
			router:  &router{client: r.client, timeout: r.options.Timeout, shunned: shared},
			started: make(chan struct{}),
		}
		r.lanes = append(r.lanes, l)
		r.working.Go(func() { l.work(ctx) })
	}
}

func (r *Run) awaitAcks(ctx context.Context) error {
	limit := time.After(firstAck)
	for _, l := range r.lanes {
		select {
		case <-l.started:
		case <-ctx.Done():
			return ctx.Err()
		case <-limit:
			return fmt.Errorf("start traffic: no write to slot %d was acknowledged in %s: %s", l.ledger.tags[0].slot, firstAck, &r.mishaps)
		}
	}
	return nil
}

// Acks is how many writes have been acknowledged so far.
func (r *Run) Acks() int64 { return r.acks.Load() }

func (r *Run) failed(err error) { r.mishaps.add(err, time.Since(r.began)) }

// end stops the lanes and closes the client.
func (r *Run) end() {
	close(r.stopping)
	r.working.Wait()
	r.cancel()
	r.client.Close()
}

// Stop ends the traffic, reads every key back, and reports. The error is for keys that could not be read before ctx
// ended: of these the report does not know.
func (r *Run) Stop(ctx context.Context) (Report, error) {
	close(r.stopping)
	r.working.Wait()
	stopped := time.Now()
	defer r.client.Close()
	defer r.cancel()
	left := r.readBack(ctx)
	report := r.report(stopped)
	if len(left) > 0 {
		return report, fmt.Errorf("read back the last %d of %d keys: %w", len(left), report.Keys, errors.Join(firstErrors(left)...))
	}
	return report, nil
}
