package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// system is the cgroup of a machine's own programs. Beside it a kubelet makes kubepods, with a weight of 1024 for each of
// the machine's CPUs.
const system = "system"

// sharesOfOne is the weight of a cgroup that nobody has changed, in cpu.shares of version 1; weightOfOne the same in
// cpu.weight of version 2.
const (
	sharesOfOne = 1024
	weightOfOne = 100
)

// Share gives root as much of the CPU as so many processes outside of it would get. Otherwise all machines together weigh
// as much as one of them.
func Share(root string, machines int) error {
	dir, err := cpuHierarchy()
	if err != nil {
		return err
	}
	file, weight := filepath.Join(dir, root, "cpu.shares"), sharesOfOne*machines
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		file, weight = filepath.Join(dir, root, "cpu.weight"), weightOfOne*machines
	}
	if err := os.WriteFile(file, []byte(strconv.Itoa(weight)), 0o644); err != nil {
		return fmt.Errorf("weigh the machines: %w", err)
	}
	return nil
}

// Place puts a machine's first process, and so all that it starts, beside the machine's pods. As one cgroup its programs have
// the weight that systemd gives to system.slice; each by itself, or each session of them, would weigh as much as all pods.
func Place(machine string, pid int) error {
	dir, err := cpuHierarchy()
	if err != nil {
		return err
	}
	place := filepath.Join(dir, machine, system)
	if err := os.MkdirAll(place, 0o755); err != nil {
		return fmt.Errorf("make the cgroup of %s: %w", machine, err)
	}
	if err := os.WriteFile(filepath.Join(place, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644); err != nil {
		return fmt.Errorf("place %s in its cgroup: %w", machine, err)
	}
	return nil
}

// cpuHierarchy is where the CPU is shared out.
func cpuHierarchy() (string, error) {
	unified, err := Unified()
	if err != nil || unified {
		return top, err
	}
	all, err := controllers()
	if err != nil {
		return "", err
	}
	for _, dir := range all {
		if _, err := os.Stat(filepath.Join(dir, "cpu.shares")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("no cgroup hierarchy has the cpu controller")
}
