package parts

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// kubernetesVersion is what the components say of themselves; the module that they come from does not know it.
const kubernetesVersion = "v1.36.3"

// program is a call of `go build`.
type program struct {
	name     string // of the part
	dir      string // of the module, below the source directory
	packages []string
	output   string // a single package's program, when it is not to be called like the package
	tags     string
	flags    string // for the linker, beside -s -w
	cgo      bool
}

func programs() []program {
	var list []program
	for _, name := range []string{
		"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl",
	} {
		list = append(list, program{name: name, packages: []string{"k8s.io/kubernetes/cmd/" + name}, flags: versionFlags()})
	}
	const (
		containerd = "github.com/containerd/containerd/v2/cmd/"
		plugins    = "github.com/containernetworking/plugins/plugins/"
	)
	return append(list,
		program{name: "etcd", packages: []string{"go.etcd.io/etcd/server/v3"}, output: "etcd"},
		program{
			name: "containerd", tags: "no_btrfs no_zfs no_devmapper no_aufs",
			packages: []string{containerd + "containerd", containerd + "containerd-shim-runc-v2", containerd + "ctr"},
		},
		program{
			name:     "cni",
			packages: []string{plugins + "main/bridge", plugins + "main/loopback", plugins + "ipam/host-local", plugins + "meta/portmap"},
		},
		// Static, because a node has no libc but that of its tools.
		program{
			name: "runc", packages: []string{"github.com/opencontainers/runc"}, cgo: true,
			tags: "seccomp netgo osusergo", flags: "-extldflags=-static",
		},
		program{name: "pause", packages: []string{"./pause"}},
		program{name: "coredns", dir: "coredns", packages: []string{"."}, output: "coredns"},
	)
}

func versionFlags() string {
	const version = "k8s.io/component-base/version."
	parts := strings.Split(strings.TrimPrefix(kubernetesVersion, "v"), ".")
	return fmt.Sprintf("-X %sgitVersion=%s -X %sgitMajor=%s -X %sgitMinor=%s",
		version, kubernetesVersion, version, parts[0], version, parts[1])
}

func (b Builder) goParts() []part {
	var list []part
	for _, p := range programs() {
		made := part{
			name: p.name,
			key:  func() ([]byte, error) { return b.programKey(p) },
			make: func() error { return b.compile(p) },
		}
		for _, name := range p.outputs() {
			made.products = append(made.products, b.Layout.Program(name))
		}
		list = append(list, made)
	}
	return list
}

func (p program) outputs() []string {
	if p.output != "" {
		return []string{p.output}
	}
	var names []string
	for _, pkg := range p.packages {
		names = append(names, filepath.Base(pkg))
	}
	return names
}

// programKey holds the command, the compiler's version, the pinned modules and, for a program of this repository, its source.
func (b Builder) programKey(p program) ([]byte, error) {
	key := []byte(strings.Join(append(p.command(""), runtime.Version()), "\n"))
	dir := filepath.Join(b.Source, p.dir)
	files := []string{filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.sum")}
	if local := p.packages[0]; strings.HasPrefix(local, ".") {
		files = append(files, filepath.Join(dir, local, "main.go"))
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		key = append(key, data...)
	}
	return key, nil
}

func (p program) command(bin string) []string {
	linker := strings.TrimSpace("-s -w " + p.flags)
	return append([]string{"go", "build", "-trimpath", "-tags", p.tags, "-ldflags", linker, "-o", filepath.Join(bin, p.output) + p.slash()}, p.packages...)
}

// slash makes `go build` take its output for a directory.
func (p program) slash() string {
	if p.output == "" {
		return "/"
	}
	return ""
}

func (b Builder) compile(p program) error {
	arguments := p.command(b.Layout.Bin())
	environment, err := b.goEnvironment(p)
	if err != nil {
		return err
	}
	command := exec.Command(arguments[0], arguments[1:]...)
	command.Dir = filepath.Join(b.Source, p.dir)
	command.Env = environment
	return run(command)
}

// goEnvironment has one setting of cgo for all but runc: each change of it would compile the standard library anew.
func (b Builder) goEnvironment(p program) ([]string, error) {
	environment := append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false", "GOWORK=off")
	if !p.cgo {
		return append(environment, "CGO_ENABLED=0"), nil
	}
	tool, err := b.writePkgConfig()
	if err != nil {
		return nil, err
	}
	return append(environment, "CGO_ENABLED=1", "PKG_CONFIG="+tool), nil
}

// writePkgConfig stands in for the pkg-config that a machine may not have: it knows the one library that runc asks for,
// which lies unpacked in the node's rootfs.
func (b Builder) writePkgConfig() (string, error) {
	usr := filepath.Join(b.Layout.Rootfs(nodeRootfs.name), "usr")
	archives, err := filepath.Glob(filepath.Join(usr, "lib", "*", "libseccomp.a"))
	if err != nil || len(archives) == 0 {
		return "", errors.Join(fmt.Errorf("no libseccomp.a below %s", usr), err)
	}
	script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in\n*--cflags*) echo '-I%s/include' ;;\n*--libs*) echo '-L%s -lseccomp' ;;\nesac\n",
		usr, filepath.Dir(archives[0]))
	tool := filepath.Join(b.Layout.Cache, "pkg-config")
	if err := os.WriteFile(tool, []byte(script), 0o755); err != nil {
		return "", fmt.Errorf("write the stand-in for pkg-config: %w", err)
	}
	return tool, nil
}

// run runs a command and tells what it printed if it fails.
func run(command *exec.Cmd) error {
	output, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(command.Args, " "), err, output)
	}
	return nil
}
