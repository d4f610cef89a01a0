// Package cgroup makes and removes the part of the cgroup hierarchies that a cluster's pods live in, on version 1 (one
// hierarchy a controller) and version 2 (one for all). It must not touch anything outside of that part.
package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const top = "/sys/fs/cgroup"

// Unified says whether the machine has version 2 only.
func Unified() (bool, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(top, &stat); err != nil {
		return false, fmt.Errorf("look at %s: %w", top, err)
	}
	return stat.Type == unix.CGROUP2_SUPER_MAGIC, nil
}

// Make makes root and the children in it, ready for a kubelet to use a child as its own root.
func Make(root string, children []string) error {
	unified, err := Unified()
	if err != nil {
		return err
	}
	prepare := prepareV1
	hierarchies := []string{top}
	if unified {
		prepare = prepareV2
	} else if hierarchies, err = controllers(); err != nil {
		return err
	}
	for _, hierarchy := range hierarchies {
		for _, dir := range append([]string{""}, children...) {
			if err := prepare(hierarchy, filepath.Join(root, dir)); err != nil {
				return fmt.Errorf("make cgroup %s in %s: %w", filepath.Join(root, dir), hierarchy, err)
			}
		}
		if err := weigh(filepath.Join(hierarchy, root)); err != nil {
			return fmt.Errorf("weigh cgroup %s in %s: %w", root, hierarchy, err)
		}
	}
	return nil
}

// weigh gives a root the weight that the pods of its machines have beside what else runs there. A kubelet lets the pods of a
// machine weigh 1024 shares a CPU, and all else on a machine weighs 1024 together. Here that is outside of the root, which
// would weigh no more than one of these, with the pods of all machines.
func weigh(dir string) error {
	machines, err := filepath.Glob(filepath.Join(dir, "*", "cgroup.procs"))
	if err != nil {
		return err
	}
	shares := 1024 * runtime.NumCPU() * len(machines)
	for file, weight := range map[string]int{
		"cpu.shares": shares,
		"cpu.weight": min(10_000, 1+(shares-2)*9999/262142), // as container runtimes convert one into the other
	} {
		file = filepath.Join(dir, file)
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			continue // another hierarchy's
		}
		if err := os.WriteFile(file, []byte(strconv.Itoa(weight)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// prepareV1 makes the cgroup; in the cpuset hierarchy one without CPUs and memory nodes of its own admits no process.
func prepareV1(hierarchy, name string) error {
	dir := filepath.Join(hierarchy, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(hierarchy, file))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, file), value, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// prepareV2 makes the cgroup and hands the parent's controllers on to it; a kubelet refuses a root that lacks one.
func prepareV2(hierarchy, name string) error {
	dir := filepath.Join(hierarchy, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, parent := range []string{filepath.Dir(dir), dir} {
		available, err := os.ReadFile(filepath.Join(parent, "cgroup.controllers"))
		if err != nil {
			return err
		}
		for _, controller := range strings.Fields(string(available)) {
			if err := os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte("+"+controller), 0o644); err != nil {
				return fmt.Errorf("hand on controller %s: %w", controller, err)
			}
		}
	}
	return nil
}

// Remove ends every process in root and below and removes the cgroups. It is no error when there are none.
func Remove(root string) error {
	hierarchies, err := allHierarchies()
	if err != nil {
		return err
	}
	// A killed process leaves its cgroup a little later, and only then can the cgroup be removed.
	const patience = 20 * time.Second
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		err := removeOnce(hierarchies, root)
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

func removeOnce(hierarchies []string, root string) error {
	var failed error
	for _, hierarchy := range hierarchies {
		dirs, err := subtree(filepath.Join(hierarchy, root))
		if err != nil {
			return err
		}
		for i := len(dirs) - 1; i >= 0; i-- {
			err := kill(dirs[i])
			if err == nil {
				err = os.Remove(dirs[i])
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				failed = fmt.Errorf("remove cgroup %s: %w", dirs[i], err)
			}
		}
	}
	return failed
}

func kill(dir string) error {
	pids, err := Processes(dir)
	if err != nil {
		return err
	}
	for _, pid := range pids {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("kill process %d: %w", pid, err)
		}
	}
	return nil
}

// Processes are the pids in one cgroup directory, not in those below it.
func Processes(dir string) ([]int, error) {
	data, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, field := range strings.Fields(string(data)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return nil, fmt.Errorf("read the processes of %s: %w", dir, err)
		}
		if pid > 0 { // 0 is a process that this PID namespace cannot see
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
