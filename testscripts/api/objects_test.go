package api

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// Every field of the Go types comes back from the API server as it was written, status included.
func TestEveryFieldIsKept(t *testing.T) {
	client, err := dynamic.NewForConfig(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	r := &rules{client: client, namespace: namespace(t, client)}
	for kind, parts := range wholeObjects() {
		t.Run(kind, func(t *testing.T) {
			want := whole(t, kind, parts)
			client := r.resource(want)
			if _, err := client.Create(t.Context(), want.DeepCopy(), metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { remove(t, client, want.GetName()) })
			got, err := client.Get(t.Context(), want.GetName(), metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got.Object["status"] = want.Object["status"]
			got, err = client.UpdateStatus(t.Context(), got, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict})
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range []string{"spec", "status"} {
				if diff := cmp.Diff(want.Object[part], got.Object[part]); diff != "" {
					t.Errorf("%s: -written +read:\n%s", part, diff)
				}
			}
		})
	}
}

// A cluster that the operator has not seen yet is Creating, and the columns are those that people know.
func TestColumns(t *testing.T) {
	columns := map[string]string{
		"valkeyimages":   "Name Repository Tag Version",
		"valkeyconfigs":  "Name ImageRef BaseRef",
		"valkeyroles":    "Name Age",
		"valkeyclusters": "Name Config Shards Replicas State Ready Age",
		"valkeynodes":    "Name Cluster Image Lifecycle Role Shard Age",
	}
	client, err := dynamic.NewForConfig(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	for plural, want := range columns {
		if got := table(t, plural); got != want {
			t.Errorf("columns of %s: %s, want %s", plural, got, want)
		}
	}
	r := &rules{client: client, namespace: namespace(t, client)}
	cluster := whole(t, "ValkeyCluster", wholeObjects()["ValkeyCluster"])
	if err := r.create(cluster); err != nil {
		t.Fatal(err)
	}
	made, err := r.resource(cluster).Get(t.Context(), cluster.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"state": "Creating"}, made.Object["status"]); diff != "" {
		t.Errorf("status of a new cluster: -want +got:\n%s", diff)
	}
}

// table are the columns that kubectl shows, without -o wide.
func table(t *testing.T, plural string) string {
	t.Helper()
	config := dynamic.ConfigFor(server.Config)
	config.GroupVersion = &schema.GroupVersion{}
	client, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	text, err := client.Get().AbsPath("/apis/valkey.gomomento.com/v1alpha1/"+plural).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := metav1.Table{}
	if err := json.Unmarshal(text, &found); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range found.ColumnDefinitions {
		if c.Priority == 0 {
			names = append(names, c.Name)
		}
	}
	return strings.Join(names, " ")
}

func remove(t *testing.T, client dynamic.ResourceInterface, name string) {
	if err := client.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

// whole is an object of the kind with the parts. It is a failure that a field of a part is not set: the test would not see it.
func whole(t *testing.T, kind string, parts map[string]any) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{}}
	for part, value := range parts {
		everySet(t, kind+"."+part, reflect.ValueOf(value).Elem())
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(value)
		if err != nil {
			t.Fatal(err)
		}
		object.Object[part] = fields
	}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	object.SetName("api-rules-whole")
	return object
}

func everySet(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	if v.IsZero() {
		t.Errorf("%s is not set", path)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		everySet(t, path, v.Elem())
	case reflect.Slice:
		everySet(t, path, v.Index(0))
	case reflect.Struct:
		if v.Type().PkgPath() != reflect.TypeFor[v1alpha1.ValkeyCluster]().PkgPath() {
			return
		}
		for i := range v.NumField() {
			everySet(t, path+"."+v.Type().Field(i).Name, v.Field(i))
		}
	}
}

// wholeObjects have every field set.
func wholeObjects() map[string]map[string]any {
	const name = "some-name"
	now := metav1.NewTime(time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC))
	seconds := int64(60)
	conditions := []v1alpha1.Condition{{
		Type: "Accepted", Status: metav1.ConditionTrue, ObservedGeneration: 1, LastTransitionTime: now, Reason: "Resolved", Message: "all is well",
	}}
	tolerations := []v1alpha1.Toleration{{Key: "dedicated", Operator: "Equal", Value: "valkey", Effect: "NoExecute", TolerationSeconds: &seconds}}
	acl := []v1alpha1.AclBinding{{
		Username: "app", PasswordHashes: []string{strings.Repeat("0123456789abcdef", 4)},
		Permissions: []v1alpha1.Permission{{
			RoleRef: name, Channels: []string{"news:*"}, Keys: []v1alpha1.KeyPattern{{Pattern: "app:*", Access: v1alpha1.Read}},
		}},
	}}
	placement := &v1alpha1.Placement{
		Zones: []string{"a"}, ZoneSpread: v1alpha1.Required, NodeSelector: map[string]string{"disk": "ssd"},
	}
	cluster := &v1alpha1.ValkeyClusterSpec{
		ConfigRef: name, Shards: 3, ReplicasPerShard: 1, ACL: acl, Placement: placement, TLS: &v1alpha1.TLS{SecretRef: name},
		PodAnnotations: map[string]string{"team": "orders"}, Paused: true,
	}
	return map[string]map[string]any{
		"ValkeyImage": {
			"spec":   &v1alpha1.ValkeyImageSpec{Repository: "valkey/valkey", Tag: "9", Version: "9.0.1", PullSecrets: []string{name}},
			"status": &v1alpha1.ValkeyImageStatus{Conditions: conditions},
		},
		"ValkeyConfig": {
			"spec": &v1alpha1.ValkeyConfigSpec{
				ImageRef: name, BaseRef: name, Resources: &v1alpha1.Resources{CPU: "1", Memory: "1Gi"},
				Valkey: map[string]string{"save": ""}, ACL: acl, Tolerations: tolerations, PriorityClassName: name,
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
		"ValkeyCluster": {
			"spec": cluster,
			"status": &v1alpha1.ValkeyClusterStatus{
				State: v1alpha1.Updating, Message: "words", TargetSpec: cluster, ObservedGeneration: 1, ReadyNodes: 6, Ready: "6/6", Conditions: conditions,
				Nodes: []v1alpha1.ClusterNode{{Name: name, ShardIndex: 1, Role: v1alpha1.Primary, ID: "id", Zone: "a", Ready: true, Slots: 16384}},
			},
		},
		"ValkeyNode": {
			"spec": &v1alpha1.ValkeyNodeSpec{
				ClusterName: name, Image: "valkey/valkey:9", Version: "9.0.1", PullSecrets: []string{name}, CPU: "1", Memory: "1Gi",
				ValkeySettings: map[string]string{"save": ""}, ShardIndex: 1, TLSSecret: name, Placement: placement,
				Tolerations: tolerations, PriorityClassName: name, Lifecycle: v1alpha1.LifecycleJoining,
			},
			"status": &v1alpha1.ValkeyNodeStatus{
				Role: v1alpha1.Replica, NodeID: "id", PodPhase: "Running", ReplicationLag: 1, LinkUp: true, Slots: 1, Version: "9.0.1",
				LastObserved: &now, Conditions: conditions,
			},
		},
	}
}
