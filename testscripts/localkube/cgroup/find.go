package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// PodProcesses finds the processes of the pod with that UID below root, some of them more than once.
func PodProcesses(root, uid string) ([]int, error) {
	hierarchies, err := allHierarchies()
	if err != nil {
		return nil, err
	}
	var all []int
	for _, hierarchy := range hierarchies {
		dirs, err := subtree(filepath.Join(hierarchy, root))
		if err != nil {
			return nil, err
		}
		for _, dir := range dirs {
			if !strings.Contains(dir, "pod"+uid) {
				continue
			}
			// A cgroup may go while it is read.
			if pids, err := Processes(dir); err == nil {
				all = append(all, pids...)
			}
		}
	}
	return all, nil
}

// Left are the cgroups at root and below in all hierarchies.
func Left(root string) ([]string, error) {
	hierarchies, err := allHierarchies()
	if err != nil {
		return nil, err
	}
	var left []string
	for _, hierarchy := range hierarchies {
		dirs, err := subtree(filepath.Join(hierarchy, root))
		if err != nil {
			return nil, err
		}
		left = append(left, dirs...)
	}
	return left, nil
}

// controllers are the hierarchies of version 1. A link is another name of a joint hierarchy, as cpu is of cpu,cpuacct, and
// `unified` is a version 2 hierarchy without controllers that init systems keep beside them.
func controllers() ([]string, error) {
	all, err := allHierarchies()
	if err != nil {
		return nil, err
	}
	var found []string
	for _, dir := range all {
		if filepath.Base(dir) != "unified" {
			found = append(found, dir)
		}
	}
	return found, nil
}

func allHierarchies() ([]string, error) {
	unified, err := Unified()
	if err != nil {
		return nil, err
	}
	if unified {
		return []string{top}, nil
	}
	entries, err := os.ReadDir(top)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, entry := range entries {
		dir := filepath.Join(top, entry.Name())
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); entry.IsDir() && err == nil {
			found = append(found, dir)
		}
	}
	return found, nil
}

// subtree lists a directory and all below, parents first; nothing when it is not there.
func subtree(root string) ([]string, error) {
	var dirs []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // cgroups may go while they are listed
			return nil
		}
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	return dirs, err
}
