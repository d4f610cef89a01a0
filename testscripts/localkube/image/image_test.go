package image_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"valkey.gomomento.com/operator/testscripts/localkube/image"
)

func sample() image.Image {
	files := append(image.Parents("/usr/bin/operator"), image.Data("/usr/bin/operator", []byte("program"), 0o755))
	return image.Image{
		Tags: []string{"localhost/operator:1"}, Files: files, Entrypoint: []string{"/usr/bin/operator"}, User: "65532:65532", Directory: "/",
	}
}

// contents reads an archive into memory, by name.
func contents(t *testing.T, archive io.Reader) map[string]string {
	t.Helper()
	files := map[string]string{}
	for reader := tar.NewReader(archive); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = string(data)
	}
}

func write(t *testing.T, i image.Image) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image.tar")
	if err := i.Write(path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestTheManifestLeadsToTheFiles(t *testing.T) {
	archive := contents(t, bytes.NewReader(write(t, sample())))
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal([]byte(archive["manifest.json"]), &manifest); err != nil {
		t.Fatal(err)
	}
	if len(manifest) != 1 || manifest[0].RepoTags[0] != "localhost/operator:1" {
		t.Fatalf("manifest: %+v", manifest)
	}
	var config struct {
		Config struct {
			User       string
			Entrypoint []string
		} `json:"config"`
	}
	if err := json.Unmarshal([]byte(archive[manifest[0].Config]), &config); err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "65532:65532" || config.Config.Entrypoint[0] != "/usr/bin/operator" {
		t.Errorf("configuration: %+v", config)
	}
	layer := contents(t, bytes.NewReader([]byte(archive[manifest[0].Layers[0]])))
	if layer["usr/bin/operator"] != "program" {
		t.Errorf("layer: %v", layer)
	}
}

func TestTheSameFilesGiveTheSameArchive(t *testing.T) {
	if !bytes.Equal(write(t, sample()), write(t, sample())) {
		t.Error("two archives of one image differ")
	}
}

func TestAFileThatIsMissingLeavesNoArchive(t *testing.T) {
	dir := t.TempDir()
	broken := sample()
	broken.Files = append(broken.Files, image.Copy("/x", filepath.Join(dir, "missing"), 0o644))
	if err := broken.Write(filepath.Join(dir, "image.tar")); err == nil {
		t.Error("no error")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left: %v %v", left, err)
	}
}
