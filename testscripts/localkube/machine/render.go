package machine

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
)

//go:embed templates
var templates embed.FS

// values is what the templates may use: the configuration, its layout, and paths of this machine.
type values struct {
	Config
	Disk, Bin, CNI, PKI, Snapshotter, Address, PodNetwork, CgroupRoot string
}

// render writes the named configuration files to the machine's directory and returns their paths.
func render(c Config, names ...string) (map[string]string, error) {
	disk := c.Layout.Machine(c.Name)
	snapshots, err := snapshotter(disk)
	if err != nil {
		return nil, err
	}
	v := values{
		Config: c, Disk: disk, Bin: c.Layout.Bin(), CNI: filepath.Join(disk, "cni"), PKI: c.Layout.PKI(), Snapshotter: snapshots,
		Address: c.Layout.NodeAddress(c.Index), PodNetwork: c.Layout.NodePodNetwork(c.Index),
		CgroupRoot: "/" + filepath.Join(c.Layout.CgroupRoot(), c.Name),
	}
	if err := os.MkdirAll(v.CNI, 0o755); err != nil {
		return nil, fmt.Errorf("make the directory of the network configuration: %w", err)
	}
	files := map[string]string{}
	for _, name := range names {
		dir := disk
		if filepath.Ext(name) == ".conflist" {
			dir = v.CNI
		}
		files[name] = filepath.Join(dir, name)
		if err := renderOne(files[name], name, v); err != nil {
			return nil, fmt.Errorf("write %s: %w", files[name], err)
		}
	}
	return files, nil
}

func renderOne(path, name string, v values) error {
	parsed, err := template.ParseFS(templates, "templates/"+name)
	if err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(parsed.Execute(file, v), file.Close())
}
