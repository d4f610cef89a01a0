package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/valkey-io/valkey-go"
)

func cmdSetting(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	key := s.key(args[1])
	start := time.Now()
	ts.Check(within(context.Background(), limit(ts, args[0]), func() error {
		return s.eachServer(context.Background(), key, func(ctx context.Context, _ string, c valkey.Client) error {
			live, err := c.Do(ctx, c.B().ConfigGet().Parameter(args[2]).Build()).AsStrMap()
			if err == nil && live[args[2]] != args[3] {
				err = fmt.Errorf("it has %s %q", args[2], live[args[2]])
			}
			return err
		})
	}))
	ts.Logf("every server had %s after %.2fs", args[2], time.Since(start).Seconds())
}

// errDrifted ends the walk after the first server.
var errDrifted = errors.New("one server is enough")

func cmdDrift(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	err := s.eachServer(context.Background(), s.key(args[0]), func(ctx context.Context, _ string, c valkey.Client) error {
		if err := c.Do(ctx, c.B().ConfigSet().ParameterValue().ParameterValue(args[1], args[2]).Build()).Error(); err != nil {
			return err
		}
		return errDrifted
	})
	if !errors.Is(err, errDrifted) {
		ts.Fatalf("change a setting by hand: %v", err)
	}
}
