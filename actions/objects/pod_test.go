package objects_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
)

// podOf is the Pod of a node made from the desired state after a change.
func podOf(t *testing.T, change func(*engine.Desired), defaults objects.PodDefaults) *corev1.Pod {
	t.Helper()
	d := desired()
	if change != nil {
		change(&d)
	}
	defaults.ClusterDomain = "corp.local"
	n := objects.ValkeyNode(cluster(), "cart-0a1b2", d, engine.NewNode{ShardIndex: 2, Join: engine.JoinReplica}, defaults)
	n.UID = "node-uid"
	p, err := objects.Pod(n, defaults, map[string]string{"team": "cart"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func withTLS(d *engine.Desired) { d.Node.TLSSecret = "cart-tls" }

func TestPod(t *testing.T) {
	p := podOf(t, nil, objects.PodDefaults{})
	c := p.Spec.Containers[0]
	checks := map[string]bool{
		"it is called as its node":       p.Name == "cart-0a1b2" && p.Namespace == "shop",
		"its node owns it":               objects.ControllerUID(p) == "node-uid" && objects.NodeOf(p) == "cart-0a1b2",
		"its shard is on a label":        p.Labels["valkey.gomomento.com/shard-index"] == "2",
		"its DNS name resolves":          p.Spec.Hostname == "cart-0a1b2" && p.Spec.Subdomain == "cart",
		"it never restarts":              p.Spec.RestartPolicy == corev1.RestartPolicyNever,
		"it has no API token":            !*p.Spec.AutomountServiceAccountToken,
		"no Service is in its variables": !*p.Spec.EnableServiceLinks,
		"it requests what it limits":     c.Resources.Requests.Cpu().Cmp(resource.MustParse("500m")) == 0 && c.Resources.Limits.Memory().Cmp(resource.MustParse("128Mi")) == 0,
		"no secret is in its variables":  len(c.Env) == 1 && c.Env[0].Name == "POD_IP",
		"it has its annotations":         p.Annotations["team"] == "cart",
		"its grace outlasts the hook":    *p.Spec.TerminationGracePeriodSeconds > c.Lifecycle.PreStop.Sleep.Seconds+10,
		"it tolerates arm64":             p.Spec.Tolerations[0].Key == "kubernetes.io/arch" && p.Spec.Tolerations[0].Effect == corev1.TaintEffectNoSchedule,
		"it announces its address":       strings.Join(c.Args, " ") == "/etc/valkey/config/valkey.conf --cluster-announce-ip $(POD_IP)",
		"its ports are those of Valkey":  c.Ports[0].ContainerPort == 6379 && c.Ports[1].ContainerPort == 16379,
		"it has no readiness probe":      c.ReadinessProbe == nil && c.StartupProbe == nil,
	}
	for what, holds := range checks {
		if !holds {
			t.Errorf("not so: %s", what)
		}
	}
}

// TestPodMeetsTheRestrictedStandard lists what the restricted Pod Security Standard asks of a Pod.
func TestPodMeetsTheRestrictedStandard(t *testing.T) {
	p := podOf(t, withTLS, objects.PodDefaults{})
	pod, c := p.Spec.SecurityContext, p.Spec.Containers[0].SecurityContext
	checks := map[string]bool{
		"runs as a user that is not root": *pod.RunAsNonRoot && *pod.RunAsUser > 0 && *pod.RunAsGroup > 0,
		"default seccomp profile":         pod.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault,
		"no privilege escalation":         !*c.AllowPrivilegeEscalation,
		"no capabilities":                 slices.Equal(c.Capabilities.Drop, []corev1.Capability{"ALL"}) && len(c.Capabilities.Add) == 0,
		"read-only root":                  *c.ReadOnlyRootFilesystem,
		"no host namespaces":              !p.Spec.HostNetwork && !p.Spec.HostPID && !p.Spec.HostIPC,
	}
	for what, holds := range checks {
		if !holds {
			t.Errorf("not so: %s", what)
		}
	}
	for _, v := range p.Spec.Volumes {
		if v.ConfigMap == nil && v.Secret == nil && v.EmptyDir == nil {
			t.Errorf("volume %s is of a kind that is not allowed", v.Name)
		}
	}
}

func TestPodVolumes(t *testing.T) {
	p := podOf(t, withTLS, objects.PodDefaults{})
	sources := map[string]string{}
	for _, v := range p.Spec.Volumes {
		switch {
		case v.ConfigMap != nil:
			sources[v.Name] = "ConfigMap/" + v.ConfigMap.Name
		case v.Secret != nil:
			sources[v.Name] = "Secret/" + v.Secret.SecretName
			if *v.Secret.DefaultMode != 0o440 {
				t.Errorf("mode of %s is %o", v.Name, *v.Secret.DefaultMode)
			}
			for _, item := range v.Secret.Items {
				sources[v.Name] += " " + item.Key
			}
		default:
			sources[v.Name] = "emptyDir" + string(v.EmptyDir.Medium)
		}
	}
	want := map[string]string{
		"/etc/valkey/config": "ConfigMap/cart-0a1b2-config", "/etc/valkey/acl": "ConfigMap/cart-acl",
		"/etc/valkey/auth": "Secret/cart-operator-auth primaryauth.conf", "/etc/valkey/tls": "Secret/cart-operator-tls",
		"/var/lib/valkey": "emptyDir", "/run/valkey": "emptyDirMemory",
	}
	mounts := p.Spec.Containers[0].VolumeMounts
	for _, m := range mounts {
		if sources[m.Name] != want[m.MountPath] || m.ReadOnly == strings.HasPrefix(sources[m.Name], "emptyDir") || m.SubPath != "" {
			t.Errorf("at %s is %s", m.MountPath, sources[m.Name])
		}
	}
	if len(mounts) != len(want) || len(p.Spec.Volumes) != len(want) {
		t.Errorf("%d mounts, want %d", len(mounts), len(want))
	}
	if plain := podOf(t, nil, objects.PodDefaults{}); len(plain.Spec.Volumes) != len(want)-1 {
		t.Errorf("without TLS it has %d volumes", len(plain.Spec.Volumes))
	}
}

func TestPodUnderTLSAnnouncesItsName(t *testing.T) {
	args := podOf(t, withTLS, objects.PodDefaults{}).Spec.Containers[0].Args
	if got, want := strings.Join(args[3:], " "), "--cluster-announce-hostname cart-0a1b2.cart.shop.svc.corp.local"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPodPlacement(t *testing.T) {
	p := podOf(t, func(d *engine.Desired) {
		d.Node.Placement = engine.Placement{
			Zones: []string{"b", "a"}, ZoneSpread: "required", NodeSelector: map[string]string{"disk": "ssd"},
		}
	}, objects.PodDefaults{})
	term := p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions[0]
	if term.Key != "topology.kubernetes.io/zone" || !slices.Equal(term.Values, []string{"a", "b"}) {
		t.Errorf("affinity = %+v", term)
	}
	if p.Spec.NodeSelector["disk"] != "ssd" {
		t.Errorf("node selector = %v", p.Spec.NodeSelector)
	}
	spreads(t, p, []string{
		"kubernetes.io/hostname ScheduleAnyway shard", "topology.kubernetes.io/zone DoNotSchedule shard",
		"topology.kubernetes.io/zone ScheduleAnyway cluster",
	})
	free := podOf(t, nil, objects.PodDefaults{})
	if free.Spec.Affinity != nil {
		t.Errorf("affinity without zones = %+v", free.Spec.Affinity)
	}
	spreads(t, free, []string{"kubernetes.io/hostname ScheduleAnyway shard", "topology.kubernetes.io/zone ScheduleAnyway shard"})
}

func spreads(t *testing.T, p *corev1.Pod, want []string) {
	t.Helper()
	var got []string
	for _, c := range p.Spec.TopologySpreadConstraints {
		over := "cluster"
		if c.LabelSelector.MatchLabels["valkey.gomomento.com/shard-index"] == "2" {
			over = "shard"
		}
		if c.MaxSkew != 1 || c.LabelSelector.MatchLabels["app.kubernetes.io/instance"] != "cart" {
			t.Errorf("constraint %+v", c)
		}
		got = append(got, c.TopologyKey+" "+string(c.WhenUnsatisfiable)+" "+over)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPodIsMadeFromItsNodeAlone(t *testing.T) {
	defaults := objects.PodDefaults{
		PullSecrets: []string{"registry"}, PriorityClassName: "high",
		Tolerations: []v1alpha1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}},
	}
	n := objects.ValkeyNode(cluster(), "cart-0a1b2", desired(), engine.NewNode{}, defaults)
	later := objects.PodDefaults{ClusterDomain: "cluster.local", PriorityClassName: "low"}
	p, err := objects.Pod(n, later, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.Spec.ImagePullSecrets[0].Name != "registry" || p.Spec.PriorityClassName != "high" || p.Spec.Tolerations[1].Key != "dedicated" {
		t.Errorf("spec = %+v", p.Spec)
	}
}

func TestPodWithResourcesThatAreNone(t *testing.T) {
	p := podOf(t, func(d *engine.Desired) { d.Node.CPU, d.Node.Memory = "", "" }, objects.PodDefaults{})
	if r := p.Spec.Containers[0].Resources; r.Requests != nil || r.Limits != nil {
		t.Errorf("resources = %+v", r)
	}
	d := desired()
	d.Node.Memory = "much"
	n := objects.ValkeyNode(cluster(), "cart-0a1b2", d, engine.NewNode{}, objects.PodDefaults{})
	if _, err := objects.Pod(n, objects.PodDefaults{}, nil); err == nil || !strings.Contains(err.Error(), `memory "much"`) {
		t.Errorf("err = %v", err)
	}
}

func TestValkeyNode(t *testing.T) {
	d := desired()
	d.Node.TLSSecret = "cart-tls"
	d.Node.Placement = engine.Placement{Zones: []string{"a", "b"}, ZoneSpread: "required", NodeSelector: map[string]string{"disk": "ssd"}}
	n := objects.ValkeyNode(cluster(), "cart-0a1b2", d, engine.NewNode{ShardIndex: 1, Join: engine.JoinShard}, objects.PodDefaults{})
	if n.Spec.Lifecycle != v1alpha1.LifecycleJoining || n.Spec.ClusterName != "cart" || n.Spec.ShardIndex != 1 || n.Spec.Version != "9.1.2" {
		t.Errorf("spec = %+v", n.Spec)
	}
	if n.Labels["valkey.gomomento.com/join-type"] != "shard" || n.Finalizers[0] != "valkey.gomomento.com/node-cleanup" || objects.ControllerUID(n) != "cart-uid" {
		t.Errorf("metadata = %+v", n.ObjectMeta)
	}
	n.Spec.ValkeySettings["maxmemory"] = "changed"
	if d.Node.Settings["maxmemory"] != "96mb" {
		t.Error("the node shares its settings with the desired state")
	}
}
