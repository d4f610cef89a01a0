package parts

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"valkey.gomomento.com/operator/testscripts/localkube/layout"
)

// Version is a Valkey version at hand.
type Version struct {
	Minor  string // 9.1
	Exact  string // 9.1.2
	rootfs string
}

// Repository is the name under which the nodes have the Valkey images.
const Repository = "docker.io/valkey/valkey"

// Image is the reference of the version's image.
func (v Version) Image() string { return Repository + ":" + v.Minor }

// valkeyPrograms are those with a wrapper.
var valkeyPrograms = []string{"valkey-server", "valkey-cli", "valkey-benchmark"}

// wrapValkey finds out the versions and writes, for each, wrappers that run its programs on the host with their own libc:
// bin/valkey/9.1/valkey-server. The wrapper's process becomes the server's, so its pid is the server's.
func (b Builder) wrapValkey() error {
	var lines strings.Builder
	for _, r := range valkeyRootfs {
		root := b.Layout.Rootfs(r.name)
		version, err := versionOf(root)
		if err != nil {
			return err
		}
		dir := filepath.Join(b.Layout.Bin(), "valkey", version.Minor)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make the directory of wrappers: %w", err)
		}
		for _, name := range valkeyPrograms {
			if err := wrap(root, dir, name); err != nil {
				return err
			}
		}
		fmt.Fprintln(&lines, version.Minor, version.Exact, r.name)
	}
	return os.WriteFile(b.Layout.Versions(), []byte(lines.String()), 0o644)
}

func wrap(root, dir, name string) error {
	command, err := hostCommand(root, name)
	if err != nil {
		return err
	}
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\"\n", strings.Join(command, "' '"))
	if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
		return fmt.Errorf("write the wrapper of %s: %w", name, err)
	}
	return nil
}

// hostCommand runs a program of a rootfs by the rootfs' own dynamic loader, without chroot, so that the host's paths hold.
func hostCommand(root, name string) ([]string, error) {
	loaders, err := filepath.Glob(filepath.Join(root, "usr", "lib*", "ld-linux-*.so.*"))
	if err != nil || len(loaders) == 0 {
		return nil, fmt.Errorf("no dynamic loader in %s", root)
	}
	libraries, err := filepath.Glob(filepath.Join(root, "usr", "lib", "*-linux-gnu*"))
	if err != nil || len(libraries) == 0 {
		return nil, fmt.Errorf("no libraries in %s", root)
	}
	return []string{
		loaders[0], "--argv0", name, "--library-path", strings.Join(libraries, ":"), filepath.Join(root, "usr", "bin", name),
	}, nil
}

var versionPattern = regexp.MustCompile(`v=((\d+\.\d+)\.\d+)`)

func versionOf(root string) (Version, error) {
	command, err := hostCommand(root, "valkey-server")
	if err != nil {
		return Version{}, err
	}
	output, err := exec.Command(command[0], append(command[1:], "--version")...).CombinedOutput()
	if err != nil {
		return Version{}, fmt.Errorf("ask %s for its version: %w\n%s", root, err, output)
	}
	match := versionPattern.FindSubmatch(output)
	if match == nil {
		return Version{}, fmt.Errorf("find the version in %q", output)
	}
	return Version{Minor: string(match[2]), Exact: string(match[1])}, nil
}

// Versions lists the Valkey versions that were built, newest first.
func Versions(l layout.Layout) ([]Version, error) {
	file, err := os.Open(l.Versions())
	if err != nil {
		return nil, fmt.Errorf("list the Valkey versions (was `build` run?): %w", err)
	}
	defer file.Close()
	var versions []Version
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var v Version
		if _, err := fmt.Sscan(lines.Text(), &v.Minor, &v.Exact, &v.rootfs); err != nil {
			return nil, fmt.Errorf("read %s: %w", l.Versions(), err)
		}
		versions = append(versions, v)
	}
	return versions, nil
}
