// Package ledger remembers which processes a cluster consists of, in a file that survives the death of whoever started
// them. An entry holds the process's start time beside its pid, so that a number that now belongs to another process is
// never taken for ours. It must not start processes.
package ledger

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Entry is one process: the init of a machine.
type Entry struct {
	Name  string
	PID   int
	Start uint64 // clock ticks after the machine's boot, from /proc/PID/stat
}

// Describe makes the entry of a process that runs now.
func Describe(name string, pid int) (Entry, error) {
	start, err := startTime(pid)
	if err != nil {
		return Entry{}, fmt.Errorf("describe process %d of %s: %w", pid, name, err)
	}
	return Entry{Name: name, PID: pid, Start: start}, nil
}

// Alive says whether the very process still runs; a zombie does not.
func (e Entry) Alive() bool {
	start, err := startTime(e.PID)
	return err == nil && start == e.Start
}

// Kill ends the process and all of its PID namespace, and waits until it is gone.
func (e Entry) Kill() error {
	if !e.Alive() {
		return nil
	}
	if err := unix.Kill(e.PID, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill %s (pid %d): %w", e.Name, e.PID, err)
	}
	// The kernel first ends every process of the namespace, which takes long only on a machine that swaps.
	const patience = 30 * time.Second
	for deadline := time.Now().Add(patience); e.Alive(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("kill %s (pid %d): still there after %s", e.Name, e.PID, patience)
		}
	}
	return nil
}

// Ledger is the file of entries, one a line.
type Ledger struct{ Path string }

// Add appends an entry.
func (l Ledger) Add(e Entry) error {
	file, err := os.OpenFile(l.Path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("record %s: %w", e.Name, err)
	}
	_, err = fmt.Fprintf(file, "%s %d %d\n", e.Name, e.PID, e.Start)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("record %s: %w", e.Name, err)
	}
	return nil
}

// Entries lists what was recorded, in the order of starting. A missing file is an empty ledger, and a last line that was
// cut off by a crash belongs to a process that never got to start.
func (l Ledger) Entries() ([]Entry, error) {
	file, err := os.Open(l.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	defer file.Close()
	var entries []Entry
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var e Entry
		if _, err := fmt.Sscan(lines.Text(), &e.Name, &e.PID, &e.Start); err == nil {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// Find returns the living process of that name.
func (l Ledger) Find(name string) (Entry, bool, error) {
	entries, err := l.Entries()
	if err != nil {
		return Entry{}, false, err
	}
	for _, e := range entries {
		if e.Name == name && e.Alive() {
			return e, true, nil
		}
	}
	return Entry{}, false, nil
}

// startTime is the 22nd field of /proc/PID/stat; the second, the command's name, may itself hold spaces and brackets.
func startTime(pid int) (uint64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	const state, start = 0, 19 // counted from the third field
	if len(fields) <= start || fields[state] == "Z" || fields[state] == "X" {
		return 0, fs.ErrNotExist
	}
	var ticks uint64
	if _, err := fmt.Sscan(fields[start], &ticks); err != nil {
		return 0, fmt.Errorf("read the start time in %q: %w", fields[start], err)
	}
	return ticks, nil
}
