package cluster

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"valkey.gomomento.com/operator/testscripts/localkube/cgroup"
	"valkey.gomomento.com/operator/testscripts/localkube/hostnet"
	"valkey.gomomento.com/operator/testscripts/localkube/kube"
	"valkey.gomomento.com/operator/testscripts/localkube/layout"
	"valkey.gomomento.com/operator/testscripts/localkube/ledger"
)

// Crash is a loss of power: all processes of the machine end at once; its disk stays.
func (c Cluster) Crash(name string) error {
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	entry, err := c.living(name)
	if err != nil {
		return err
	}
	if err := entry.Kill(); err != nil {
		return err
	}
	// A machine that boots has no cgroups from before; a kubelet that finds some takes seconds over each.
	if err := cgroup.Remove(filepath.Join(c.Layout.CgroupRoot(), name)); err != nil {
		return err
	}
	return hostnet.Disconnect(c.Layout, name)
}

// Boot starts a crashed machine from its disk and returns when it is ready.
func (c Cluster) Boot(ctx context.Context, name string) error {
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	index, err := indexOf(name)
	if err != nil {
		return err
	}
	if _, alive, err := c.ledger().Find(name); alive || err != nil {
		return fmt.Errorf("%s has not crashed: %w", name, err)
	}
	nodes, err := c.nodes()
	if err != nil {
		return err
	}
	if err := cgroup.Make(c.Layout.CgroupRoot(), []string{name}); err != nil {
		return err
	}
	begin := time.Now()
	if err := c.start(c.config(index, nodes)); err != nil {
		return err
	}
	return c.waitForBoot(ctx, name, begin)
}

func (c Cluster) waitForBoot(ctx context.Context, name string, begin time.Time) error {
	client, err := kube.New(c.Layout)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, upPatience)
	defer cancel()
	return kube.WaitFor(ctx, name, func(ctx context.Context) (bool, error) { return client.NodeReady(ctx, name, begin) })
}

// Partition pulls the machine's cable; what runs on it goes on.
func (c Cluster) Partition(name string) error {
	if _, err := c.living(name); err != nil {
		return err
	}
	return hostnet.Cut(c.Layout, name)
}

// Heal undoes Partition.
func (c Cluster) Heal(name string) error {
	if _, err := c.living(name); err != nil {
		return err
	}
	index, err := indexOf(name)
	if err != nil {
		return err
	}
	return hostnet.Mend(c.Layout, name, index)
}

func (c Cluster) living(name string) (ledger.Entry, error) {
	entry, alive, err := c.ledger().Find(name)
	if err == nil && !alive {
		err = fmt.Errorf("no machine %q is running", name)
	}
	return entry, err
}

// indexOf knows nodes only: the cluster does not survive its one control plane.
func indexOf(name string) (int, error) {
	index, ok := layout.NodeIndex(name)
	if !ok {
		return 0, fmt.Errorf("no node can be called %q", name)
	}
	return index, nil
}
