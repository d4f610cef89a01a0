package api

import (
	"io/fs"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"sigs.k8s.io/yaml"

	"valkey.gomomento.com/operator/cue/api/crds"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// Every CRD is structural, its CEL compiles and stays within the API server's cost limits.
func TestEveryDefinitionIsValid(t *testing.T) {
	for file, definition := range definitions(t) {
		apiextensionsv1.SetDefaults_CustomResourceDefinition(definition)
		apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&definition.Spec)
		in := &apiextensions.CustomResourceDefinition{}
		err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(definition, in, nil)
		if err != nil {
			t.Fatal(err)
		}
		in.Status.StoredVersions = []string{"v1alpha1"}
		for _, problem := range validation.ValidateCustomResourceDefinition(t.Context(), in) {
			t.Errorf("%s: %v", file, problem)
		}
	}
}

// Client-side apply keeps the whole CRD in an annotation, and an object's annotations hold at most 256 KiB.
func TestEveryDefinitionFitsClientSideApply(t *testing.T) {
	const limit = 256 << 10
	for file := range definitions(t) {
		text, err := fs.ReadFile(crds.FS, file)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > limit/4 {
			t.Errorf("%s has %d bytes, want far below %d", file, len(text), limit)
		}
	}
}

// The words that Go code decides by are those that the API server takes.
func TestWordsAreTheSchemas(t *testing.T) {
	all := definitions(t)
	tests := map[string]struct{ kind, path, words string }{
		"access":      {"valkeyroles", "spec.commands.*.access", words(v1alpha1.Allow, v1alpha1.Deny)},
		"key access":  {"valkeyclusters", "spec.acl.*.permissions.*.keys.*.access", words(v1alpha1.ReadWrite, v1alpha1.Read, v1alpha1.Write)},
		"zone spread": {"valkeyclusters", "spec.placement.zoneSpread", words(v1alpha1.BestEffort, v1alpha1.Required)},
		"state":       {"valkeyclusters", "status.state", words(v1alpha1.Creating, v1alpha1.Active, v1alpha1.Updating, v1alpha1.Invalid)},
		"node role":   {"valkeynodes", "status.role", words(v1alpha1.Primary, v1alpha1.Replica)},
		"lifecycle":   {"valkeynodes", "spec.lifecycle", words(v1alpha1.LifecycleActive, v1alpha1.LifecycleJoining, v1alpha1.LifecycleLeaving)},
	}
	for name, test := range tests {
		schema := *all[test.kind+".yaml"].Spec.Versions[0].Schema.OpenAPIV3Schema
		for step := range strings.SplitSeq(test.path, ".") {
			if step == "*" {
				schema = *schema.Items.Schema
				continue
			}
			schema = schema.Properties[step]
		}
		var enum []string
		for _, word := range schema.Enum {
			enum = append(enum, string(word.Raw))
		}
		if got := strings.Join(enum, " "); got != test.words {
			t.Errorf("%s: the schema has %s, Go %s", name, got, test.words)
		}
	}
}

func words[W ~string](all ...W) string {
	var quoted []string
	for _, w := range all {
		quoted = append(quoted, strconv.Quote(string(w)))
	}
	return strings.Join(quoted, " ")
}

// definitions are the generated CRDs by file.
func definitions(t *testing.T) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := fs.Glob(crds.FS, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 5 {
		t.Fatalf("definitions of %v, want five kinds", files)
	}
	all := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		text, err := fs.ReadFile(crds.FS, file)
		if err != nil {
			t.Fatal(err)
		}
		all[file] = &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, all[file]); err != nil {
			t.Fatalf("read %s: %v", file, err)
		}
	}
	return all
}
