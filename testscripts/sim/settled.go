package sim

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine/topology"
	"valkey.gomomento.com/operator/operator/report"
	"valkey.gomomento.com/operator/testscripts/sim/kube"
	"valkey.gomomento.com/operator/testscripts/sim/model"
)

// settled judges a world that has come to rest.
func (j *judge) settled() {
	spec := j.w.cluster()
	servers := j.w.servers.Servers()
	want := int(spec.Spec.Shards) * (1 + int(spec.Spec.ReplicasPerShard))
	if n := len(j.w.nodes()); n != want || len(servers) != want {
		j.accuse("there are %d nodes and %d servers instead of %d", n, len(servers), want)
	}
	j.settledStatus(spec)
	for _, s := range servers {
		j.settledServer(s, servers, spec)
	}
	for _, lost := range j.w.servers.Lost() {
		j.accuse("lost: %s", lost)
	}
}

// settledStatus judges what a world at rest says of itself.
func (j *judge) settledStatus(spec *v1alpha1.ValkeyCluster) {
	if spec.Status.State != v1alpha1.Active {
		j.accuse("the state is %s: %s", spec.Status.State, spec.Status.Message)
	}
	if c := meta.FindStatusCondition(spec.Status.Conditions, report.Progressing); c == nil || c.Status != metav1.ConditionFalse {
		j.accuse("the cluster is at rest and does not say so: %s", spec.Status.Message)
	}
	j.settledObjects(spec)
	for _, b := range spec.Spec.ACL {
		if users := j.w.usersFile(); !strings.Contains(users, "user "+b.Username) {
			j.accuse("user %s is not among the users", b.Username)
		}
	}
	if spec.Annotations[objects.RotationAnnotation] != spec.Status.RotatedPasswords {
		j.accuse("the passwords are not rotated")
	}
}

// settledObjects judges what the operator has made besides servers.
func (j *judge) settledObjects(spec *v1alpha1.ValkeyCluster) {
	name := objects.ServiceName(clusterName)
	secret := kube.Get[corev1.Secret](j.w.api, namespace, objects.AuthName(clusterName))
	budget := kube.Get[policyv1.PodDisruptionBudget](j.w.api, namespace, name)
	if secret == nil || budget == nil || kube.Get[corev1.Service](j.w.api, namespace, name) == nil {
		j.accuse("the Secret, the budget or the Service is missing")
		return
	}
	if keep, want := budget.Spec.MinAvailable.IntValue(), len(j.w.nodes())-min(1, int(spec.Spec.ReplicasPerShard)); keep != want {
		j.accuse("the budget keeps %d Pods instead of %d", keep, want)
	}
	for _, s := range j.w.servers.Servers() {
		if s.Loaded() != j.w.usersFile() {
			j.accuse("%s has not loaded the users", s.Name)
		}
		if s.Password != objects.Passwords(secret.Data).Repl {
			j.accuse("%s replicates with another password than the Secret's", s.Name)
		}
	}
}

// usersFile is users.acl as the API server has it, "" when there is none.
func (w *World) usersFile() string {
	file := kube.Get[corev1.ConfigMap](w.api, namespace, objects.ACLName(clusterName))
	if file == nil {
		return ""
	}
	return file.Data[objects.ACLKey]
}

// settledServer judges one server of a world at rest.
func (j *judge) settledServer(s *model.Server, all []*model.Server, spec *v1alpha1.ValkeyCluster) {
	if view := all[0].View(); s.View() != view {
		j.accuse("%s sees %q, %s sees %q", s.Name, s.View(), all[0].Name, view)
	}
	share := topology.SlotCount / int(spec.Spec.Shards)
	switch replicas := s.Replicas(); {
	case !s.Serves():
		j.accuse("%s does not serve", s.Name)
	case !s.IsPrimary() && !s.InSync():
		j.accuse("%s is not in sync", s.Name)
	case s.IsPrimary() && (s.Slots() < share || s.Slots() > share+1):
		j.accuse("%s has %d slots", s.Name, s.Slots())
	case s.IsPrimary() && replicas != int(spec.Spec.ReplicasPerShard):
		j.accuse("%s has %d replicas", s.Name, replicas)
	}
	j.settledSpec(s)
}

// settledSpec judges what a server runs with.
func (j *judge) settledSpec(s *model.Server) {
	config := kube.Get[v1alpha1.ValkeyConfig](j.w.api, "", configName)
	image := kube.Get[v1alpha1.ValkeyImage](j.w.api, "", imageName)
	node := kube.Get[v1alpha1.ValkeyNode](j.w.api, namespace, s.Name)
	if node == nil {
		return
	}
	if want := image.Spec.Repository + ":" + image.Spec.Tag; node.Spec.Image != want {
		j.accuse("%s runs %s instead of %s", s.Name, node.Spec.Image, want)
	}
	for name, value := range config.Spec.Valkey {
		if s.Settings[name] != value {
			j.accuse("%s has %s %q instead of %q", s.Name, name, s.Settings[name], value)
		}
	}
	if s.Settings["cluster-node-timeout"] != "5000" {
		j.accuse("%s has a node timeout of %s", s.Name, s.Settings["cluster-node-timeout"])
	}
	if s.Settings["loglevel"] != "notice" {
		j.accuse("%s still logs at level %s", s.Name, s.Settings["loglevel"])
	}
	if pod := j.w.pod(s.Name); pod != nil && pod.Labels[objects.LabelShard] == "" {
		j.accuse("%s has no shard", s.Name)
	}
}
