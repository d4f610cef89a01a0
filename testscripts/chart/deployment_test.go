package chart

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
)

func deployment(t *testing.T, args ...string) *appsv1.Deployment {
	t.Helper()
	return find[*appsv1.Deployment](t, render(t, args...), "valkey-operator")
}

func TestSettingsReachTheEnvironment(t *testing.T) {
	variables := map[string]string{
		"DEFAULT_ZONE_SPREAD":     "defaultZoneSpread",
		"NODE_TIMEOUT":            "nodeTimeout",
		"CLUSTER_DOMAIN":          "clusterDomain",
		"MAX_CONCURRENT_ROLLOUTS": "maxConcurrentRollouts",
		"REQUIRE_ACL":             "requireACL",
		"WATCH_NAMESPACES":        "watchNamespaces",
		"LOG_LEVEL":               "logLevel",
	}
	got := map[string]string{}
	for _, env := range deployment(t).Spec.Template.Spec.Containers[0].Env {
		if env.ValueFrom == nil || env.ValueFrom.ConfigMapKeyRef == nil {
			continue
		}
		if name := env.ValueFrom.ConfigMapKeyRef.Name; name != "valkey-operator-config" {
			t.Errorf("%s comes from %s", env.Name, name)
		}
		got[env.Name] = env.ValueFrom.ConfigMapKeyRef.Key
	}
	if diff := cmp.Diff(variables, got); diff != "" {
		t.Error(diff)
	}
}

func TestSettingsReachTheConfigMapAsTheOperatorReadsThem(t *testing.T) {
	for set, keys := range map[string]map[string]string{
		"": {
			"defaultZoneSpread": "bestEffort", "nodeTimeout": "5000", "clusterDomain": "cluster.local",
			"maxConcurrentRollouts": "10", "requireACL": "false", "watchNamespaces": "", "logLevel": "info",
		},
		"config.watchNamespaces={b,a},config.requireACL=true,config.nodeTimeout=600000,config.maxConcurrentRollouts=10000": {
			"defaultZoneSpread": "bestEffort", "nodeTimeout": "600000", "clusterDomain": "cluster.local",
			"maxConcurrentRollouts": "10000", "requireACL": "true", "watchNamespaces": "a,b", "logLevel": "info",
		},
	} {
		settings := find[*corev1.ConfigMap](t, render(t, "--set", set), "valkey-operator-config")
		if diff := cmp.Diff(keys, settings.Data); diff != "" {
			t.Errorf("with %q:\n%s", set, diff)
		}
	}
}

func TestTheProcessIsStartedAndProbedAsItExpects(t *testing.T) {
	d := deployment(t)
	c := d.Spec.Template.Spec.Containers[0]
	want := "/usr/bin/valkey-operator run --leader-elect=true --metrics-bind-address=:8080 --health-probe-bind-address=:8081"
	if got := strings.Join(slices.Concat(c.Command, c.Args), " "); got != want {
		t.Errorf("starts %q, want %q", got, want)
	}
	ports := map[string]int32{}
	for _, p := range c.Ports {
		ports[p.Name] = p.ContainerPort
	}
	if diff := cmp.Diff(map[string]int32{"metrics": 8080, "health": 8081}, ports); diff != "" {
		t.Error(diff)
	}
	if got := c.LivenessProbe.HTTPGet; got.Path != "/healthz" || got.Port.String() != "health" {
		t.Errorf("liveness asks %v", got)
	}
	if got := c.ReadinessProbe.HTTPGet; got.Path != "/readyz" || got.Port.String() != "health" {
		t.Errorf("readiness asks %v", got)
	}
	fields := map[string]string{}
	for _, env := range c.Env {
		if env.ValueFrom != nil && env.ValueFrom.FieldRef != nil {
			fields[env.Name] = env.ValueFrom.FieldRef.FieldPath
		}
	}
	if diff := cmp.Diff(map[string]string{"POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace"}, fields); diff != "" {
		t.Error(diff)
	}
}

