package kube

import (
	"fmt"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A merge patch names the fields in which what a caller wants differs from what it has seen. To write it as JSON and to read it
// again costs more than all else in a pass, so it is done here on the objects themselves: structs field by field, maps key
// by key, and all else, lists too, as one value.

// patched is the object with the patch. Who patches what the API server still has needs no merge: then the outcome is
// what the patch was made from. A patch that names a version is for that version only.
func (a *API) patched(was, obj client.Object, patch client.Patch) (is client.Object, conflict bool, err error) {
	if was.GetResourceVersion() == obj.GetResourceVersion() {
		return copyOf(obj), false, nil
	}
	if namesVersion(patch) {
		return nil, true, nil
	}
	seen := a.past[obj.GetResourceVersion()]
	if seen == nil || reflect.TypeOf(seen) != reflect.TypeOf(obj) {
		return nil, false, fmt.Errorf("patch %T %s: version %q has never been", obj, obj.GetName(), obj.GetResourceVersion())
	}
	is = copyOf(was)
	merge(reflect.ValueOf(is).Elem(), reflect.ValueOf(seen).Elem(), reflect.ValueOf(copyOf(obj)).Elem())
	return is, false, nil
}

// namesVersion says that the patch was made with client.MergeFromWithOptimisticLock, which only its JSON tells otherwise.
func namesVersion(patch client.Patch) bool {
	return reflect.ValueOf(patch).Elem().FieldByName("opts").FieldByName("OptimisticLock").Bool()
}

func merge(into, seen, wanted reflect.Value) {
	switch kind := into.Kind(); {
	case kind == reflect.Struct && open(into.Type()):
		for i := range into.NumField() {
			merge(into.Field(i), seen.Field(i), wanted.Field(i))
		}
	case reflect.DeepEqual(seen.Interface(), wanted.Interface()):
	case kind == reflect.Map && !into.IsNil():
		mergeMap(into, seen, wanted)
	case kind == reflect.Pointer && !into.IsNil() && !seen.IsNil() && !wanted.IsNil():
		merge(into.Elem(), seen.Elem(), wanted.Elem())
	default:
		into.Set(wanted)
	}
}

func mergeMap(into, seen, wanted reflect.Value) {
	for _, key := range seen.MapKeys() {
		if !wanted.MapIndex(key).IsValid() {
			into.SetMapIndex(key, reflect.Value{})
		}
	}
	for _, key := range wanted.MapKeys() {
		was, is := seen.MapIndex(key), wanted.MapIndex(key)
		if !was.IsValid() || !reflect.DeepEqual(was.Interface(), is.Interface()) {
			into.SetMapIndex(key, is)
		}
	}
}

// open says that all fields of a struct can be seen, which those of times and quantities cannot: they are one value.
func open(t reflect.Type) bool {
	for i := range t.NumField() {
		if !t.Field(i).IsExported() {
			return false
		}
	}
	return true
}
