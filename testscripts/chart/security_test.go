package chart

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// The fields that the `restricted` Pod Security Standard asks for, and what we ask for beyond it.
func TestPodsMeetTheRestrictedStandard(t *testing.T) {
	for name, args := range valuesFiles(t) {
		t.Run(name, func(t *testing.T) {
			pod := deployment(t, args...).Spec.Template.Spec
			checkPodSecurity(t, pod)
			for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
				checkContainerSecurity(t, c)
			}
		})
	}
}

func checkPodSecurity(t *testing.T, pod corev1.PodSpec) {
	t.Helper()
	s := pod.SecurityContext
	if s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.RunAsUser == nil || *s.RunAsUser != 65532 {
		t.Errorf("may run as root: %v", s)
	}
	if s.SeccompProfile == nil || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("seccomp profile is %v", s.SeccompProfile)
	}
	if pod.HostNetwork || pod.HostPID || pod.HostIPC {
		t.Error("shares a namespace of the host")
	}
	for _, v := range pod.Volumes {
		if v.HostPath != nil {
			t.Errorf("volume %s is a path of the host", v.Name)
		}
	}
}

func checkContainerSecurity(t *testing.T, c corev1.Container) {
	t.Helper()
	s := c.SecurityContext
	if s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || s.Privileged != nil {
		t.Errorf("%s may gain privileges", c.Name)
	}
	if s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
		t.Errorf("%s can write its root filesystem", c.Name)
	}
	if s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(s.Capabilities.Add) != 0 {
		t.Errorf("%s has capabilities %v", c.Name, s.Capabilities)
	}
	for _, p := range c.Ports {
		if p.HostPort != 0 {
			t.Errorf("%s takes port %d of the host", c.Name, p.HostPort)
		}
	}
}

func TestResourcesAreRequestedAndLimited(t *testing.T) {
	r := deployment(t).Spec.Template.Spec.Containers[0].Resources
	for what, pair := range map[string][2]resource.Quantity{
		"cpu request":    {*r.Requests.Cpu(), resource.MustParse("50m")},
		"memory request": {*r.Requests.Memory(), resource.MustParse("64Mi")},
		"memory limit":   {*r.Limits.Memory(), resource.MustParse("256Mi")},
	} {
		if pair[0].Cmp(pair[1]) != 0 {
			t.Errorf("%s is %v, want %v", what, &pair[0], &pair[1])
		}
	}
}

func TestOnlyThePodsOfTheDeploymentGetAToken(t *testing.T) {
	manifests := render(t)
	account := find[*corev1.ServiceAccount](t, manifests, "valkey-operator")
	pod := find[*appsv1.Deployment](t, manifests, "valkey-operator").Spec.Template.Spec
	if *account.AutomountServiceAccountToken || !*pod.AutomountServiceAccountToken || pod.ServiceAccountName != account.Name {
		t.Errorf("account mounts its token: %v, pod: %v", *account.AutomountServiceAccountToken, *pod.AutomountServiceAccountToken)
	}
}
