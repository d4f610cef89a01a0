package settings_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap/zapcore"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/operator/settings"
)

func environment(variables map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, set := variables[name]
		return value, set
	}
}

func defaults() settings.Settings {
	return settings.Settings{
		ZoneSpread:            v1alpha1.BestEffort,
		NodeTimeout:           5 * time.Second,
		ClusterDomain:         "cluster.local",
		MaxConcurrentRollouts: 10,
		LogLevel:              zapcore.InfoLevel,
	}
}

func TestAnEmptyEnvironmentIsAllDefaults(t *testing.T) {
	for name, variables := range map[string]map[string]string{
		"nothing is set": nil,
		"all are set to nothing": {
			"DEFAULT_ZONE_SPREAD": "", "NODE_TIMEOUT": " ", "CLUSTER_DOMAIN": "", "MAX_CONCURRENT_ROLLOUTS": "",
			"REQUIRE_ACL": "", "WATCH_NAMESPACES": "", "LOG_LEVEL": "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := settings.FromEnvironment(environment(variables))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(defaults(), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEverySettingIsRead(t *testing.T) {
	got, err := settings.FromEnvironment(environment(map[string]string{
		"DEFAULT_ZONE_SPREAD": "required", "NODE_TIMEOUT": "15000", "CLUSTER_DOMAIN": "k8s.example.org.",
		"MAX_CONCURRENT_ROLLOUTS": "3", "REQUIRE_ACL": "true", "WATCH_NAMESPACES": "shop, billing,shop", "LOG_LEVEL": "debug",
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := settings.Settings{
		ZoneSpread: v1alpha1.Required, NodeTimeout: 15 * time.Second, ClusterDomain: "k8s.example.org",
		MaxConcurrentRollouts: 3, RequireACL: true, Namespaces: []string{"billing", "shop"}, LogLevel: zapcore.DebugLevel,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAWrongValueIsNamedWithWhatIsAllowed(t *testing.T) {
	for text, c := range map[string]struct{ name, value string }{
		`environment variable DEFAULT_ZONE_SPREAD: "sometimes" is not allowed, it must be bestEffort or required`:                  {"DEFAULT_ZONE_SPREAD", "sometimes"},
		`environment variable NODE_TIMEOUT: "5s" is not allowed, it must be a whole number of milliseconds from 500 to 600000`:     {"NODE_TIMEOUT", "5s"},
		`environment variable NODE_TIMEOUT: "499" is not allowed, it must be a whole number of milliseconds from 500 to 600000`:    {"NODE_TIMEOUT", "499"},
		`environment variable NODE_TIMEOUT: "600001" is not allowed, it must be a whole number of milliseconds from 500 to 600000`: {"NODE_TIMEOUT", "600001"},
		`environment variable CLUSTER_DOMAIN: "no domain" is not allowed, it must be a DNS name such as cluster.local`:             {"CLUSTER_DOMAIN", "no domain"},
		`environment variable MAX_CONCURRENT_ROLLOUTS: "0" is not allowed, it must be a whole number from 1 to 10000`:              {"MAX_CONCURRENT_ROLLOUTS", "0"},
		`environment variable REQUIRE_ACL: "yes" is not allowed, it must be true or false`:                                         {"REQUIRE_ACL", "yes"},
		`environment variable WATCH_NAMESPACES: "shop,,x" is not allowed, it must be names of namespaces separated by commas`:      {"WATCH_NAMESPACES", "shop,,x"},
		`environment variable LOG_LEVEL: "trace" is not allowed, it must be debug, info, warn or error`:                            {"LOG_LEVEL", "trace"},
	} {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			_, err := settings.FromEnvironment(environment(map[string]string{c.name: c.value}))
			if err == nil || err.Error() != text {
				t.Errorf("got  %v\nwant %s", err, text)
			}
		})
	}
}

func TestAllWrongValuesAreNamedAtOnce(t *testing.T) {
	_, err := settings.FromEnvironment(environment(map[string]string{"LOG_LEVEL": "loud", "REQUIRE_ACL": "1"}))
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("one error for two mistakes: %v", err)
	}
	if got := len(joined.Unwrap()); got != 2 {
		t.Errorf("%d errors, want 2", got)
	}
}
