package objects

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// Names of a Pod's volumes.
const (
	volumeConfig = "config"
	volumeACL    = "acl"
	volumeAuth   = "auth"
	volumeTLS    = "tls"
	volumeData   = "data"
	volumeState  = "state"
)

// stateLimit is more than the nodes.conf of a thousand servers and the one that takes its place.
var stateLimit = resource.MustParse("4Mi")

// volumes are what the server reads, and the data it writes, which ends with the Pod.
func volumes(node *v1alpha1.ValkeyNode) []corev1.Volume {
	all := []corev1.Volume{
		{Name: volumeConfig, VolumeSource: configMap(ConfigName(node.Name))},
		{Name: volumeACL, VolumeSource: configMap(ACLName(node.Spec.ClusterName))},
		// Of the Secret only the line that valkey.conf includes: a server needs no other part of it.
		{Name: volumeAuth, VolumeSource: secret(AuthName(node.Spec.ClusterName), PrimaryAuthKey)},
		{Name: volumeData, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: volumeState, VolumeSource: inMemory(stateLimit)},
	}
	if node.Spec.TLSSecret != "" {
		// The operator's copy: a Pod cannot change which Secret it mounts, and a broken Secret must not reach a server.
		all = append(all, corev1.Volume{Name: volumeTLS, VolumeSource: secret(TLSName(node.Spec.ClusterName))})
	}
	return all
}

// inMemory is a directory that no disk delays. A server writes nodes.conf in its only thread and waits for the disk, several
// times in each failover, and the disk is its machine's (clusterSaveConfig in valkey/src/cluster_legacy.c). Nobody reads the
// file again: a Pod never starts its server twice.
func inMemory(limit resource.Quantity) corev1.VolumeSource {
	return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: &limit}}
}

func configMap(name string) corev1.VolumeSource {
	mode := secretMode
	return corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: name},
		DefaultMode:          &mode,
	}}
}

// secret mounts the keys named, or all.
func secret(name string, keys ...string) corev1.VolumeSource {
	mode := secretMode
	source := &corev1.SecretVolumeSource{SecretName: name, DefaultMode: &mode}
	for _, key := range keys {
		source.Items = append(source.Items, corev1.KeyToPath{Key: key, Path: key})
	}
	return corev1.VolumeSource{Secret: source}
}

// mounts put the volumes where the rendered configuration expects them. None
// is mounted by subPath: such a file would never be refreshed.
func mounts(node *v1alpha1.ValkeyNode) []corev1.VolumeMount {
	all := []corev1.VolumeMount{
		{Name: volumeConfig, MountPath: configDir, ReadOnly: true},
		{Name: volumeACL, MountPath: aclDir, ReadOnly: true},
		{Name: volumeAuth, MountPath: authDir, ReadOnly: true},
		{Name: volumeData, MountPath: dataDir},
		{Name: volumeState, MountPath: stateDir},
	}
	if node.Spec.TLSSecret != "" {
		all = append(all, corev1.VolumeMount{Name: volumeTLS, MountPath: tlsDir, ReadOnly: true})
	}
	return all
}
