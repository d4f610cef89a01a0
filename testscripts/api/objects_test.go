package api

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

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
