package actions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// parallelism bounds how many requests one action has under way: enough that a
// cluster of some tens of servers takes one round trip, and few enough that an
// action neither floods the API server nor starves other clusters of it.
const parallelism = 32

// each does it for every item, a bounded number at a time, and waits for all.
// One that fails does not hold up the others. The errors are joined in the
// order of the items.
func each[T any](ctx context.Context, items []T, do func(context.Context, T) error) error {
	errs := make([]error, len(items))
	free := make(chan struct{}, parallelism)
	var running sync.WaitGroup
	for i, item := range items {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			errs[i] = do(ctx, item)
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// listed is how many names a sentence lists before it counts the rest.
const listed = 8

// list is the names in one sentence: "a, b and 3 more".
func list(names []string) string {
	if len(names) <= listed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:listed], ", "), len(names)-listed)
}

// count is "1 node" or "3 nodes".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
