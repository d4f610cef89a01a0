package cgroup

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
)

// The pods of each machine weigh as much as a kubelet lets them, whichever version the hierarchy is of.
func TestARootWeighsWhatItsMachinesDo(t *testing.T) {
	shares := 3 * 1024 * runtime.NumCPU()
	for file, want := range map[string]int{"cpu.shares": shares, "cpu.weight": min(10_000, 1+(shares-2)*9999/262142)} {
		root := t.TempDir()
		for _, name := range []string{file, "a/cgroup.procs", "b/cgroup.procs", "c/cgroup.procs", "c/pods/cgroup.procs"} {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("100"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := weigh(root); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(root, file))
		if err != nil || string(got) != strconv.Itoa(want) {
			t.Errorf("%s is %s, want %d: %v", file, got, want, err)
		}
		if made, _ := filepath.Glob(filepath.Join(root, "cpu.*")); len(made) != 1 {
			t.Errorf("a file of the other version was made: %v", made)
		}
	}
}
