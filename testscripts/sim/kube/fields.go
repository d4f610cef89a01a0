package kube

import (
	"encoding/json"
	"fmt"
	"reflect"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// field is a part of an object, such as Spec; not valid if it has no such part.
func field(obj client.Object, name string) reflect.Value {
	return reflect.ValueOf(obj).Elem().FieldByName(name)
}

// assign makes into the same object as from.
func assign(into, from any) { reflect.ValueOf(into).Elem().Set(reflect.ValueOf(from).Elem()) }

// generation is what an object's generation becomes by a change.
func generation(was, is client.Object) int64 {
	before, after := field(was, "Spec"), field(is, "Spec")
	if !before.IsValid() || equality.Semantic.DeepEqual(before.Interface(), after.Interface()) {
		return was.GetGeneration()
	}
	return was.GetGeneration() + 1
}

// keep makes of a changed object what an API server makes of it: of a change to status only the status counts, of any
// other all but the status, and what is the API server's own is as it was.
func keep(was, is client.Object, status bool) client.Object {
	if status {
		kept := copyOf(was)
		field(kept, "Status").Set(field(is, "Status"))
		return kept
	}
	if s := field(is, "Status"); s.IsValid() {
		s.Set(field(copyOf(was), "Status"))
	}
	is.SetUID(was.GetUID())
	is.SetCreationTimestamp(was.GetCreationTimestamp())
	is.SetDeletionTimestamp(was.GetDeletionTimestamp())
	is.SetDeletionGracePeriodSeconds(was.GetDeletionGracePeriodSeconds())
	is.SetResourceVersion(was.GetResourceVersion())
	is.SetGeneration(generation(was, is))
	return is
}

// patched is the object with the patch. Who patches what the API server still has needs no JSON for it: then the outcome is
// what the patch was made from. A patch that names a version is for that version only.
func patched(was, obj client.Object, patch client.Patch) (is client.Object, conflict bool, err error) {
	if was.GetResourceVersion() == obj.GetResourceVersion() {
		return copyOf(obj), false, nil
	}
	data, err := patch.Data(obj)
	if err != nil {
		return nil, false, fmt.Errorf("make a patch: %w", err)
	}
	var meant struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(data, &meant); err != nil {
		return nil, false, fmt.Errorf("read a patch: %w", err)
	}
	if v := meant.Metadata.ResourceVersion; v != "" && v != was.GetResourceVersion() {
		return nil, true, nil
	}
	before, err := json.Marshal(was)
	if err != nil {
		return nil, false, fmt.Errorf("write %T: %w", was, err)
	}
	after, err := jsonpatch.MergePatch(before, data)
	if err != nil {
		return nil, false, fmt.Errorf("merge a patch: %w", err)
	}
	is, ok := reflect.New(reflect.TypeOf(was).Elem()).Interface().(client.Object)
	if !ok {
		return nil, false, fmt.Errorf("%T is no object", was)
	}
	if err := json.Unmarshal(after, is); err != nil {
		return nil, false, fmt.Errorf("read %T: %w", was, err)
	}
	return is, false, nil
}
