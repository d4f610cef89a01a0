package api

import (
	"maps"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

const anyName = "some-name"

var (
	aTime       = metav1.NewTime(time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC))
	conditions  = []v1alpha1.Condition{{Type: "Accepted", Status: metav1.ConditionTrue, ObservedGeneration: 1, LastTransitionTime: aTime, Reason: "Resolved", Message: "all is well"}}
	tolerations = []v1alpha1.Toleration{{Key: "dedicated", Operator: "Equal", Value: "valkey", Effect: "NoExecute", TolerationSeconds: new(int64(60))}}
	placement   = &v1alpha1.Placement{Zones: []string{"a"}, ZoneSpread: v1alpha1.Required, NodeSelector: map[string]string{"disk": "ssd"}}
	bindings    = []v1alpha1.AclBinding{{
		Username: "app", PasswordHashes: []string{strings.Repeat("0123456789abcdef", 4)},
		Permissions: []v1alpha1.Permission{{
			RoleRef: anyName, Channels: []string{"news:*"}, Keys: []v1alpha1.KeyPattern{{Pattern: "app:*", Access: v1alpha1.Read}},
		}},
	}}
)

// wholeObjects have every field set: by kind, the spec and the status.
func wholeObjects() map[string]map[string]any {
	all := wholeMenu()
	maps.Copy(all, wholeClusterAndNode())
	return all
}

func wholeMenu() map[string]map[string]any {
	return map[string]map[string]any{
		"ValkeyImage": {
			"spec":   &v1alpha1.ValkeyImageSpec{Repository: "valkey/valkey", Tag: "9", Version: "9.0.1", PullSecrets: []string{anyName}},
			"status": &v1alpha1.ValkeyImageStatus{Conditions: conditions},
		},
		"ValkeyConfig": {
			"spec": &v1alpha1.ValkeyConfigSpec{
				ImageRef: anyName, BaseRef: anyName, Resources: &v1alpha1.Resources{CPU: "1", Memory: "1Gi"},
				Valkey: map[string]string{"save": ""}, ACL: bindings, Tolerations: tolerations, PriorityClassName: anyName,
			},
			"status": &v1alpha1.ValkeyConfigStatus{Conditions: conditions, Clusters: 2},
		},
		"ValkeyRole": {
			"spec": &v1alpha1.ValkeyRoleSpec{
				Categories: []v1alpha1.CategoryRule{{Name: "read", Access: v1alpha1.Allow}},
				Commands:   []v1alpha1.CommandRule{{Name: "config", Subcommand: "get", Access: v1alpha1.Deny}},
			},
			"status": &v1alpha1.ValkeyRoleStatus{Conditions: conditions},
		},
	}
}

func wholeClusterAndNode() map[string]map[string]any {
	cluster := &v1alpha1.ValkeyClusterSpec{
		ConfigRef: anyName, Shards: 3, ReplicasPerShard: 1, ACL: bindings, Placement: placement, TLS: &v1alpha1.TLS{SecretRef: anyName},
		PodAnnotations: map[string]string{"team": "orders"}, Paused: true,
	}
	return map[string]map[string]any{
		"ValkeyCluster": {
			"spec": cluster,
			"status": &v1alpha1.ValkeyClusterStatus{
				RotatedPasswords: "2026-12",
				State:            v1alpha1.Updating, Message: "words", TargetSpec: cluster, ObservedGeneration: 1, ReadyNodes: 6, Ready: "6/6", Conditions: conditions, KeptTopology: &v1alpha1.KeptTopology{Shards: 3, ReplicasPerShard: 1},
				Nodes: []v1alpha1.ClusterNode{{Name: anyName, ShardIndex: 1, Role: v1alpha1.Primary, ID: "id", Zone: "a", Ready: true, Slots: 16384}},
			},
		},
		"ValkeyNode": {
			"spec": &v1alpha1.ValkeyNodeSpec{
				ClusterName: anyName, Image: "valkey/valkey:9", Version: "9.0.1", PullSecrets: []string{anyName}, CPU: "1", Memory: "1Gi",
				ValkeySettings: map[string]string{"save": ""}, ShardIndex: 1, TLSSecret: anyName, Placement: placement,
				Tolerations: tolerations, PriorityClassName: anyName, Lifecycle: v1alpha1.LifecycleJoining,
			},
			"status": &v1alpha1.ValkeyNodeStatus{
				Role: v1alpha1.Replica, NodeID: "id", PodPhase: "Running", ReplicationLag: 1, LinkUp: true, Slots: 1, Version: "9.0.1",
				LastObserved: &aTime, Conditions: conditions, Certificate: "5f", Spellings: map[string]v1alpha1.Spelling{"hz": {Written: "1000", Read: "500"}},
			},
		},
	}
}