func TestTwoReplicasStayApartAndNeverLeaveTogether(t *testing.T) {
	manifests := render(t)
	d := find[*appsv1.Deployment](t, manifests, "valkey-operator")
	if *d.Spec.Replicas != 2 || d.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue() != 0 {
		t.Errorf("%d replicas, strategy %v", *d.Spec.Replicas, d.Spec.Strategy)
	}
	var keys []string
	for _, c := range d.Spec.Template.Spec.TopologySpreadConstraints {
		keys = append(keys, c.TopologyKey)
		if diff := cmp.Diff(d.Spec.Selector, c.LabelSelector); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff([]string{"kubernetes.io/hostname", "topology.kubernetes.io/zone"}, keys); diff != "" {
		t.Error(diff)
	}
	budget := find[*policyv1.PodDisruptionBudget](t, manifests, "valkey-operator")
	if diff := cmp.Diff(d.Spec.Selector, budget.Spec.Selector); diff != "" || budget.Spec.MaxUnavailable.IntValue() != 1 {
		t.Errorf("budget %v\n%s", budget.Spec, diff)
	}
	for label, value := range d.Spec.Selector.MatchLabels {
		if d.Spec.Template.Labels[label] != value {
			t.Errorf("the pods lack the selector's label %s", label)
		}
	}
}

func TestPodsRestartWhenTheirConfigurationChangesAndOnlyThen(t *testing.T) {
	before := deployment(t).Spec.Template
	for set, restarts := range map[string]bool{
		"config.nodeTimeout=6000":           true,
		"config.watchNamespaces={a}":        true,
		`policies.size\.cue=package policy`: true,
		"config.nodeTimeout=5000":           false, // the default, said again
		"replicas=3":                        false,
		"networkPolicy.enabled=true":        false,
		"metrics.dashboard.enabled=true":    false,
		"tenantRoles.create=true":           false,
	} {
		if changed := !cmp.Equal(before, deployment(t, "--set", set).Spec.Template); changed != restarts {
			t.Errorf("with %s the pod template changes: %v, want %v", set, changed, restarts)
		}
	}
}

func TestImageReference(t *testing.T) {
	const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for set, want := range map[string]string{
		"":                               "valkey-operator:0.1.0",
		"image.tag=dev":                  "valkey-operator:dev",
		"image.registry=mirror.example/": "mirror.example/valkey-operator:0.1.0",
		"image.registry=mirror.example:5000,image.repository=team/operator": "mirror.example:5000/team/operator:0.1.0",
		"image.tag=dev,image.digest=" + digest:                              "valkey-operator@" + digest,
	} {
		if got := deployment(t, "--set", set).Spec.Template.Spec.Containers[0].Image; got != want {
			t.Errorf("with %q the image is %s, want %s", set, got, want)
		}
	}
}

func TestPoliciesAreMountedAsWritten(t *testing.T) {
	manifests := render(t, "--values", "values/everything.yaml")
	policies := find[*corev1.ConfigMap](t, manifests, "valkey-operator-policies")
	want := map[string]string{
		"size.cue":     "package policy\n\n// At most twelve shards.\nspec: shards: <=12\n",
		"replicas.cue": "package policy\n\nspec: replicasPerShard: >=1\n",
	}
	if diff := cmp.Diff(want, policies.Data); diff != "" {
		t.Error(diff)
	}
	pod := find[*appsv1.Deployment](t, manifests, "valkey-operator").Spec.Template.Spec
	if v := pod.Volumes[0]; v.ConfigMap == nil || v.ConfigMap.Name != policies.Name {
		t.Errorf("volume %v", v)
	}
	if m := pod.Containers[0].VolumeMounts[0]; m.MountPath != "/etc/valkey-operator/policies" || !m.ReadOnly || m.Name != pod.Volumes[0].Name {
		t.Errorf("mount %v", m)
	}
}
