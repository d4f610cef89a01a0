package machine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"

	"golang.org/x/sys/unix"

	"valkey.gomomento.com/operator/testscripts/localkube/kube"
	"valkey.gomomento.com/operator/testscripts/localkube/layout"
)

const containerdDir = "/var/lib/containerd"

// startNode starts containerd, lets it unpack the images unless its disk came with them, and starts the kubelet when the API
// server can take the node's registration: whoever sees the node Ready finds the images there.
func startNode(s *supervisor, c Config) error {
	files, err := render(c, "containerd.toml", networkFile, "kubelet.yaml", "kube-proxy.yaml")
	if err != nil {
		return err
	}
	s.keep("containerd", "--config", files["containerd.toml"])
	if err := importImages(s, c); err != nil {
		return err
	}
	if err := apiServerReady(c); err != nil {
		return err
	}
	s.keep("kube-proxy", "--config", files["kube-proxy.yaml"])
	s.keep("kubelet", "--config", files["kubelet.yaml"],
		"--kubeconfig", c.secret(c.Name+".conf"),
		"--hostname-override", c.Name, "--node-ip", c.Layout.NodeAddress(c.Index),
		"--root-dir", "/var/lib/kubelet",
		"--node-labels", "topology.kubernetes.io/region=local,topology.kubernetes.io/zone=zone-"+layout.NodeLetter(c.Index),
		"--v", "2")
	return nil
}

// plantSeed unpacks the images into a disk that is the model of all nodes' disks.
func plantSeed(s *supervisor, c Config) error {
	files, err := render(c, "containerd.toml")
	if err != nil {
		return err
	}
	s.keep("containerd", "--config", files["containerd.toml"])
	return importImages(s, c)
}

// Imported is the file that says of a containerd directory that the images are in it.
func Imported(containerd string) string { return filepath.Join(containerd, "images-imported") }

// importImages does nothing on a disk that had them before.
func importImages(s *supervisor, c Config) error {
	if _, err := os.Stat(Imported(containerdDir)); err == nil {
		return nil
	}
	answers := func(context.Context) (bool, error) { err := s.ctr("version"); return err == nil, err }
	if err := kube.WaitFor(context.Background(), "containerd", answers); err != nil {
		return err
	}
	archives, err := filepath.Glob(filepath.Join(c.Layout.Images(), "*.tar"))
	if err != nil {
		return fmt.Errorf("list images: %w", err)
	}
	sort.Strings(archives)
	for _, archive := range archives {
		if err := s.ctr("images", "import", archive); err != nil {
			return fmt.Errorf("import %s: %w", archive, err)
		}
	}
	if err := os.WriteFile(Imported(containerdDir), nil, 0o644); err != nil {
		return fmt.Errorf("note the import of images: %w", err)
	}
	return nil
}

func (s *supervisor) ctr(args ...string) error {
	return s.run("ctr", "ctr", append([]string{"--namespace", "k8s.io"}, args...)...)
}

// snapshotter is overlayfs wherever it can be: not on a disk that is itself an overlay, as a container's is.
func snapshotter(disk string) (string, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(disk, &stat); err != nil {
		return "", fmt.Errorf("look at %s: %w", disk, err)
	}
	if stat.Type == unix.OVERLAYFS_SUPER_MAGIC {
		return "native", nil
	}
	return "overlayfs", nil
}
