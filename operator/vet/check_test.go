package vet_test

import (
	"os"
	"strings"
	"testing"

	"valkey.gomomento.com/operator/engine/derivation"
	"valkey.gomomento.com/operator/operator/vet"
)

const (
	image = `
apiVersion: valkey.gomomento.com/v1alpha1
kind: ValkeyImage
metadata: {name: v9}
spec: {repository: valkey/valkey, tag: "9.1", version: 9.1.2}
---`
	config = `
apiVersion: valkey.gomomento.com/v1alpha1
kind: ValkeyConfig
metadata: {name: prod}
spec:
  imageRef: v9
  acl:
  - username: app
    passwordHashes: [0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef]
    permissions: [{roleRef: reader, keys: []}]
---`
	role = `
apiVersion: valkey.gomomento.com/v1alpha1
kind: ValkeyRole
metadata: {name: reader}
spec: {categories: [{name: read, access: allow}]}
---`
	cluster = `
apiVersion: valkey.gomomento.com/v1alpha1
kind: ValkeyCluster
metadata: {name: cart, namespace: shop}
spec: {configRef: prod, shards: 3, replicasPerShard: 1}
---`
	whole = image + config + role + cluster
)

func checker(t *testing.T) vet.Checker {
	t.Helper()
	module := os.DirFS("../../cue")
	schema, err := derivation.LoadSchema(module)
	if err != nil {
		t.Fatal(err)
	}
	deriver, err := derivation.Load(module, nil)
	if err != nil {
		t.Fatal(err)
	}
	return vet.Checker{Schema: schema, Deriver: deriver}
}

// TestOneMistakeIsSaidOnce spoils one manifest: what leads to it is not blamed.
func TestOneMistakeIsSaidOnce(t *testing.T) {
	tests := map[string]struct{ manifests, want string }{
		"none":                      {whole, ""},
		"an image with a fault":     {strings.Replace(whole, "9.1.2", "9.1", 1), "spec.version: 9.1 is no string without quotes; must be major.minor.patch"},
		"a config with a fault":     {strings.Replace(whole, "imageRef", "image", 1), "spec.image: field not allowed"},
		"a role with a fault":       {strings.Replace(whole, "access: allow", "access: yes", 1), "spec.categories.0.access: yes is no string without quotes; must be allow or deny"},
		"a file that breaks off":    {config + cluster + "\nx: [", "did not find expected node content"},
		"a missing image":           {config + role + cluster, `a.yaml:6:13: ValkeyConfig prod: spec.imageRef: ValkeyImage "v9" not found`},
		"a missing config":          {image + role + cluster, `a.yaml:15:19: ValkeyCluster cart: spec.configRef: ValkeyConfig "prod" not found`},
		"a missing role, two users": {image + config + cluster + strings.Replace(cluster, "cart", "till", 1), `ValkeyConfig prod: spec.acl.0.permissions.0.roleRef: ValkeyRole "reader" not found (referenced by user "app")`},
		"metadata that is none":     {strings.Replace(whole, "{name: cart,", "{name: cart, labels: {a: 1},", 1), "ValkeyCluster cart: metadata.labels: holds a number where a string belongs"},
	}
	c := checker(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			report, err := c.Check([]vet.File{{Name: "a.yaml", Content: []byte(test.manifests)}})
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case test.want == "" && len(report.Remarks) > 0, test.want != "" && report.Errors() != 1, !strings.Contains(report.String(), test.want):
				t.Errorf("said:\n%s", report)
			}
		})
	}
}

func TestTheSameNameInTwoNamespacesIsTwoClusters(t *testing.T) {
	c := checker(t)
	files := []vet.File{{Name: "a.yaml", Content: []byte(whole)}, {Name: "b.yaml", Content: []byte(strings.Replace(cluster, "shop", "play", 1))}}
	report, err := c.Check(files)
	if err != nil || report.Errors() > 0 || report.Objects != 5 {
		t.Errorf("said:\n%s, error %v", report, err)
	}
}

func TestPartialTakesNothingForMissing(t *testing.T) {
	c := checker(t)
	c.Partial = true
	for name, manifests := range map[string]string{"a cluster": cluster, "a config": config, "a cluster and its config": config + cluster} {
		report, err := c.Check([]vet.File{{Name: "a.yaml", Content: []byte(manifests)}})
		if err != nil || len(report.Remarks) > 0 {
			t.Errorf("%s:\n%s, error %v", name, report, err)
		}
	}
}

func TestRequireACLMakesAnErrorOfTheOpenUser(t *testing.T) {
	c := checker(t)
	manifests := image + strings.Split(config, "  acl:")[0] + "---" + cluster
	for required, want := range map[bool]string{
		false: "3 objects checked, 0 errors, 1 warning\n",
		true:  "3 objects checked, 1 error, 0 warnings\n",
	} {
		c.Defaults.RequireACL = required
		report, err := c.Check([]vet.File{{Name: "a.yaml", Content: []byte(manifests)}})
		if err != nil || !strings.HasSuffix(report.String(), want) {
			t.Errorf("required %t:\n%s, error %v", required, report, err)
		}
	}
}
