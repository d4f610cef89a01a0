package parts

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"valkey.gomomento.com/operator/testscripts/localkube/image"
)

// PauseImage is the image of every pod's first container; the nodes' containerd is configured for this name.
const PauseImage = "localhost/pause:1"

// applets are the commands that busybox lends to a Valkey image, so that a person can look around in a pod.
var applets = []string{
	"sh", "cat", "ls", "ps", "nslookup", "nc", "wget", "sleep", "id", "env", "hostname", "ip", "grep", "sed", "awk",
	"mkdir", "cp", "mv", "rm", "kill", "echo", "date", "head", "tail", "wc", "df", "touch", "chmod", "stat", "timeout",
}

// The user and group of the Valkey images, as the images of the Valkey project have them.
const (
	valkeyUID = 999
	valkeyGID = 1000
)

func (b Builder) imageParts() []part {
	pause := filepath.Join(b.Layout.Images(), "pause.tar")
	return []part{
		{
			name:     "image-pause",
			key:      func() ([]byte, error) { return os.ReadFile(b.Layout.Program("pause")) },
			make:     func() error { return b.pauseImage().Write(pause) },
			products: []string{pause},
		},
		{
			name:     "images-valkey",
			key:      b.valkeyImagesKey,
			make:     b.valkeyImages,
			products: []string{filepath.Join(b.Layout.Images(), "valkey-sid.tar")},
		},
	}
}

func (b Builder) pauseImage() image.Image {
	return image.Image{
		Tags:       []string{PauseImage},
		Files:      []image.File{image.Copy("/pause", b.Layout.Program("pause"), 0o755)},
		Entrypoint: []string{"/pause"},
		User:       "65535:65535",
		Directory:  "/",
	}
}

func (b Builder) valkeyImagesKey() ([]byte, error) {
	key, err := b.stampsOf(append([]rootfs{nodeRootfs}, valkeyRootfs...))()
	return fmt.Appendln(key, applets, valkeyUID, valkeyGID), err
}

func (b Builder) valkeyImages() error {
	versions, err := Versions(b.Layout)
	if err != nil {
		return err
	}
	for _, v := range versions {
		made, err := b.valkeyImage(v)
		if err != nil {
			return err
		}
		if err := made.Write(filepath.Join(b.Layout.Images(), v.rootfs+".tar")); err != nil {
			return err
		}
	}
	return nil
}

// valkeyImage is the rootfs with busybox, the directories a server needs, and its user. Nothing in it has to be written to.
func (b Builder) valkeyImage(v Version) (image.Image, error) {
	tree, err := image.Tree(b.Layout.Rootfs(v.rootfs))
	if err != nil {
		return image.Image{}, err
	}
	files := []image.File{
		image.Directory("/data", 0o777, valkeyUID, valkeyGID),
		image.Directory("/tmp", 0o777|fs.ModeSticky, 0, 0),
		image.Directory("/proc", 0o555, 0, 0), image.Directory("/dev", 0o755, 0, 0), image.Directory("/sys", 0o555, 0, 0),
	}
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		files = append(files, image.Link("/"+name, "usr/"+name))
	}
	files = append(files, tree...)
	files = append(files,
		image.Data("/etc/passwd", fmt.Appendf(nil, "root:x:0:0:root:/root:/bin/sh\nvalkey:x:%d:%d:valkey:/data:/bin/sh\n", valkeyUID, valkeyGID), 0o644),
		image.Data("/etc/group", fmt.Appendf(nil, "root:x:0:\nvalkey:x:%d:\n", valkeyGID), 0o644),
		image.Copy("/usr/bin/busybox", filepath.Join(b.Layout.Rootfs(nodeRootfs.name), "usr/bin/busybox"), 0o755))
	for _, name := range applets {
		files = append(files, image.Link("/usr/bin/"+name, "busybox"))
	}
	return image.Image{
		Tags:      []string{v.Image(), Repository + ":" + v.Exact},
		Files:     files,
		Command:   []string{"valkey-server"},
		User:      fmt.Sprintf("%d:%d", valkeyUID, valkeyGID),
		Directory: "/data",
	}, nil
}
