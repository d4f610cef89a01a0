package derivation_test

import (
	"os"
	"slices"
	"testing"

	"valkey.gomomento.com/operator/engine/derivation"
)

// oneLine is what the schema says of a directive's value.
const oneLine = "must not hold a newline or another control character, and at most 8192 characters"

// aUser is what it says of a username.
const aUser = "must be 1 to 128 of a-z, A-Z, 0-9, _ and -, and must not start with _momento_"

func loadSchema(t *testing.T) *derivation.Schema {
	t.Helper()
	s, err := derivation.LoadSchema(os.DirFS("../../cue"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const config = "apiVersion: valkey.gomomento.com/v1alpha1\nkind: ValkeyConfig\nmetadata: {name: prod}\nspec:\n"

// said is all that is wrong with a file, one line each.
func said(s *derivation.Schema, file, content string) []string {
	var lines []string
	manifests, broken := s.Manifests(file, []byte(content))
	for _, m := range manifests {
		if !m.Ours() {
			continue
		}
		for _, f := range s.Check(m) {
			lines = append(lines, f.At.String()+": "+f.Field+": "+f.Said)
		}
	}
	if broken != nil {
		lines = append(lines, broken.At.String()+": "+broken.Said)
	}
	slices.Sort(lines)
	return lines
}

func TestFaultsHaveTheirPlace(t *testing.T) {
	tests := map[string]struct {
		file, content string
		want          []string
	}{
		"nothing":              {"a.yaml", "", nil},
		"nothing but comments": {"a.yaml", "# x\n---\n# y\n---\n", nil},
		"a sound one":          {"a.yaml", config + "  imageRef: v9\n", nil},
		"a number for text":    {"a.yaml", config + "  valkey: {maxclients: 100}\n", []string{"a.yaml:5:24: spec.valkey.maxclients: 100 is no string without quotes; " + oneLine}},
		"a bare yes for text":  {"a.yaml", config + "  valkey: {appendonly: Yes}\n", []string{"a.yaml:5:24: spec.valkey.appendonly: Yes is no string without quotes; " + oneLine}},
		"words in quotes":      {"a.yaml", config + "  valkey: {a: \"yes\", b: 'no'}\n", nil},
		"a block that says on": {"a.yaml", config + "  valkey:\n    a: |-\n      on\n", nil},
		"a field twice":        {"a.yaml", config + "  imageRef: v9\n  imageRef: v9\n", []string{"a.yaml:6:3: spec.imageRef: is set in line 5 already"}},
		"two in one map": {"a.yaml", config + "  valkey: {a: 1, b: c, d: \"\\n\"}\n", []string{
			"a.yaml:5:15: spec.valkey.a: 1 is no string without quotes; " + oneLine, "a.yaml:5:27: spec.valkey.d: " + oneLine,
		}},
		"two in one list, one inside": {"a.yaml", config + "  tolerations: [{operator: x}, {operator: y, effect: z}]\n", []string{
			"a.yaml:5:28: spec.tolerations.0.operator: must be Exists, Equal, Lt or Gt",
			"a.yaml:5:43: spec.tolerations.1.operator: y is no string without quotes; must be Exists, Equal, Lt or Gt",
			"a.yaml:5:54: spec.tolerations.1.effect: must be NoSchedule, PreferNoSchedule or NoExecute",
		}},
		"one that others are compared with": {"a.yaml", config + "  acl:\n  - &a {username: a!, passwordHashes: [" + hash + "], permissions: [{roleRef: r, keys: []}]}\n  - *a\n", []string{
			"a.yaml:6:19: spec.acl.0.username: " + aUser, "a.yaml:6:19: spec.acl.1.username: " + aUser,
		}},
		"the second document":       {"a.yaml", "a: 1\n---\n" + config + "  x: 1\n", []string{"a.yaml:7:3: spec.x: field not allowed"}},
		"a bracket too many":        {"a.yaml", "a: 1\n---\nb: ]\n", []string{"a.yaml:3:1: did not find expected node content"}},
		"a tab":                     {"a.yaml", "a:\n\tb: 1\n", []string{"a.yaml:2:1: found character that cannot start any token"}},
		"JSON with a comma at last": {"a.json", "{\"a\": 1,\n}", []string{"a.json:2:1: invalid JSON for file \"a.json\": invalid character '}' looking for beginning of object key string"}},
	}
	s := loadSchema(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := said(s, test.file, test.content); !slices.Equal(got, test.want) {
				t.Errorf("said %q, want %q", got, test.want)
			}
		})
	}
}

func TestBareWordsAreBooleans(t *testing.T) {
	s := loadSchema(t)
	content := "apiVersion: valkey.gomomento.com/v1alpha1\nkind: ValkeyCluster\nmetadata: {name: a}\n" +
		"spec: {configRef: prod, shards: 1, replicasPerShard: 0, paused: yes}\n"
	if got := said(s, "a.yaml", content); got != nil {
		t.Errorf("said %q", got)
	}
}

func TestItemsOfAListAreManifests(t *testing.T) {
	s := loadSchema(t)
	content := `{"apiVersion": "v1", "kind": "List", "items": [
	{"apiVersion": "valkey.gomomento.com/v1alpha1", "kind": "ValkeyConfig", "metadata": {"name": "a"}, "spec": {"x": 1}},
	{"apiVersion": "v1", "kind": "Secret"}]}`
	all, broken := s.Manifests("a.json", []byte(content))
	if broken != nil || len(all) != 2 || !all[0].Ours() || all[1].Ours() || all[0].Name != "a" {
		t.Fatalf("manifests %v, fault %v", all, broken)
	}
	if at := all[0].At("spec", "y").String(); at != "a.json:2:109" {
		t.Errorf("spec is at %s", at)
	}
}
