package directive

import "strings"

// bufferLimits has four words for each class of clients it names. A server
// keeps what it has for a class that a new value does not name.
const bufferLimits = "client-output-buffer-limit"

// classes are the classes of clients in the order in which a server lists them, with Valkey's defaults.
var classes = []struct{ name, limit string }{
	{"normal", "0 0 0"}, {"replica", "256mb 64mb 60"}, {"pubsub", "32mb 8mb 60"},
}

// Whole is the value to tell a running server so that it has what it would have
// if it had started with it: a server that runs takes client-output-buffer-limit
// as a change of the classes that the value names.
func Whole(name, value string) string {
	if name != bufferLimits {
		return value
	}
	limits, ok := limitsOf(value)
	if !ok {
		return value
	}
	words := make([]string, 0, len(classes))
	for _, c := range classes {
		words = append(words, c.name+" "+limits[c.name])
	}
	return strings.Join(words, " ")
}

func sameLimits(a, b string) bool {
	x, okX := limitsOf(a)
	y, okY := limitsOf(b)
	if !okX || !okY {
		return false
	}
	for _, c := range classes {
		if !Same("", x[c.name], y[c.name]) {
			return false
		}
	}
	return true
}

// limitsOf is the limit of every class; ok is false for what no server takes.
func limitsOf(value string) (limits map[string]string, ok bool) {
	limits = map[string]string{}
	for _, c := range classes {
		limits[c.name] = c.limit
	}
	words := strings.Fields(strings.ToLower(value))
	for ; len(words) >= 4; words = words[4:] {
		class := words[0]
		if class == "slave" {
			class = "replica"
		}
		if _, known := limits[class]; !known {
			return nil, false
		}
		limits[class] = strings.Join(words[1:4], " ")
	}
	return limits, len(words) == 0
}
