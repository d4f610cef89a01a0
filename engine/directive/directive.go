// Package directive knows how Valkey spells the values of its directives: a
// server gives back 1073741824 for 1gb, and AKE for KEA.
//
// It decides whether two texts are one value, by what the spellings have in
// common and not by what each directive means, and never whether a server
// would take the value.
package directive

import (
	"slices"
	"strconv"
	"strings"
)

// Same says that a server that was told the value written gives back read for
// it. Where it cannot tell, it says no.
func Same(name, written, read string) bool {
	if written == read {
		return true
	}
	switch {
	case exact[name]:
		return false
	case name == bufferLimits:
		return sameLimits(written, read)
	case name == "notify-keyspace-events":
		return sameSet(events(written), events(read))
	case strings.HasPrefix(name, "shutdown-on-"):
		return sameSet(strings.Fields(strings.ToLower(written)), strings.Fields(strings.ToLower(read)))
	case name == "oom-score-adj":
		return relative(written) == relative(read)
	default:
		return slices.EqualFunc(strings.Fields(written), strings.Fields(read), sameWord)
	}
}

// exact are the directives whose values are texts: what differs in a space or
// in the case of a letter is another value.
var exact = func() map[string]bool {
	names := map[string]bool{}
	for name := range strings.FieldsSeq(`
		availability-zone bind-source-addr cluster-announce-human-nodename cluster-announce-hostname ignore-warnings
		locale-collate masteruser primaryuser proc-title-template replica-announce-ip tls-ciphers tls-ciphersuites tls-protocols`) {
		names[name] = true
	}
	return names
}()

// sameWord compares numbers by what they count, and words without regard to case.
func sameWord(a, b string) bool {
	if strings.EqualFold(a, b) {
		return true
	}
	x, isX := number(a)
	y, isY := number(b)
	return isX && isY && x == y
}

// units are the suffixes of memory values, longest first where one ends another.
var units = []struct {
	suffix string
	bytes  float64
}{
	{"kb", 1 << 10}, {"mb", 1 << 20}, {"gb", 1 << 30}, {"k", 1e3}, {"m", 1e6}, {"g", 1e9}, {"b", 1},
}

// number reads a plain number or a memory value. No directive tells apart
// numbers that a float64 does not: the largest are sizes in bytes.
func number(word string) (float64, bool) {
	word, unit := strings.ToLower(word), 1.0
	for _, u := range units {
		if digits, found := strings.CutSuffix(word, u.suffix); found {
			word, unit = digits, u.bytes
			break
		}
	}
	n, err := strconv.ParseFloat(word, 64)
	return n * unit, err == nil
}

// Bytes reads a memory value, and says whether it is one.
func Bytes(text string) (int64, bool) {
	n, is := number(strings.TrimSpace(text))
	return int64(n), is
}

func sameSet(a, b []string) bool {
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}

// everyEvent is what the letter A of notify-keyspace-events stands for.
const everyEvent = "g$lshzxetd"

// events are the letters of notify-keyspace-events. A server that has all of A
// does not say whether it has n besides.
func events(text string) []string {
	text = strings.ReplaceAll(text, "A", everyEvent)
	for _, letter := range everyEvent {
		if !strings.ContainsRune(text, letter) {
			return strings.Split(text, "")
		}
	}
	return strings.Split(strings.ReplaceAll(text, "n", ""), "")
}

// relative is the one of two names of a way to adjust OOM scores that the server gives back.
func relative(text string) string {
	text = strings.ToLower(strings.TrimSpace(text))
	if text == "relative" {
		return "yes"
	}
	return text
}
