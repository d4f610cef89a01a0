package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"valkey.gomomento.com/operator/testscripts/localkube/layout"
	"valkey.gomomento.com/operator/testscripts/localkube/machine"
)

// nodeRootfs is the rootfs whose programs (a shell, nft, mount) a machine has beside the Kubernetes components.
const nodeRootfs = "node"

// makeDisk gives a machine its directory with programs and, if it is a node, the unpacked images. Nothing happens to a disk
// that is there already.
func (c Cluster) makeDisk(name string) error {
	disk := c.Layout.Machine(name)
	if _, err := os.Stat(filepath.Join(disk, "usr")); err == nil {
		return nil
	}
	if err := os.MkdirAll(disk, 0o755); err != nil {
		return fmt.Errorf("make the disk of %s: %w", name, err)
	}
	usr := filepath.Join(c.Layout.Rootfs(nodeRootfs), "usr")
	if err := clone(usr, filepath.Join(disk, "usr")); err != nil {
		return fmt.Errorf("give %s its programs (was `build` run?): %w", name, err)
	}
	if _, node := layout.NodeIndex(name); !node {
		return nil
	}
	if err := clone(c.Layout.Seed(), filepath.Join(disk, "containerd")); err != nil {
		return fmt.Errorf("give %s its images: %w", name, err)
	}
	return nil
}

// plantSeed lets a machine without network unpack the images, unless that was done for the very same ones before. To unpack
// them on every node would be the most expensive part of `up`.
func (c Cluster) plantSeed() error {
	key, err := c.seedKey()
	if err != nil {
		return fmt.Errorf("look at the images: %w", err)
	}
	stamp := filepath.Join(c.Layout.Seed(), "key")
	if have, err := os.ReadFile(stamp); err == nil && string(have) == key {
		return nil
	}
	c.say("unpacking the images, once for all nodes")
	config := machine.Config{Layout: c.Layout, Name: machine.SeedName}
	if err := c.start(config); err != nil {
		return err
	}
	if err := c.awaitEnd(machine.SeedName); err != nil {
		return err
	}
	disk := c.Layout.Machine(machine.SeedName)
	unpacked := filepath.Join(disk, "containerd")
	if _, err := os.Stat(machine.Imported(unpacked)); err != nil {
		return fmt.Errorf("unpack the images (see %s): %w", disk, err)
	}
	return c.keepSeed(unpacked, stamp, key)
}

// keepSeed replaces the seed; the stamp comes last, so that a seed that was cut off is not taken for a whole one.
func (c Cluster) keepSeed(unpacked, stamp, key string) error {
	fresh := c.Layout.Seed() + ".new"
	err := errors.Join(os.RemoveAll(fresh), clone(unpacked, fresh), os.RemoveAll(c.Layout.Seed()))
	if err == nil {
		err = os.Rename(fresh, c.Layout.Seed())
	}
	if err == nil {
		err = os.WriteFile(stamp, []byte(key), 0o644)
	}
	if err != nil {
		return fmt.Errorf("keep the unpacked images: %w", err)
	}
	return os.RemoveAll(c.Layout.Machine(machine.SeedName))
}

func (c Cluster) awaitEnd(name string) error {
	for {
		_, alive, err := c.ledger().Find(name)
		if err != nil || !alive {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// seedKey tells one set of images from another, and one containerd from another, by their sizes and times.
func (c Cluster) seedKey() (string, error) {
	files, err := filepath.Glob(filepath.Join(c.Layout.Images(), "*.tar"))
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, file := range append(files, c.Layout.Program("containerd")) {
		info, err := os.Stat(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(sum, file, info.Size(), info.ModTime().UnixNano())
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// clone copies a directory with owners and modes. What nobody writes to, content and unpacked images, becomes a second name
// of the same file where both are on one file system.
func clone(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		return cloneFile(path, filepath.Join(to, strings.TrimPrefix(path, from)), info)
	})
}

func cloneFile(from, to string, info fs.FileInfo) error {
	switch info.Mode().Type() {
	case fs.ModeDir:
		return errors.Join(os.MkdirAll(to, 0o755), takeOver(to, info))
	case fs.ModeSymlink:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case 0:
		linked, err := link(from, to)
		if linked || err != nil {
			return err
		}
		return errors.Join(copyFile(from, to), takeOver(to, info))
	}
	return nil // a socket of the containerd that wrote it
}

// takeOver gives a file the owner and mode of the one it was copied from; the mode last, for a change of owner clears bits.
func takeOver(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("the owner of %s's original is unknown", path)
	}
	return errors.Join(os.Chown(path, int(stat.Uid), int(stat.Gid)), os.Chmod(path, info.Mode()))
}

// link is false where a file has to be copied: databases are written in place.
func link(from, to string) (bool, error) {
	if filepath.Ext(from) == ".db" {
		return false, nil
	}
	err := os.Link(from, to)
	if errors.Is(err, unix.EXDEV) {
		return false, nil
	}
	return err == nil, err
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}
