package traffic

import (
	"context"
	"time"

	"github.com/valkey-io/valkey-go"
)

const (
	// readBatch is how many keys are read back in one go.
	readBatch = 200
	// readRetry is the pause before what could not be read is asked for again.
	readRetry = 100 * time.Millisecond
)

// An unread is a key that could not be read back, with the last error.
type unread struct {
	ledger *ledger
	entry  *entry
	err    error
}

// readBack reads every key that was ever written and settles it, and returns those that gave no answer until ctx ended.
func (r *Run) readBack(ctx context.Context) []unread {
	var open []unread
	for _, l := range r.lanes {
		for _, e := range l.ledger.written() {
			open = append(open, unread{ledger: l.ledger, entry: e})
		}
	}
	for len(open) > 0 {
		open = r.readOnce(ctx, open)
		if len(open) == 0 || ctx.Err() != nil {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(readRetry):
		}
	}
	return open
}

// readOnce reads all and returns those that gave no answer.
func (r *Run) readOnce(ctx context.Context, open []unread) []unread {
	var left []unread
	for len(open) > 0 {
		batch := open[:min(readBatch, len(open))]
		open = open[len(batch):]
		keys := make([]string, len(batch))
		for i, u := range batch {
			keys[i] = u.entry.key
		}
		for i, result := range getAll(ctx, r.client, keys) {
			value, err := result.ToString()
			if err != nil && !valkey.IsValkeyNil(err) {
				batch[i].err = err
				left = append(left, batch[i])
				continue
			}
			batch[i].ledger.settle(batch[i].entry, value)
		}
	}
	return left
}

// batchTimeout bounds one batch, however many servers it goes to.
const batchTimeout = 5 * time.Second

func getAll(ctx context.Context, client valkey.Client, keys []string) []valkey.ValkeyResult {
	timed, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	commands := make([]valkey.Completed, len(keys))
	for i, key := range keys {
		commands[i] = client.B().Get().Key(key).Build()
	}
	return client.DoMulti(timed, commands...)
}

// firstErrors are enough errors to see what is wrong.
func firstErrors(all []unread) []error {
	var errs []error
	for _, u := range all[:min(len(all), maxFaults)] {
		errs = append(errs, u.err)
	}
	return errs
}
