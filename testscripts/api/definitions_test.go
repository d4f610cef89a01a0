package api

import (
	"io/fs"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"sigs.k8s.io/yaml"

	"valkey.gomomento.com/operator/cue/api/crds"
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
