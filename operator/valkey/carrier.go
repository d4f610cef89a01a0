package valkey

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"valkey.gomomento.com/operator/actions"
)

// A Carrier moves keys between the servers of one cluster by MIGRATE, as the user of replication; see actions.Carrier.
type Carrier struct {
	servers  Servers
	password string
}

var _ actions.Carrier = Carrier{}

// Carrier moves keys between the servers, as ReplUsername with its password.
func (s Servers) Carrier(password string) actions.Carrier {
	s.access.User, s.access.Password, s.access.Others, s.access.LastResort = ReplUsername, password, nil, ""
	return Carrier{servers: s, password: password}
}

// Sizes asks for MEMORY USAGE, which goes by a sample of a value's elements.
func (c Carrier) Sizes(ctx context.Context, node string, keys []string) ([]int64, error) {
	commands := make([][]string, 0, len(keys))
	for _, key := range keys {
		commands = append(commands, []string{"MEMORY", "USAGE", key})
	}
	replies, err := c.servers.Do(ctx, node, commands...)
	if err != nil {
		return nil, err
	}
	sizes := make([]int64, len(replies))
	for i, r := range replies {
		if sizes[i] = -1; r.Err == nil {
			// A key that is gone has no size, not even a number.
			n, err := strconv.ParseInt("0"+r.Text, 10, 64)
			if err == nil {
				sizes[i] = n
			}
		}
	}
	return sizes, nil
}

// Carry sends a MIGRATE for each list. That a server has none of the keys is no error.
func (c Carrier) Carry(ctx context.Context, from, to string, keys [][]string, timeout time.Duration) error {
	target, found := c.servers.byNode[to]
	if !found {
		return fmt.Errorf("server of %s: no Pod with an address", to)
	}
	host, port, err := net.SplitHostPort(target.Address)
	if err != nil {
		return fmt.Errorf("server of %s: %w", to, err)
	}
	commands := make([][]string, 0, len(keys))
	for _, inSlot := range keys {
		commands = append(commands, append([]string{"MIGRATE", host, port, "", "0", strconv.FormatInt(timeout.Milliseconds(), 10),
			"REPLACE", "AUTH2", ReplUsername, c.password, "KEYS"}, inSlot...))
	}
	replies, err := c.servers.Do(ctx, from, commands...)
	if err != nil {
		return err
	}
	for _, r := range replies {
		if r.Err != nil {
			return fmt.Errorf("server of %s: MIGRATE: %w", from, r.Err)
		}
	}
	return nil
}
