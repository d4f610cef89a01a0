package kube

import (
	"reflect"

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

// shallow is another object with the same parts, which are never changed in place.
func shallow(obj client.Object) client.Object {
	other := reflect.New(reflect.TypeOf(obj).Elem())
	other.Elem().Set(reflect.ValueOf(obj).Elem())
	return other.Interface().(client.Object)
}

// same says that two versions of an object are one, which of a change to status only that tells.
func same(was, is client.Object, status bool) bool {
	if status {
		return equality.Semantic.DeepEqual(field(was, "Status").Interface(), field(is, "Status").Interface())
	}
	return equality.Semantic.DeepEqual(was, is)
}

// keep makes of a changed object what an API server makes of it: of a change to status only the status counts, of any
// other all but the status, and what is the API server's own is as it was.
func keep(was, is client.Object, status bool) client.Object {
	if status {
		kept := shallow(was)
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
