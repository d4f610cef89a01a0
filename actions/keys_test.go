package actions_test

import (
	"fmt"
	"testing"

	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/topology"
)

// keysIn are n keys whose slots are in the range.
func keysIn(r engine.SlotRange, n int) []string {
	keys := make([]string, 0, n)
	for i := 0; len(keys) < n; i++ {
		key := fmt.Sprintf("key:%d", i)
		if s := topology.SlotOf(key); r.From <= s && s <= r.To {
			keys = append(keys, key)
		}
	}
	return keys
}

// perTrip is how many commands go in one round trip of the tests.
const perTrip = 500

// pipeline sends the commands and returns the replies, none of them an error.
func (f *formation) pipeline(t *testing.T, name string, commands [][]string) []string {
	t.Helper()
	var texts []string
	for len(commands) > 0 {
		n := min(perTrip, len(commands))
		replies, err := f.data.Do(t.Context(), name, commands[:n]...)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range replies {
			if r.Err != nil {
				t.Fatalf("%s: %q: %v", name, commands[i], r.Err)
			}
			texts = append(texts, r.Text)
		}
		commands = commands[n:]
	}
	return texts
}

// fill gives a server the keys, each with its name for a value.
func (f *formation) fill(t *testing.T, name string, keys []string) {
	t.Helper()
	commands := make([][]string, 0, len(keys))
	for _, k := range keys {
		commands = append(commands, []string{"SET", k, "value of " + k})
	}
	f.pipeline(t, name, commands)
}

// has checks that a server has all the keys with the values of fill.
func (f *formation) has(t *testing.T, name string, keys []string) {
	t.Helper()
	commands := make([][]string, 0, len(keys))
	for _, k := range keys {
		commands = append(commands, []string{"GET", k})
	}
	for i, value := range f.pipeline(t, name, commands) {
		if value != "value of "+keys[i] {
			t.Fatalf("%s has %q for %s", name, value, keys[i])
		}
	}
}

// holds says that by its own word the server holds the slots.
func (f *formation) holds(t *testing.T, name string, r engine.SlotRange) bool {
	t.Helper()
	var set topology.Set
	set.Add(r)
	set.Remove(f.ask(t, name).Self().Slots...)
	return set.Count() == 0
}

// migration is the plan to hand a range of slots over.
func (f *formation) migration(from, to string, r engine.SlotRange) engine.Move {
	return engine.Move{From: from, FromID: f.ids[from], To: to, ToID: f.ids[to], Slots: []engine.SlotRange{r}}
}
