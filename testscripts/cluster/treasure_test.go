package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/valkey-io/valkey-go"
)

const (
	treasureLimit = 30 * time.Second
	// treasures is how many keys of each kind there are, so that every shard has some of each.
	treasures = 60
	// treasureLife is the time to live of what has one: longer than any scenario.
	treasureLife = 3600
	bigValue     = 1 << 20
	library      = "#!lua name=treasure\nserver.register_function('treasure_of', function(keys) return 'of ' .. keys[1] end)"
)

// cmdTreasure writes data of every kind that a move or a new version could damage, and checks it later, also by clients
// that subscribed before.
func cmdTreasure(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	if len(args) != 2 || args[0] != "bury" && args[0] != "dig" {
		ts.Fatalf("treasure: bury|dig CLUSTER")
	}
	ctx, cancel := context.WithTimeout(context.Background(), treasureLimit)
	defer cancel()
	access, err := s.access(ctx, s.key(args[1]), "", "")
	ts.Check(err)
	client, err := access.Open()
	ts.Check(err)
	defer client.Close()
	if args[0] == "bury" {
		ts.Check(bury(ctx, client))
		subscriber, err := access.Open()
		ts.Check(err)
		s.news = subscribe(subscriber)
		ts.Defer(subscriber.Close)
		return
	}
	ts.Check(dig(ctx, client))
	ts.Check(heard(ctx, client, s.news))
}

// bury writes streams, hashes, sets, big strings and times to live over all slots, and a library of functions to every shard.
func bury(ctx context.Context, c valkey.Client) error {
	for _, node := range c.Nodes() {
		err := node.Do(ctx, node.B().Arbitrary("FUNCTION", "LOAD", "REPLACE", library).Build()).Error()
		if err != nil && !strings.Contains(err.Error(), "READONLY") && !strings.Contains(err.Error(), "MOVED") {
			return fmt.Errorf("load the functions: %w", err)
		}
	}
	for i := range treasures {
		for _, words := range [][]string{
			{"XADD", kind("stream", i), "1-1", "field", fmt.Sprint(i)},
			{"XGROUP", "CREATE", kind("stream", i), "group", "0"},
			{"HSET", kind("hash", i), "field", fmt.Sprint(i)},
			{"EXPIRE", kind("hash", i), fmt.Sprint(treasureLife)},
			{"ZADD", kind("sorted", i), fmt.Sprint(i), "member"},
			{"SADD", kind("set", i), fmt.Sprint(i)},
			{"RPUSH", kind("list", i), "a", fmt.Sprint(i)},
			{"PFADD", kind("log", i), "a", "b"},
		} {
			if err := do(ctx, c, words...).Error(); err != nil {
				return fmt.Errorf("%s %s: %w", words[0], words[1], err)
			}
		}
		if i%10 == 0 {
			if err := do(ctx, c, "SET", kind("big", i), strings.Repeat(fmt.Sprint(i%10), bigValue)).Error(); err != nil {
				return fmt.Errorf("SET %s: %w", kind("big", i), err)
			}
		}
	}
	return nil
}

func kind(what string, i int) string { return fmt.Sprintf("treasure:%s:%d", what, i) }

// do sends a command to the server that holds its key, the second word.
func do(ctx context.Context, c valkey.Client, words ...string) valkey.ValkeyResult {
	place := 1
	if words[0] == "XGROUP" {
		place = 2
	}
	if words[0] == "FCALL" {
		place = 3
	}
	return c.Do(ctx, c.B().Arbitrary(words[:place]...).Keys(words[place]).Args(words[place+1:]...).Build())
}

// dig checks all of it, value by value.
func dig(ctx context.Context, c valkey.Client) error {
	var faults []error
	want := func(expected string, words ...string) {
		message, err := do(ctx, c, words...).ToAny()
		if got := fmt.Sprint(message); err != nil || got != expected {
			faults = append(faults, fmt.Errorf("%s: %.60s, want %.60s: %w", strings.Join(words, " "), got, expected, err))
		}
	}
	for i := range treasures {
		want(fmt.Sprintf("[[1-1 [field %d]]]", i), "XRANGE", kind("stream", i), "-", "+")
		want(fmt.Sprint(i), "HGET", kind("hash", i), "field")
		want(fmt.Sprint(i), "ZSCORE", kind("sorted", i), "member")
		want(fmt.Sprintf("[%d]", i), "SMEMBERS", kind("set", i))
		want(fmt.Sprintf("[a %d]", i), "LRANGE", kind("list", i), "0", "-1")
		want("2", "PFCOUNT", kind("log", i))
		want("of "+kind("list", i), "FCALL", "treasure_of", "1", kind("list", i))
		left, err := do(ctx, c, "TTL", kind("hash", i)).AsInt64()
		if err != nil || left <= 0 || left > treasureLife {
			faults = append(faults, fmt.Errorf("%s has %d s to live, %w", kind("hash", i), left, err))
		}
		if i%10 == 0 {
			want(strings.Repeat(fmt.Sprint(i%10), bigValue), "GET", kind("big", i))
		}
	}
	return errors.Join(faults...)
}

const newsChannel = "treasure:news"

// subscribe listens until the client is closed, over as many connections as servers come and go.
func subscribe(c valkey.Client) <-chan string {
	const held = 100
	news := make(chan string, held)
	go func() {
		for {
			err := c.Receive(context.Background(), c.B().Subscribe().Channel(newsChannel).Build(), func(m valkey.PubSubMessage) {
				select {
				case news <- m.Message:
				default:
				}
			})
			if errors.Is(err, valkey.ErrClosing) || err == nil {
				return
			}
			time.Sleep(lookAgain)
		}
	}()
	return news
}

// heard publishes until the subscriber of before has got a message.
func heard(ctx context.Context, c valkey.Client, news <-chan string) error {
	return within(ctx, treasureLimit/3, func() error {
		if err := c.Do(ctx, c.B().Publish().Channel(newsChannel).Message("hello").Build()).Error(); err != nil {
			return err
		}
		select {
		case <-news:
			return nil
		default:
			return errors.New("the subscriber has got no message")
		}
	})
}
