package traffic

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/valkey-io/valkey-go"
)

const (
	// valueBytes is the size of a loaded value; with its key and what the server adds it takes about a tenth more.
	valueBytes = 1000
	// fillBatch is how many keys are sent in one go: large enough that the way back and forth does not count, small
	// enough that no other client waits long behind it.
	fillBatch = 100
	// fillLanes is how many batches are under way at once.
	fillLanes = 4
	// keyTTL outlasts every test, so that a key that is gone was lost and did not expire.
	keyTTL = 12 * time.Hour
)

// FillOptions say what to load.
type FillOptions struct {
	Access
	// Name is a part of every key, so that two loads of one cluster are apart.
	Name string
	// Megabytes is the sum of the values, a thousand keys each.
	Megabytes int
	// TTLEvery gives every so manieth key a time to live of hours; 0 gives none.
	TTLEvery int
}

// A Load is a set of keys that was written and can be checked.
type Load struct {
	options FillOptions
	keys    int
}

// Fill writes the keys. What fails is tried again until ctx ends.
func Fill(ctx context.Context, o FillOptions) (*Load, error) {
	client, err := o.client()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	l := &Load{options: o, keys: o.Megabytes * 1000}
	return l, l.inBatches(func(from, to int) error { return l.fill(ctx, client, from, to) })
}

// inBatches calls for every batch of the keys, several at once, and returns the first errors.
func (l *Load) inBatches(call func(from, to int) error) error {
	batches := make(chan int)
	errs := make([]error, fillLanes)
	var lanes sync.WaitGroup
	for i := range fillLanes {
		lanes.Go(func() {
			for from := range batches {
				if errs[i] == nil {
					errs[i] = call(from, min(from+fillBatch, l.keys))
				}
			}
		})
	}
	for from := 0; from < l.keys; from += fillBatch {
		batches <- from
	}
	close(batches)
	lanes.Wait()
	return errors.Join(errs...)
}

func (l *Load) key(i int) string { return fmt.Sprintf("fill:%s:%d", l.options.Name, i) }

// value is what key number i holds, always the same.
func (l *Load) value(i int) string {
	sum := fnv.New64a()
	sum.Write([]byte(l.key(i))) // never fails
	word := strconv.FormatUint(sum.Sum64(), 36) + "."
	return (strings.Repeat(word, valueBytes/len(word)+1))[:valueBytes]
}

func (l *Load) lives(i int) bool { return l.options.TTLEvery > 0 && i%l.options.TTLEvery == 0 }

// again calls until it gets no error or ctx ends. Values are always the same, so that writing twice does no harm.
func again(ctx context.Context, call func(ctx context.Context) error) error {
	for {
		timed, cancel := context.WithTimeout(ctx, batchTimeout)
		err := call(timed)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(readRetry):
		}
	}
}

func (l *Load) fill(ctx context.Context, client valkey.Client, from, to int) error {
	return again(ctx, func(ctx context.Context) error {
		commands := make([]valkey.Completed, 0, to-from)
		for i := from; i < to; i++ {
			set := client.B().Set().Key(l.key(i)).Value(l.value(i))
			if l.lives(i) {
				commands = append(commands, set.Ex(keyTTL).Build())
			} else {
				commands = append(commands, set.Build())
			}
		}
		for _, result := range client.DoMulti(ctx, commands...) {
			if err := result.Error(); err != nil {
				return fmt.Errorf("fill: %w", err)
			}
		}
		return nil
	})
}

// A LoadReport is what has become of a Load.
type LoadReport struct {
	// Keys is how many there must be. Missing are those that are gone, Wrong those that hold something else, TTL those
	// whose time to live is gone or that have got one.
	Keys, Missing, Wrong, TTL int
	// Fault is the first fault in words.
	Fault string
}

// Whole says that all is as it was written.
func (r LoadReport) Whole() bool { return r.Missing+r.Wrong+r.TTL == 0 }

// String tells the report on a line.
func (r LoadReport) String() string {
	text := fmt.Sprintf("%d keys: %d missing, %d wrong, %d with another time to live", r.Keys, r.Missing, r.Wrong, r.TTL)
	if r.Fault != "" {
		text += "; " + r.Fault
	}
	return text
}

func (r *LoadReport) add(count *int, fault string) {
	*count++
	if r.Fault == "" {
		r.Fault = fault
	}
}

// Verify reads every key back, by value and with its time to live. What cannot be read is tried again until ctx ends,
// and is an error then. Seeds take the place of those that Fill used: these may be gone by now.
func (l *Load) Verify(ctx context.Context, seeds ...string) (LoadReport, error) {
	access := l.options.Access
	if len(seeds) > 0 {
		access.Seeds = seeds
	}
	client, err := access.client()
	if err != nil {
		return LoadReport{}, err
	}
	defer client.Close()
	report := LoadReport{Keys: l.keys}
	var mu sync.Mutex
	err = l.inBatches(func(from, to int) error {
		return again(ctx, func(ctx context.Context) error {
			results := l.readBatch(ctx, client, from, to)
			for _, result := range results {
				if err := result.Error(); err != nil && !valkey.IsValkeyNil(err) {
					return fmt.Errorf("verify: %w", err)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			l.compare(&report, from, results)
			return nil
		})
	})
	return report, err
}

// readBatch asks for value and time to live of each key in turn.
func (l *Load) readBatch(ctx context.Context, client valkey.Client, from, to int) []valkey.ValkeyResult {
	commands := make([]valkey.Completed, 0, 2*(to-from))
	for i := from; i < to; i++ {
		commands = append(commands, client.B().Get().Key(l.key(i)).Build(), client.B().Pttl().Key(l.key(i)).Build())
	}
	return client.DoMulti(ctx, commands...)
}

// noTTL is what PTTL says of a key that does not expire.
const noTTL = -1

func (l *Load) compare(r *LoadReport, from int, results []valkey.ValkeyResult) {
	for n := 0; n < len(results); n += 2 {
		i := from + n/2
		value, err := results[n].ToString()
		ttl, ttlErr := results[n+1].AsInt64()
		switch {
		case err != nil:
			r.add(&r.Missing, l.key(i)+" is missing")
		case value != l.value(i):
			r.add(&r.Wrong, fmt.Sprintf("%s holds %.40q", l.key(i), value))
		case ttlErr != nil || (ttl != noTTL) != l.lives(i):
			r.add(&r.TTL, fmt.Sprintf("%s has a time to live of %d ms", l.key(i), ttl))
		}
	}
}
