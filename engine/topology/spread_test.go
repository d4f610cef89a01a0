package topology

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestSpread(t *testing.T) {
	for name, c := range map[string]struct {
		options []string // by item, a letter each
		want    string   // "-" for no option
	}{
		"nobody":                             {nil, ""},
		"no choice":                          {[]string{"a", "a", "b"}, "aab"},
		"the first is preferred":             {[]string{"ab", "cb"}, "ac"},
		"one makes room for the next":        {[]string{"ab", "a"}, "ba"},
		"all move along":                     {[]string{"ab", "bc", "ab"}, "bca"},
		"nobody is moved for nothing":        {[]string{"ab", "a", "a"}, "baa"},
		"one has none":                       {[]string{"ab", "", "a"}, "b-a"},
		"three zones, each shard in two":     {[]string{"bc", "ac", "ab"}, "bca"},
		"four in two zones, two in each":     {[]string{"ab", "ab", "ab", "a"}, "bbaa"},
		"a zone that holds more than others": {[]string{"a", "a", "a", "ab", "ac"}, "aaabc"},
	} {
		options := make([][]string, len(c.options))
		for i, letters := range c.options {
			options[i] = strings.Split(letters, "")
			if letters == "" {
				options[i] = nil
			}
		}
		got := ""
		for _, option := range Spread(options) {
			if option == "" {
				option = "-"
			}
			got += option
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestSpreadIsAsEvenAsCanBe compares with every choice there is.
func TestSpreadIsAsEvenAsCanBe(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		options := make([][]string, 1+random.IntN(5))
		for i := range options {
			for _, zone := range []string{"a", "b", "c", "d"} {
				if random.IntN(2) == 0 {
					options[i] = append(options[i], zone)
				}
			}
		}
		picked := Spread(options)
		for i, zone := range picked {
			if len(options[i]) > 0 && !slices.Contains(options[i], zone) {
				t.Fatalf("%v: %v", options, picked)
			}
		}
		if got, want := worst(strings.Join(picked, "")), best(options, ""); got != want {
			t.Fatalf("%v: %v is as uneven as %d, can be %d", options, picked, got, want)
		}
	}
}

// best is how often the option picked most often is picked at least, whatever is picked.
func best(options [][]string, picked string) int {
	if len(options) == 0 {
		return worst(picked)
	}
	if len(options[0]) == 0 {
		return best(options[1:], picked)
	}
	least := len(picked) + len(options)
	for _, zone := range options[0] {
		least = min(least, best(options[1:], picked+zone))
	}
	return least
}

func worst(picked string) int {
	most := 0
	for _, zone := range picked {
		if zone != '-' {
			most = max(most, strings.Count(picked, string(zone)))
		}
	}
	return most
}
