// Package settings reads the operator's settings from its environment, once, at start.
//
// A value that cannot be used stops the start with a sentence that names the variable and what it may be: an operator
// that falls back to a default in silence runs production with a setting nobody chose. It must not know what the
// settings are used for.
package settings

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/util/validation"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// Settings are what the platform team chooses for all clusters of this operator.
type Settings struct {
	// ZoneSpread is the zoneSpread of a cluster that names none. DEFAULT_ZONE_SPREAD.
	ZoneSpread v1alpha1.ZoneSpread
	// NodeTimeout is cluster-node-timeout of every server. NODE_TIMEOUT, in milliseconds.
	NodeTimeout time.Duration
	// ClusterDomain is the DNS domain of this Kubernetes, "cluster.local". CLUSTER_DOMAIN.
	ClusterDomain string
	// MaxConcurrentRollouts is how many clusters may roll at once. MAX_CONCURRENT_ROLLOUTS.
	MaxConcurrentRollouts int
	// RequireACL refuses clusters whose default user is open. REQUIRE_ACL.
	RequireACL bool
	// Namespaces are the namespaces to look after, sorted; none is all. WATCH_NAMESPACES, separated by commas.
	Namespaces []string
	// LogLevel is the lowest level that is logged. LOG_LEVEL.
	LogLevel zapcore.Level
}

// The bounds of NODE_TIMEOUT: below half a second a busy server passes for dead, above ten minutes a dead one is never
// replaced by an election that anybody waits for.
const (
	shortestNodeTimeout = 500 * time.Millisecond
	longestNodeTimeout  = 10 * time.Minute
)

// most is a bound for numbers that have no natural one, so that a slip of the pen is found.
const most = 10000

// FromEnvironment reads the settings through lookup, which is os.LookupEnv but in tests. A variable that is not set, or
// is set to nothing, takes its default. The error names every variable that is wrong, not only the first.
func FromEnvironment(lookup func(string) (string, bool)) (Settings, error) {
	s := Settings{
		ZoneSpread:            v1alpha1.BestEffort,
		NodeTimeout:           5 * time.Second,
		ClusterDomain:         "cluster.local",
		MaxConcurrentRollouts: 10,
		LogLevel:              zapcore.InfoLevel,
	}
	var wrong []error
	for _, v := range s.variables() {
		text, set := lookup(v.name)
		if text = strings.TrimSpace(text); !set || text == "" {
			continue
		}
		if !v.take(text) {
			wrong = append(wrong, fmt.Errorf("environment variable %s: %q is not allowed, it must be %s", v.name, text, v.must))
		}
	}
	return s, errors.Join(wrong...)
}

// A variable is one setting's place in the environment.
type variable struct {
	name string
	// must says what values are allowed, as the end of "it must be".
	must string
	// take stores the value, or says that it is not allowed.
	take func(text string) bool
}

func (s *Settings) variables() []variable {
	return []variable{
		{"DEFAULT_ZONE_SPREAD", "bestEffort or required", s.takeZoneSpread},
		{"NODE_TIMEOUT", "a whole number of milliseconds from 500 to 600000", s.takeNodeTimeout},
		{"CLUSTER_DOMAIN", "a DNS name such as cluster.local", s.takeClusterDomain},
		{"MAX_CONCURRENT_ROLLOUTS", "a whole number from 1 to 10000", s.takeMaxConcurrentRollouts},
		{"REQUIRE_ACL", "true or false", s.takeRequireACL},
		{"WATCH_NAMESPACES", "names of namespaces separated by commas", s.takeNamespaces},
		{"LOG_LEVEL", "debug, info, warn or error", s.takeLogLevel},
	}
}

func (s *Settings) takeZoneSpread(text string) bool {
	s.ZoneSpread = v1alpha1.ZoneSpread(text)
	return s.ZoneSpread == v1alpha1.BestEffort || s.ZoneSpread == v1alpha1.Required
}

func (s *Settings) takeNodeTimeout(text string) bool {
	ms, err := strconv.ParseInt(text, 10, 32)
	s.NodeTimeout = time.Duration(ms) * time.Millisecond
	return err == nil && s.NodeTimeout >= shortestNodeTimeout && s.NodeTimeout <= longestNodeTimeout
}

func (s *Settings) takeClusterDomain(text string) bool {
	s.ClusterDomain = strings.TrimSuffix(text, ".")
	return len(validation.IsDNS1123Subdomain(s.ClusterDomain)) == 0
}

func (s *Settings) takeMaxConcurrentRollouts(text string) bool {
	n, err := strconv.Atoi(text)
	s.MaxConcurrentRollouts = n
	return err == nil && n >= 1 && n <= most
}

func (s *Settings) takeRequireACL(text string) bool {
	s.RequireACL = text == "true"
	return text == "true" || text == "false"
}

func (s *Settings) takeNamespaces(text string) bool {
	for _, name := range strings.Split(text, ",") {
		name = strings.TrimSpace(name)
		if len(validation.IsDNS1123Label(name)) > 0 {
			return false
		}
		s.Namespaces = append(s.Namespaces, name)
	}
	slices.Sort(s.Namespaces)
	s.Namespaces = slices.Compact(s.Namespaces)
	return true
}

func (s *Settings) takeLogLevel(text string) bool {
	level, known := map[string]zapcore.Level{
		"debug": zapcore.DebugLevel,
		"info":  zapcore.InfoLevel,
		"warn":  zapcore.WarnLevel,
		"error": zapcore.ErrorLevel,
	}[text]
	s.LogLevel = level
	return known
}
