package api

import (
	"encoding/json"
	"sync"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/load"
	cuejson "cuelang.org/go/encoding/json"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// manifests checks objects by the CUE module, as `cue vet` does.
type manifests struct {
	mu     sync.Mutex // scripts run in parallel, and one CUE context serves them all
	object cue.Value
}

func newManifests(t *testing.T) *manifests {
	t.Helper()
	instances := load.Instances([]string{"./vet"}, &load.Config{Dir: "../../cue"})
	v := cuecontext.New().BuildInstance(instances[0])
	if err := v.Err(); err != nil {
		t.Fatal(err)
	}
	return &manifests{object: v.LookupPath(cue.ParsePath("#Object"))}
}

func (m *manifests) vet(object *unstructured.Unstructured) error {
	text, err := json.Marshal(object.Object)
	if err != nil {
		return err
	}
	data, err := cuejson.Extract("object.json", text)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.object.Unify(cuecontext.New().BuildExpr(data)).Validate(cue.Concrete(true))
}
