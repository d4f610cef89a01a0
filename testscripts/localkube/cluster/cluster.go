// Package cluster starts and ends a cluster and does to its machines what happens to machines: crashes, reboots, cut cables.
// It must leave nothing on the host when the cluster is down, however it came to its end: a machine is written into the
// ledger before it does anything, lives in namespaces of its own, and names of links and cgroups tell whose they are.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"valkey.gomomento.com/operator/testscripts/localkube/cgroup"
	"valkey.gomomento.com/operator/testscripts/localkube/hostnet"
	"valkey.gomomento.com/operator/testscripts/localkube/kube"
	"valkey.gomomento.com/operator/testscripts/localkube/layout"
	"valkey.gomomento.com/operator/testscripts/localkube/ledger"
	"valkey.gomomento.com/operator/testscripts/localkube/machine"
	"valkey.gomomento.com/operator/testscripts/localkube/pki"
)

// upPatience is many times what an idle machine needs, for those that compile something beside it.
const upPatience = 4 * time.Minute

// ErrUp says that there is nothing to start.
var ErrUp = errors.New("the cluster is already up; `down` ends it")

// Cluster is the one cluster of a layout.
type Cluster struct {
	Layout   layout.Layout
	Progress io.Writer // a line for each step
}

func (c Cluster) ledger() ledger.Ledger { return ledger.Ledger{Path: c.Layout.Ledger()} }

func (c Cluster) say(format string, arguments ...any) {
	fmt.Fprintf(c.Progress, format+"\n", arguments...)
}

// Up starts a control plane and so many nodes and returns when pods can be created. What a dead earlier cluster has left is
// removed first. It is ErrUp when the cluster runs.
func (c Cluster) Up(ctx context.Context, nodes int) error {
	if nodes < 0 || nodes > layout.MaxNodes {
		return fmt.Errorf("a cluster has 0 to %d nodes, not %d", layout.MaxNodes, nodes)
	}
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if up, err := c.isUp(); up || err != nil {
		return errors.Join(err, ErrUp)
	}
	if err := c.clean(); err != nil {
		return fmt.Errorf("remove what an earlier cluster left: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, upPatience)
	defer cancel()
	if err := c.up(ctx, nodes); err != nil {
		return fmt.Errorf("%w (logs are in %s; `down` removes everything)", err, c.Layout.State)
	}
	return nil
}

func (c Cluster) up(ctx context.Context, nodes int) error {
	begin := time.Now()
	done := func(what string) { c.say("%5.1f s  %s", time.Since(begin).Seconds(), what) }
	if err := c.prepare(nodes); err != nil {
		return err
	}
	for i := range nodes + 1 {
		if err := c.start(c.config(i, nodes)); err != nil {
			return err
		}
	}
	done("machines started")
	client, err := kube.New(c.Layout)
	if err != nil {
		return err
	}
	if err := kube.WaitFor(ctx, "the API server", client.Ready); err != nil {
		return err
	}
	done("API server ready")
	if err := c.settle(ctx, client, nodes); err != nil {
		return err
	}
	done(fmt.Sprintf("%d nodes ready", nodes))
	return os.WriteFile(c.Layout.Ready(), []byte(strconv.Itoa(nodes)), 0o644)
}

// prepare makes what the machines need on the host.
func (c Cluster) prepare(nodes int) error {
	if err := os.MkdirAll(c.Layout.State, 0o755); err != nil {
		return fmt.Errorf("make the state directory: %w", err)
	}
	if err := pki.Write(c.Layout, nodes); err != nil {
		return err
	}
	if nodes > 0 {
		var names []string
		for i := 1; i <= nodes; i++ {
			names = append(names, layout.NodeName(i))
		}
		if err := cgroup.Make(c.Layout.CgroupRoot(), names); err != nil {
			return err
		}
		if err := c.plantSeed(); err != nil {
			return err
		}
	}
	return hostnet.Up(c.Layout)
}

func (c Cluster) settle(ctx context.Context, client *kube.Client, nodes int) error {
	ready := func(ctx context.Context) (bool, error) { return client.NodesReady(ctx, nodes) }
	if err := kube.WaitFor(ctx, "the nodes", ready); err != nil {
		return err
	}
	return kube.WaitFor(ctx, "the default ServiceAccount", client.HasServiceAccount)
}

func (c Cluster) config(index, nodes int) machine.Config {
	name := layout.ControlPlane
	if index > 0 {
		name = layout.NodeName(index)
	}
	return machine.Config{Layout: c.Layout, Name: name, Index: index, Nodes: nodes}
}

// Down ends the cluster, whole or half, and removes all of it. It is no error when there is none.
func (c Cluster) Down() error {
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	return c.clean()
}

// clean kills first: what is killed cannot make anything new while the rest is removed.
func (c Cluster) clean() error {
	entries, err := c.ledger().Entries()
	if err != nil {
		return err
	}
	var failed []error
	for _, entry := range entries {
		failed = append(failed, entry.Kill())
	}
	failed = append(failed, cgroup.Remove(c.Layout.CgroupRoot()), hostnet.Down(c.Layout))
	if err := errors.Join(failed...); err != nil {
		return err
	}
	return c.removeState()
}

// removeState removes what up has made, by name, because the directory may have been chosen by the user.
func (c Cluster) removeState() error {
	l := c.Layout
	ours := []string{l.Kubeconfig(), l.Ready(), l.PKI(), l.Machine(layout.ControlPlane), l.Machine(machine.SeedName)}
	for i := 1; i <= layout.MaxNodes; i++ {
		ours = append(ours, l.Machine(layout.NodeName(i)))
	}
	for _, path := range append(ours, l.Ledger()) {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove the state: %w", err)
		}
	}
	err := os.Remove(l.State)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTEMPTY) {
		return fmt.Errorf("remove the state: %w", err)
	}
	return nil
}

// isUp says whether up went through and the control plane has lived since.
func (c Cluster) isUp() (bool, error) {
	if _, err := os.Stat(c.Layout.Ready()); err != nil {
		return false, nil
	}
	_, alive, err := c.ledger().Find(layout.ControlPlane)
	return alive, err
}

// nodes is how many nodes the running cluster was started with.
func (c Cluster) nodes() (int, error) {
	up, err := c.isUp()
	if err != nil {
		return 0, err
	}
	data, err := os.ReadFile(c.Layout.Ready())
	if err != nil {
		return 0, fmt.Errorf("no cluster is up in %s: %w", c.Layout.State, err)
	}
	if !up {
		return 0, fmt.Errorf("the control plane in %s is down", c.Layout.State)
	}
	return strconv.Atoi(strings.TrimSpace(string(data)))
}

// lock keeps two commands from changing the cluster at once. It is held by this process and ends with it.
func (c Cluster) lock() (func(), error) {
	path := filepath.Join(c.Layout.Cache, "locks", c.Layout.Bridge())
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("lock the cluster: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the cluster: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another command is changing the cluster: %w", err), file.Close())
	}
	return func() {
		if err := file.Close(); err != nil {
			c.say("unlock the cluster: %v", err)
		}
	}, nil
}
