package parts

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// rootfs is a set of Debian packages, unpacked together with the libraries that they need.
type rootfs struct {
	name     string // of the directory
	suites   []string
	packages []string // each as `name` or `name/suite`
	program  string   // a file that must be there afterwards
}

// nodeRootfs is what a node's programs call, and what runc is linked with. Of the oldest suite in use, because a library
// for static linking works with any newer libc, but not with an older one.
var nodeRootfs = rootfs{
	name: "node", suites: []string{"bookworm"}, program: "usr/sbin/nft",
	packages: []string{"nftables", "mount", "busybox-static", "libseccomp-dev"},
}

// valkeyRootfs are where Debian has Valkey, newest first. sid moves: whatever 9.x it holds today is taken.
var valkeyRootfs = []rootfs{
	{name: "valkey-sid", suites: []string{"sid"}, program: valkeyServer, packages: []string{"valkey-server", "valkey-tools"}},
	{name: "valkey-trixie", suites: []string{"trixie"}, program: valkeyServer, packages: []string{"valkey-server", "valkey-tools"}},
	{
		name: "valkey-backports", suites: []string{"bookworm", "bookworm-backports"}, program: valkeyServer,
		packages: []string{"valkey-server/bookworm-backports", "valkey-tools/bookworm-backports"},
	},
}

const (
	valkeyServer = "usr/bin/valkey-server"
	keyring      = "/usr/share/keyrings/debian-archive-keyring.gpg"
	// MirrorVariable names a Debian mirror to use in place of the one in the machine's own apt configuration.
	MirrorVariable = "DEBIAN_MIRROR"
)

func (b Builder) debianParts() []part {
	var list []part
	for _, r := range append([]rootfs{nodeRootfs}, valkeyRootfs...) {
		list = append(list, part{
			name:     "rootfs-" + r.name,
			key:      func() ([]byte, error) { return fmt.Append(nil, r.suites, r.packages, unneeded, superfluous), nil },
			make:     func() error { return b.unpack(r) },
			products: []string{filepath.Join(b.Layout.Rootfs(r.name), r.program)},
		})
	}
	return append(list, part{
		name:     "valkey-wrappers",
		key:      b.stampsOf(valkeyRootfs),
		make:     b.wrapValkey,
		products: []string{b.Layout.Versions()},
	})
}

// stampsOf makes a key of what those rootfs were made from and when: one that was made anew changes all that is made of it.
func (b Builder) stampsOf(list []rootfs) func() ([]byte, error) {
	return func() ([]byte, error) {
		var key []byte
		for _, r := range list {
			info, err := os.Stat(filepath.Join(b.Layout.Stamps(), "rootfs-"+r.name))
			if err != nil {
				return nil, err
			}
			key = fmt.Appendln(key, r.name, info.ModTime().UnixNano())
		}
		return key, nil
	}
}

// unpack downloads the packages and replaces the rootfs by what is in them.
func (b Builder) unpack(r rootfs) error {
	work, err := os.MkdirTemp(b.Layout.Cache, "apt-")
	if err != nil {
		return fmt.Errorf("make a directory for apt: %w", err)
	}
	defer os.RemoveAll(work)
	a := apt{dir: work}
	if err := a.configure(r.suites); err != nil {
		return err
	}
	archives, err := a.download(r.packages)
	if err != nil {
		return err
	}
	fresh := filepath.Join(work, "root")
	for _, archive := range archives {
		if err := extract(archive, fresh); err != nil {
			return fmt.Errorf("unpack %s: %w", filepath.Base(archive), err)
		}
	}
	if _, err := os.Stat(filepath.Join(fresh, r.program)); err != nil {
		return fmt.Errorf("the packages lack a program: %w", err)
	}
	return swap(fresh, b.Layout.Rootfs(r.name), filepath.Join(work, "old"))
}

// swap puts a directory in the place of another one, which is for a moment only not there, because servers may be running
// from it.
func swap(fresh, target, old string) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return fmt.Errorf("replace %s: %w", target, err)
	}
	if err := os.Rename(target, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replace %s: %w", target, err)
	}
	return os.Rename(fresh, target)
}

