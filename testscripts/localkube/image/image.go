// Package image writes container images of one layer as docker archives, the form that `ctr images import` reads. It must
// not depend on the time or on who runs it: the same files give the same archive.
package image

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
)

// Image is what an archive is made of.
type Image struct {
	Tags       []string // name:tag
	Files      []File   // in the order of the layer; directories before what is in them
	Entrypoint []string
	Command    []string
	User       string // uid or uid:gid
	Directory  string // working directory
	Env        []string
}

// searchPath is where a command without a slash is looked for in the container.
const searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Write makes the archive at path. It is complete or not there at all.
func (i Image) Write(path string) error {
	if err := i.write(path); err != nil {
		return fmt.Errorf("write image %s: %w", path, err)
	}
	return nil
}

func (i Image) write(path string) error {
	layer, partial := path+".layer", path+".partial"
	defer os.Remove(layer)
	defer os.Remove(partial)
	digest, err := i.layer(layer)
	if err != nil {
		return err
	}
	if err := i.archive(partial, layer, digest); err != nil {
		return err
	}
	return os.Rename(partial, path)
}

// layer writes the layer's own archive to a file and returns its sha256.
func (i Image) layer(path string) (string, error) {
	file, err := os.Create(path)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	archive := tar.NewWriter(io.MultiWriter(file, sum))
	for _, f := range i.Files {
		if err := f.write(archive); err != nil {
			return "", errors.Join(fmt.Errorf("add %s: %w", f.Path, err), file.Close())
		}
	}
	if err := errors.Join(archive.Close(), file.Close()); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func (i Image) archive(path, layer, digest string) error {
	config, err := json.Marshal(i.config(digest))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(config)
	name := hex.EncodeToString(sum[:]) + ".json"
	manifest, err := json.Marshal([]map[string]any{{"Config": name, "RepoTags": i.Tags, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(file)
	return errors.Join(
		Data("manifest.json", manifest, 0o644).write(archive),
		Data(name, config, 0o644).write(archive),
		Copy("layer.tar", layer, 0o644).write(archive),
		archive.Close(), file.Close())
}

// config is the image's configuration as the OCI image specification has it.
func (i Image) config(digest string) map[string]any {
	const epoch = "1970-01-01T00:00:00Z"
	return map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"created":      epoch,
		"config": map[string]any{
			"Entrypoint": i.Entrypoint,
			"Cmd":        i.Command,
			"User":       i.User,
			"WorkingDir": i.Directory,
			"Env":        append([]string{searchPath}, i.Env...),
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + digest}},
		"history": []map[string]string{{"created": epoch}},
	}
}
