package vet_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"valkey.gomomento.com/operator/operator/vet"
)

func TestReadTakesEachManifestOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, path := range []string{"menu/a.yaml", "menu/b.yml", "menu/deep/c.json", "menu/d.txt", "menu/.git/e.yaml", "menu/.f.yaml", ".g"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(path), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := vet.Read([]string{"menu/d.txt", "menu", "./menu/a.yaml", "-", ".g"}, strings.NewReader("piped"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, f.Name+"="+string(f.Content))
	}
	want := []string{"menu/d.txt=menu/d.txt", "menu/a.yaml=menu/a.yaml", "menu/b.yml=menu/b.yml", "menu/deep/c.json=menu/deep/c.json", "<stdin>=piped", ".g=.g"}
	if !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
}

func TestReadSaysWhatIsNotThere(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, want := range map[string]string{
		"gone": "find manifests: lstat gone: no such file or directory",
		".":    "find manifests: no *.yaml, *.yml or *.json in directory .",
	} {
		if _, err := vet.Read([]string{name}, nil); err == nil || err.Error() != want {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
