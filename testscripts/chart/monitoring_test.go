package chart

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const monitoringVersion = "monitoring.coreos.com/v1"

// The fields we use of the Prometheus operator's two kinds; strict decoding refuses a misspelt one.
type (
	serviceMonitor struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Selector  metav1.LabelSelector `json:"selector"`
			Endpoints []struct {
				Port        string `json:"port"`
				Interval    string `json:"interval"`
				HonorLabels bool   `json:"honorLabels"`
			} `json:"endpoints"`
		} `json:"spec"`
	}
	prometheusRule struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Groups []struct {
				Name  string  `json:"name"`
				Rules []alert `json:"rules"`
			} `json:"groups"`
		} `json:"spec"`
	}
	alert struct {
		Alert       string            `json:"alert"`
		Expr        string            `json:"expr"`
		For         string            `json:"for,omitempty"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	}
)

func decodeMonitoring(m manifest) error {
	switch m.Kind {
	case "ServiceMonitor":
		return yaml.UnmarshalStrict(m.written, &serviceMonitor{})
	case "PrometheusRule":
		return yaml.UnmarshalStrict(m.written, &prometheusRule{})
	}
	return fmt.Errorf("%s is not a kind of %s that this chart makes", m.Kind, monitoringVersion)
}

// everything renders values/everything.yaml and decodes the object of a kind into it.
func everything(t *testing.T, kind string, into any) {
	t.Helper()
	for _, m := range render(t, "--values", "values/everything.yaml") {
		if m.Kind == kind {
			if err := yaml.UnmarshalStrict(m.written, into); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no %s is rendered", kind)
}

// The metrics the operator offers, less the suffixes of a histogram.
var metrics = []string{
	"valkey_operator_cluster_state", "valkey_operator_cluster_slots_covered", "valkey_operator_cluster_nodes_ready",
	"valkey_operator_cluster_nodes_desired", "valkey_operator_actions_total", "valkey_operator_last_failover_timestamp_seconds",
	"valkey_operator_certificate_expiry_timestamp_seconds", "valkey_operator_reconcile_duration_seconds",
	"valkey_operator_derivation_duration_seconds",
}

var metricName = regexp.MustCompile(`valkey_operator_[a-z_]+`)

// checkExpression finds what a typing mistake in PromQL most often is. It returns the metrics used.
func checkExpression(t *testing.T, where, expr string) []string {
	t.Helper()
	for _, pair := range []string{"()", "{}", "[]"} {
		if strings.Count(expr, pair[:1]) != strings.Count(expr, pair[1:]) {
			t.Errorf("%s: unbalanced %s in %s", where, pair, expr)
		}
	}
	var used []string
	for _, name := range metricName.FindAllString(expr, -1) {
		name = strings.TrimSuffix(name, "_bucket")
		if !slices.Contains(metrics, name) {
			t.Errorf("%s: the operator has no metric %s", where, name)
		}
		used = append(used, name)
	}
	return used
}

func TestAlertsAreCompleteAndUseKnownMetrics(t *testing.T) {
	var rule prometheusRule
	everything(t, "PrometheusRule", &rule)
	seen := map[string]bool{}
	for _, group := range rule.Spec.Groups {
		for _, a := range group.Rules {
			if seen[a.Alert] || a.Annotations["summary"] == "" || a.Annotations["description"] == "" {
				t.Errorf("%s is there twice or says too little", a.Alert)
			}
			seen[a.Alert] = true
			if s := a.Labels["severity"]; s != "warning" && s != "critical" {
				t.Errorf("%s has severity %q", a.Alert, s)
			}
			checkExpression(t, a.Alert, a.Expr)
			checkTemplate(t, a)
		}
	}
	if len(seen) != 10 {
		t.Errorf("%d alerts", len(seen))
	}
	if !strings.Contains(template(t, "--values", "values/everything.yaml"), "< 21 * 86400") {
		t.Error("certificateExpiryDays does not reach the alert")
	}
}

// checkTemplate finds a label in the words of an alert that its expression aggregates away.
func checkTemplate(t *testing.T, a alert) {
	t.Helper()
	for _, text := range a.Annotations {
		for _, match := range regexp.MustCompile(`\$labels\.([a-z]+)`).FindAllStringSubmatch(text, -1) {
			if !regexp.MustCompile(`by \([^)]*\b` + match[1] + `\b`).MatchString(a.Expr) {
				t.Errorf("%s names the label %s, which its expression does not keep", a.Alert, match[1])
			}
		}
	}
}

func TestScrapesKeepTheClustersNamespace(t *testing.T) {
	var monitor serviceMonitor
	everything(t, "ServiceMonitor", &monitor)
	service := find[*corev1.Service](t, render(t), "valkey-operator-metrics")
	for _, endpoint := range monitor.Spec.Endpoints {
		if !endpoint.HonorLabels || endpoint.Interval != "15s" || endpoint.Port != service.Spec.Ports[0].Name {
			t.Errorf("endpoint %+v", endpoint)
		}
	}
	for label, value := range monitor.Spec.Selector.MatchLabels {
		if service.Labels[label] != value {
			t.Errorf("the Service lacks %s=%s", label, value)
		}
	}
	if monitor.Labels["release"] != "prometheus" {
		t.Errorf("labels %v", monitor.Labels)
	}
}

func TestDashboardShowsEveryMetric(t *testing.T) {
	config := find[*corev1.ConfigMap](t, render(t, "--values", "values/everything.yaml"), "valkey-operator-dashboard")
	if config.Labels["grafana_dashboard"] != "1" || config.Annotations["grafana_folder"] != "Valkey" {
		t.Errorf("labels %v, annotations %v", config.Labels, config.Annotations)
	}
	var dashboard struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(config.Data["valkey-operator.json"]), &dashboard); err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			for _, name := range checkExpression(t, panel.Title, target.Expr) {
				shown[name] = true
			}
		}
	}
	for _, name := range metrics {
		if !shown[name] {
			t.Errorf("no panel shows %s", name)
		}
	}
}

func TestNetworkPolicyLetsTheOperatorReachNothingElse(t *testing.T) {
	policy := find[*networkingv1.NetworkPolicy](t, render(t, "--values", "values/two-namespaces.yaml"), "valkey-operator").Spec
	if diff := cmp.Diff([]networkingv1.PolicyType{"Ingress", "Egress"}, policy.PolicyTypes); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(deployment(t).Spec.Selector, &policy.PodSelector); diff != "" {
		t.Error(diff)
	}
	var in, out []string
	for _, rule := range policy.Ingress {
		in = append(in, ports(rule.Ports))
	}
	for _, rule := range policy.Egress {
		out = append(out, ports(rule.Ports))
	}
	if diff := cmp.Diff([]string{"metrics", "health"}, in); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"443 6443", "6379", "53 53"}, out); diff != "" {
		t.Error(diff)
	}
	valkey := policy.Egress[1].To[0]
	if valkey.PodSelector.MatchLabels["app.kubernetes.io/name"] != "valkey" ||
		!slices.Equal(valkey.NamespaceSelector.MatchExpressions[0].Values, []string{"team-a", "team-b"}) {
		t.Errorf("Valkey is %v", valkey)
	}
}

func ports(list []networkingv1.NetworkPolicyPort) string {
	var names []string
	for _, p := range list {
		names = append(names, p.Port.String())
	}
	return strings.Join(names, " ")
}
