package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"valkey.gomomento.com/operator/testscripts/localkube/layout"
	"valkey.gomomento.com/operator/testscripts/localkube/machine"
)

// LimitAddresses leaves each node the first count addresses of its pod network; 0 gives all of them back. Pods that
// have another address keep it.
func (c Cluster) LimitAddresses(count int) error {
	nodes, err := c.nodes()
	if err != nil {
		return err
	}
	for i := range nodes {
		if err := machine.LimitAddresses(c.config(i+1, nodes), count); err != nil {
			return fmt.Errorf("limit the addresses of %s: %w", layout.NodeName(i+1), err)
		}
	}
	return nil
}

// FillDisk puts a full file system over a directory of the pod's container, in which something is mounted already.
// The host's own disk keeps its room.
func (c Cluster) FillDisk(ctx context.Context, namespace, name, dir string) error {
	_, pids, err := c.insidePod(ctx, namespace, name)
	if err != nil {
		return err
	}
	for _, pid := range pids {
		mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
		if err == nil && strings.Contains(string(mounts), " "+dir+" ") {
			return fillWithin(pid, dir)
		}
	}
	return fmt.Errorf("nothing is mounted at %s in pod %s/%s", dir, namespace, name)
}

// fillWithin works on a thread in the process's mounts that is never given back to the scheduler.
func fillWithin(pid int, dir string) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		result <- fillHere(fmt.Sprintf("/proc/%d/ns/mnt", pid), dir)
	}()
	return <-result
}

func fillHere(namespace, dir string) error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("leave the host's file system: %w", err)
	}
	if err := setNamespace(namespace); err != nil {
		return fmt.Errorf("enter %s: %w", namespace, err)
	}
	size := os.Getpagesize()
	if err := unix.Mount("full", dir, "tmpfs", 0, fmt.Sprintf("mode=777,size=%d", size)); err != nil {
		return fmt.Errorf("mount over %s: %w", dir, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "full"), make([]byte, size), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "more"), make([]byte, 1), 0o644); !errors.Is(err, unix.ENOSPC) {
		return fmt.Errorf("%s is not full: %w", dir, err)
	}
	return nil
}
