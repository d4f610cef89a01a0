package machine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// mount is one step of putting the root file system together. target is relative to the new root.
type mount struct {
	source, target, kind string
	flags                uintptr
}

// enterRoot builds a root file system of the machine's own and enters it: nothing of the host's files is seen but the cache,
// the state, /dev and the cgroups, and every mount goes with the namespace.
func enterRoot(c Config) error {
	root := filepath.Join(c.Layout.Machine(c.Name), "root")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return fmt.Errorf("make the root directory: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("part from the host's mounts: %w", err)
	}
	for _, m := range mounts(c) {
		if err := m.apply(root); err != nil {
			return fmt.Errorf("mount %s: %w", m.target, err)
		}
	}
	if err := linkUsr(root); err != nil {
		return fmt.Errorf("link /usr: %w", err)
	}
	return pivot(root)
}

func mounts(c Config) []mount {
	disk := c.Layout.Machine(c.Name)
	list := []mount{
		{"tmpfs", "/", "tmpfs", 0},
		{"proc", "/proc", "proc", 0},
		{"sysfs", "/sys", "sysfs", 0},
		{"/sys/fs/cgroup", "/sys/fs/cgroup", "", unix.MS_BIND | unix.MS_REC},
		{"/dev", "/dev", "", unix.MS_BIND | unix.MS_REC},
		{filepath.Join(disk, "usr"), "/usr", "", unix.MS_BIND},
		{"tmpfs", "/run", "tmpfs", 0},
		{"tmpfs", "/tmp", "tmpfs", 0},
		// After /tmp and /run, because they may be in there.
		{c.Layout.Cache, c.Layout.Cache, "", unix.MS_BIND},
		{c.Layout.State, c.Layout.State, "", unix.MS_BIND},
	}
	// These survive a crash of the machine, as a disk would.
	for _, dir := range []string{"/var/lib/kubelet", containerdDir, "/var/log/pods"} {
		list = append(list, mount{filepath.Join(disk, filepath.Base(dir)), dir, "", unix.MS_BIND})
	}
	return list
}

func (m mount) apply(root string) error {
	target := filepath.Join(root, m.target)
	dirs := []string{target}
	if m.flags&unix.MS_BIND != 0 {
		dirs = append(dirs, m.source)
	}
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return unix.Mount(m.source, target, m.kind, m.flags, "")
}

// linkUsr makes /bin, /lib and their like point into /usr, as Debian has it.
func linkUsr(root string) error {
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		if err := os.Symlink("usr/"+name, filepath.Join(root, name)); err != nil {
			return err
		}
	}
	return nil
}

func pivot(root string) error {
	const old = "old"
	if err := os.Mkdir(filepath.Join(root, old), 0o700); err != nil {
		return fmt.Errorf("enter the root: %w", err)
	}
	if err := unix.PivotRoot(root, filepath.Join(root, old)); err != nil {
		return fmt.Errorf("enter the root: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return fmt.Errorf("enter the root: %w", err)
	}
	if err := unix.Unmount("/"+old, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the host's root: %w", err)
	}
	// A kubelet wants the mounts that it makes to reach the containers.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("share mounts with containers: %w", err)
	}
	return os.Remove("/" + old)
}

// writeFiles makes the few files that programs expect, and puts throw-away files in place of kernel settings that are the
// whole host's and that a kubelet insists on writing.
func writeFiles(c Config) error {
	files := map[string]string{
		"/etc/hosts":       nodeNames(c),
		"/etc/resolv.conf": "nameserver " + c.Layout.ControlPlaneAddress() + "\noptions attempts:1 timeout:1\n",
		"/etc/passwd":      "root:x:0:0:root:/root:/bin/sh\n",
		"/etc/group":       "root:x:0:\n",
		"/etc/os-release":  "ID=localkube\nPRETTY_NAME=\"localkube\"\n",
		"/etc/machine-id":  fmt.Sprintf("%032x\n", c.Index+1),
	}
	for _, dir := range []string{"/etc", "/root", "/run/netns", "/var/lib/cni", "/var/log/containers"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make %s: %w", dir, err)
		}
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return shieldSettings()
}

func shieldSettings() error {
	settings := map[string]string{
		"vm/overcommit_memory":      "1",
		"vm/panic_on_oom":           "0",
		"kernel/panic":              "10",
		"kernel/panic_on_oops":      "1",
		"kernel/keys/root_maxkeys":  "1000000",
		"kernel/keys/root_maxbytes": "25000000",
	}
	for name, value := range settings {
		setting := filepath.Join("/proc/sys", name)
		if _, err := os.Stat(setting); errors.Is(err, os.ErrNotExist) {
			continue
		}
		file := filepath.Join("/run", "setting-"+strings.ReplaceAll(name, "/", "-"))
		if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
			return fmt.Errorf("shield %s: %w", setting, err)
		}
		if err := unix.Mount(file, setting, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("shield %s: %w", setting, err)
		}
	}
	return nil
}
