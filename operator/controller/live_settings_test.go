package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/operator/report"
)

// live wants the value of every server, or of one.
func (s *stand) live(want map[string]string) {
	s.t.Helper()
	for name := range s.running {
		for directive, value := range want {
			replies, err := s.servers().Do(s.t.Context(), name, []string{"CONFIG", "GET", directive})
			s.check(err)
			if got := replies[0].Text; got != directive+"\n"+value {
				s.t.Errorf("%s says %q, want %s", name, got, value)
			}
		}
	}
}

func TestSettingsReachRunningServersAndStay(t *testing.T) {
	for _, version := range []string{"9.1", "8.1"} {
		t.Run(version, func(t *testing.T) {
			s := newStand(t, version)
			s.configure(map[string]string{"maxmemory-policy": "volatile-lru"})
			s.settle()
			before := s.pods()

			s.configure(map[string]string{"maxmemory-policy": "allkeys-lru", "hz": "1000", "client-output-buffer-limit": "pubsub 64mb 16mb 90"})
			edited := time.Now()
			_, err := s.pass()
			s.check(err)
			t.Logf("told after %s", time.Since(edited))
			set := map[string]string{
				"maxmemory-policy": "allkeys-lru", "hz": "500",
				"client-output-buffer-limit": "normal 0 0 0 slave 268435456 67108864 60 pubsub 67108864 16777216 90",
			}
			s.live(set)
			s.settle()
			s.recorded("hz", "1000")

			_, err = s.servers().Do(t.Context(), before[0].Name, []string{"CONFIG", "SET", "hz", "50", "maxmemory-policy", "noeviction"})
			s.check(err)
			_, err = s.pass()
			s.check(err)
			s.live(set)

			s.configure(map[string]string{"maxmemory-policy": "least-loved", "hz": "20", "client-output-buffer-limit": "pubsub 64mb 16mb 90"})
			_, err = s.pass()
			s.refused(err, fmt.Sprintf("refused by %s, %s", before[0].Name, before[1].Name))
			s.live(set)
			s.recorded("maxmemory-policy", "allkeys-lru")

			s.configure(map[string]string{"maxmemory-policy": "allkeys-lfu", "hz": "20", "client-output-buffer-limit": "pubsub 64mb 16mb 90"})
			s.settle()
			s.live(map[string]string{"maxmemory-policy": "allkeys-lfu", "hz": "20"})
			s.recorded("maxmemory-policy", "allkeys-lfu")
			s.samePods(before)
		})
	}
}

// recorded wants what the nodes record, in spec and configuration.
func (s *stand) recorded(directive, value string) {
	s.t.Helper()
	for name := range s.running {
		node, config := &v1alpha1.ValkeyNode{}, &corev1.ConfigMap{}
		s.get(name, node)
		s.get(objects.ConfigName(name), config)
		line := fmt.Sprintf("%s %q\n", directive, value)
		if node.Spec.ValkeySettings[directive] != value || !strings.Contains(config.Data[objects.ConfKey], line) {
			s.t.Errorf("%s records %s %q", name, directive, node.Spec.ValkeySettings[directive])
		}
	}
}

// refused wants the error to be told as the servers said it.
func (s *stand) refused(err error, by string) {
	s.t.Helper()
	const said = "argument 'maxmemory-policy') - argument(s) must be one of the following"
	cluster := &v1alpha1.ValkeyCluster{}
	s.get(s.key.Name, cluster)
	degraded := meta.FindStatusCondition(cluster.Status.Conditions, report.Degraded)
	if err == nil || !strings.Contains(err.Error(), said) || !strings.Contains(err.Error(), by) {
		s.t.Errorf("error %v", err)
	}
	if degraded == nil || degraded.Status != metav1.ConditionTrue || !strings.Contains(degraded.Message, said) {
		s.t.Errorf("condition %+v", degraded)
	}
}

func (s *stand) samePods(before []corev1.Pod) {
	s.t.Helper()
	now := s.pods()
	if !slices.EqualFunc(before, now, func(a, b corev1.Pod) bool { return a.Name == b.Name && a.UID == b.UID }) {
		s.t.Errorf("there are %d Pods, some others than before", len(now))
	}
}
