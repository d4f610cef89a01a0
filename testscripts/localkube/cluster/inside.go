package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"valkey.gomomento.com/operator/testscripts/localkube/cgroup"
	"valkey.gomomento.com/operator/testscripts/localkube/kube"
	"valkey.gomomento.com/operator/testscripts/localkube/layout"
)

// LoadImages imports image archives into every running node.
func (c Cluster) LoadImages(archives []string) error {
	nodes, err := c.nodes()
	if err != nil {
		return err
	}
	results := make([]error, nodes)
	var loading sync.WaitGroup
	for i := range nodes {
		loading.Go(func() { results[i] = c.loadInto(layout.NodeName(i+1), archives) })
	}
	loading.Wait()
	return errors.Join(results...)
}

// loadInto hands the archive over as standard input, because a node does not see the host's files.
func (c Cluster) loadInto(node string, archives []string) error {
	entry, alive, err := c.ledger().Find(node)
	if err != nil || !alive {
		return err // a node that has crashed gets no images
	}
	for _, path := range archives {
		archive, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("load %s: %w", path, err)
		}
		// The import prints a line an image, of no interest once it went well.
		err = c.enter(namespaces{machine: entry.PID, network: entry.PID}, archive, io.Discard,
			[]string{"ctr", "--namespace", "k8s.io", "images", "import", "-"})
		if err := errors.Join(err, archive.Close()); err != nil {
			return fmt.Errorf("load %s into %s: %w", path, node, err)
		}
	}
	return nil
}

// Exec runs a command inside a machine, with this process's standard input and output.
func (c Cluster) Exec(name string, command []string) error {
	entry, err := c.living(name)
	if err != nil {
		return err
	}
	return c.enter(namespaces{machine: entry.PID, network: entry.PID}, os.Stdin, os.Stdout, command)
}

// ExecPod runs a command of the node's in the network namespace of a pod: its packet filter can be changed, though nothing
// in the pod may or could.
func (c Cluster) ExecPod(ctx context.Context, namespace, name string, command []string) error {
	machine, processes, err := c.insidePod(ctx, namespace, name)
	if err != nil {
		return err
	}
	return c.enter(namespaces{machine: machine, network: processes[0]}, os.Stdin, os.Stdout, command)
}

// insidePod finds the process of the machine that a pod runs on, and the pod's own, of which there is at least one. All
// are pids of the host.
func (c Cluster) insidePod(ctx context.Context, namespace, name string) (machine int, processes []int, err error) {
	client, err := kube.New(c.Layout)
	if err != nil {
		return 0, nil, err
	}
	pod, err := client.Pod(ctx, namespace, name)
	if err != nil {
		return 0, nil, err
	}
	entry, err := c.living(pod.Node)
	if err != nil {
		return 0, nil, err
	}
	processes, err = cgroup.PodProcesses(filepath.Join(c.Layout.CgroupRoot(), pod.Node), pod.UID)
	if err == nil && len(processes) == 0 {
		err = errors.New("there are none: wait until it runs")
	}
	if err != nil {
		return 0, nil, fmt.Errorf("find the processes of pod %s/%s on %s: %w", namespace, name, pod.Node, err)
	}
	return entry.PID, processes, nil
}

// namespaces says whose namespaces a command is to run in, by pids.
type namespaces struct{ machine, network int }

// enter runs a command in other namespaces. The thread that moved there is never given back to the scheduler.
func (c Cluster) enter(where namespaces, in io.Reader, out io.Writer, command []string) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := where.enter()
		if err == nil {
			err = c.runHere(in, out, command)
		}
		result <- err
	}()
	return <-result
}

// runHere lets busybox look the program up, in the search path of where the thread is now.
func (c Cluster) runHere(in io.Reader, out io.Writer, command []string) error {
	run := exec.Command("/bin/busybox", append([]string{"env"}, command...)...)
	run.Env = []string{"PATH=" + c.Layout.Bin() + ":/usr/sbin:/usr/bin", "HOME=/root", "TERM=" + os.Getenv("TERM"), "CONTAINERD_SUPPRESS_DEPRECATION_WARNINGS=1"}
	run.Stdin, run.Stdout, run.Stderr = in, out, os.Stderr
	return run.Run()
}

func (n namespaces) enter() error {
	targets := []string{
		fmt.Sprintf("/proc/%d/ns/pid", n.machine), fmt.Sprintf("/proc/%d/ns/uts", n.machine), fmt.Sprintf("/proc/%d/ns/ipc", n.machine),
		fmt.Sprintf("/proc/%d/ns/net", n.network), fmt.Sprintf("/proc/%d/ns/mnt", n.machine),
	}
	// A thread that shares its root and working directory with others may not change its mount namespace.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("leave the host's file system: %w", err)
	}
	for _, target := range targets {
		if err := setNamespace(target); err != nil {
			return fmt.Errorf("enter %s: %w", target, err)
		}
	}
	return nil
}

func setNamespace(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(unix.Setns(int(file.Fd()), 0), file.Close())
}
