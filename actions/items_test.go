package actions_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// items are the objects of a list.
func items(t *testing.T, list client.ObjectList) []client.Object {
	t.Helper()
	all, err := meta.ExtractList(list)
	if err != nil {
		t.Fatal(err)
	}
	objs := make([]client.Object, 0, len(all))
	for _, o := range all {
		objs = append(objs, o.(client.Object))
	}
	return objs
}
