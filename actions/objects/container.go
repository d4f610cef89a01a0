package objects

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// ContainerName is the name of a Pod's only container.
const ContainerName = "valkey"

// Directories of a server. The rendered configuration names files in them.
const (
	configDir = "/etc/valkey/config"
	aclDir    = "/etc/valkey/acl"
	authDir   = "/etc/valkey/auth"
	tlsDir    = "/etc/valkey/tls"
	dataDir   = "/var/lib/valkey"
	stateDir  = "/run/valkey"
)

// The liveness probe kills a server that is silent for 44 to 74 s: a script that
// blocks for 20 s, or a machine that stalls, is not a dead server. It is sent
// seldom, and not while a server starts: what the container runtime puts beside the
// server takes up to a tenth of a second of the server's own CPU.
const (
	// probeDelaySeconds leaves out the probe at the start; a kubelet sends the next one a period later.
	probeDelaySeconds   = 10
	probePeriodSeconds  = 30
	probeTimeoutSeconds = 15
	// probePatience is shorter, in seconds, so that the probe ends by itself.
	probePatience = 14
	probeFailures = 2
)

// secretMode lets the Pod's group read Secrets and users.acl, which holds hashes, and nobody else.
const secretMode int32 = 0o440

// server is the container that runs Valkey.
func server(node *v1alpha1.ValkeyNode, resources corev1.ResourceRequirements, domain string) corev1.Container {
	return corev1.Container{
		Name:            ContainerName,
		Image:           node.Spec.Image,
		Command:         []string{"valkey-server"},
		Args:            arguments(node, domain),
		Env:             []corev1.EnvVar{fieldEnv("POD_IP", "status.podIP")},
		Ports:           []corev1.ContainerPort{containerPort("tcp-valkey", ClientPort), containerPort("tcp-bus", BusPort)},
		Resources:       resources,
		VolumeMounts:    mounts(node),
		LivenessProbe:   liveness(node.Spec.TLSSecret != ""),
		Lifecycle:       preStop(),
		SecurityContext: containerSecurity(),
		// What a server says of a directive it refuses is all that tells why it does not start.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// arguments give a server what no file can know beforehand: the address and the
// name it is reached by. They win over the file.
func arguments(node *v1alpha1.ValkeyNode, domain string) []string {
	args := []string{configDir + "/" + ConfKey, "--cluster-announce-ip", "$(POD_IP)"}
	if node.Spec.TLSSecret != "" {
		args = append(args, "--cluster-announce-hostname",
			Hostname(node.Name, node.Spec.ClusterName, node.Namespace, domain))
	}
	return args
}

func fieldEnv(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path},
	}}
}

func containerPort(name string, port int32) corev1.ContainerPort {
	return corev1.ContainerPort{Name: name, ContainerPort: port, Protocol: corev1.ProtocolTCP}
}

// liveness finds servers that hang, and nothing else.
//
// It fails only when valkey-cli has waited for probePatience in vain. Whatever the
// server answers is life: NOAUTH, LOADING, BUSY, also hanging up because it has
// too many clients or showing a certificate that has expired; valkey-cli ends
// with an error on the last two. A server whose port refuses has ended or has not
// begun, and its container's state says so.
//
// timeout ends valkey-cli, and tells by 124 that it did, in BusyBox by 143. To leave
// that to the kubelet does not work: a container runtime ends the shell alone, and
// waits for valkey-cli, which holds the shell's output, for ever.
//
// So it needs no password: one in the environment would be a secret too many,
// and a wrong one after each rotation.
func liveness(tls bool) *corev1.Probe {
	cli := fmt.Sprintf("timeout %d valkey-cli -p %d", probePatience, ClientPort)
	if tls {
		cli += " --tls --cacert " + tlsDir + "/ca.crt"
	}
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{
			Exec: &corev1.ExecAction{Command: []string{"sh", "-c", cli + " ping; case $? in 124|143) exit 1; esac"}},
		},
		InitialDelaySeconds: probeDelaySeconds,
		PeriodSeconds:       probePeriodSeconds,
		TimeoutSeconds:      probeTimeoutSeconds,
		FailureThreshold:    probeFailures,
	}
}

// preStop holds the server back from stopping, without needing a shell.
func preStop() *corev1.Lifecycle {
	return &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{
		Sleep: &corev1.SleepAction{Seconds: preStopSeconds},
	}}
}

// containerSecurity is the container's share of the restricted Pod Security Standard.
func containerSecurity() *corev1.SecurityContext {
	yes, no := true, false
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: &no,
		ReadOnlyRootFilesystem:   &yes,
		RunAsNonRoot:             &yes,
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// resources requests what it limits, so that no server is the first to go when
// a machine runs short.
func resources(spec v1alpha1.ValkeyNodeSpec) (corev1.ResourceRequirements, error) {
	amounts := corev1.ResourceList{}
	for name, text := range map[corev1.ResourceName]string{
		corev1.ResourceCPU: spec.CPU, corev1.ResourceMemory: spec.Memory,
	} {
		if text == "" {
			continue
		}
		amount, err := resource.ParseQuantity(text)
		if err != nil {
			return corev1.ResourceRequirements{}, fmt.Errorf("%s %q: %w", name, text, err)
		}
		amounts[name] = amount
	}
	if len(amounts) == 0 {
		return corev1.ResourceRequirements{}, nil
	}
	return corev1.ResourceRequirements{Requests: amounts, Limits: amounts.DeepCopy()}, nil
}