// apt is an apt with a configuration, lists and cache of its own, that knows nothing of what the host has installed.
type apt struct{ dir string }

func (a apt) configure(suites []string) error {
	mirror, err := mirror()
	if err != nil {
		return err
	}
	for _, dir := range []string{"lists/partial", "cache/archives/partial", "debs"} {
		if err := os.MkdirAll(filepath.Join(a.dir, dir), 0o755); err != nil {
			return fmt.Errorf("configure apt: %w", err)
		}
	}
	var sources strings.Builder
	for _, suite := range suites {
		fmt.Fprintf(&sources, "deb [signed-by=%s] %s %s main\n", keyring, mirror, suite)
	}
	if err := os.WriteFile(filepath.Join(a.dir, "sources.list"), []byte(sources.String()), 0o644); err != nil {
		return fmt.Errorf("configure apt: %w", err)
	}
	return run(a.get("--quiet", "update"))
}

func (a apt) get(arguments ...string) *exec.Cmd {
	options := []string{
		"-o", "Dir::Etc::SourceList=" + filepath.Join(a.dir, "sources.list"), "-o", "Dir::Etc::SourceParts=/dev/null",
		"-o", "Dir::State::Lists=" + filepath.Join(a.dir, "lists"), "-o", "Dir::Cache=" + filepath.Join(a.dir, "cache"),
		"-o", "Dir::State::status=/dev/null", "-o", "Acquire::Languages=none", "-o", "APT::Sandbox::User=root",
		"-o", "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false", "-o", "Acquire::Retries=3",
	}
	command := exec.Command("apt-get", append(options, arguments...)...)
	command.Dir = filepath.Join(a.dir, "debs")
	return command
}

// download fetches the packages and the libraries that apt would install with them, and returns the archives' paths.
func (a apt) download(packages []string) ([]string, error) {
	command := a.get(append([]string{"--print-uris", "--yes", "--quiet", "--no-install-recommends", "install"}, packages...)...)
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("find what %s need: %w", strings.Join(packages, " "), err)
	}
	var wanted []string
	for _, line := range strings.Split(string(output), "\n") {
		name, version, ok := parseURI(line)
		if ok && needed(name, packages) {
			wanted = append(wanted, name+"="+version)
		}
	}
	if err := run(a.get(append([]string{"--quiet", "download"}, wanted...)...)); err != nil {
		return nil, err
	}
	return filepath.Glob(filepath.Join(a.dir, "debs", "*.deb"))
}

// parseURI reads a line of --print-uris: 'URI' name_version_arch.deb size hash.
func parseURI(line string) (name, version string, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 2 || !strings.HasPrefix(line, "'") {
		return "", "", false
	}
	parts := strings.Split(fields[1], "_")
	if len(parts) != 3 {
		return "", "", false
	}
	version, err := url.PathUnescape(parts[1])
	return parts[0], version, err == nil
}

// unneeded are the libraries, by the beginning of their names, that only set-up scripts and service managers use.
var unneeded = []string{"libsystemd-shared", "libc-gconv-modules-extra", "libc6-dev", "libperl", "libgdbm", "libdb5"}

// needed says whether a package is asked for or is a library; the rest are service managers, documentation and set-up
// scripts, of no use in a rootfs that is never installed.
func needed(name string, packages []string) bool {
	for _, p := range packages {
		if asked, _, _ := strings.Cut(p, "/"); asked == name {
			return true
		}
	}
	for _, prefix := range unneeded {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	return strings.HasPrefix(name, "lib") || name == "zlib1g"
}

// mirror is the Debian mirror that this machine uses already.
func mirror() (string, error) {
	if mirror := os.Getenv(MirrorVariable); mirror != "" {
		return mirror, nil
	}
	output, err := exec.Command("apt-get", "indextargets", "--no-release-info", "--format", "$(REPO_URI)").Output()
	if err != nil {
		return "", fmt.Errorf("ask apt for its mirror: %w", err)
	}
	for _, uri := range strings.Fields(string(output)) {
		if strings.HasSuffix(uri, "/debian/") {
			return uri, nil
		}
	}
	return "", fmt.Errorf("apt's own configuration has no Debian mirror; name one in %s", MirrorVariable)
}
