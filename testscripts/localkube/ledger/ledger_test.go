package ledger_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"valkey.gomomento.com/operator/testscripts/localkube/ledger"
)

func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	command := exec.Command("sleep", "60")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if command.ProcessState == nil {
			if err := command.Process.Kill(); err != nil {
				t.Errorf("end the sleeper: %v", err)
			}
			if err := command.Wait(); err == nil {
				t.Error("the sleeper ended by itself")
			}
		}
	})
	return command
}

func TestAReusedPIDIsNeverKilled(t *testing.T) {
	stranger := sleeper(t)
	entry, err := ledger.Describe("node-a", stranger.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	ours := entry
	ours.Start-- // the process that we started had this pid earlier
	if ours.Alive() {
		t.Error("a stranger is taken for ours")
	}
	if err := ours.Kill(); err != nil {
		t.Fatal(err)
	}
	if !entry.Alive() {
		t.Error("the stranger was killed")
	}
}

func TestKillReturnsWhenTheProcessIsGone(t *testing.T) {
	command := sleeper(t)
	entry, err := ledger.Describe("node-a", command.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := entry.Kill(); err != nil {
		t.Fatal(err)
	}
	if entry.Alive() {
		t.Error("it lives on")
	}
	if err := command.Wait(); err == nil {
		t.Error("it ended by itself")
	}
}

func TestEntriesSurviveAndALineCutOffIsIgnored(t *testing.T) {
	l := ledger.Ledger{Path: filepath.Join(t.TempDir(), "machines")}
	if entries, err := l.Entries(); err != nil || len(entries) != 0 {
		t.Fatalf("a ledger that is not there: %v %v", entries, err)
	}
	want := ledger.Entry{Name: "node-a", PID: 12, Start: 345}
	if err := l.Add(want); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(l.Path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.Path, append(text, "node-b 13"...), 0o600); err != nil {
		t.Fatal(err)
	}
	entries, err := l.Entries()
	if err != nil || len(entries) != 1 || entries[0] != want {
		t.Errorf("entries: %v %v, want %v", entries, err, want)
	}
}
