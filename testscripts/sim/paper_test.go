package sim

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"valkey.gomomento.com/operator/cue"
)

// paper is what in a test of testscripts/decide tells the mutant from the operator, "" if nothing does.
func (h *hunt) paper(t *testing.T, m mutant, test string) string {
	t.Helper()
	if *scenarios == "" || len(m.edits) == 0 {
		return ""
	}
	files, err := m.files(cue.FS)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(h.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(h.dir, files); err != nil {
		t.Fatal(err)
	}
	tried := exec.Command(*scenarios, "-test.run", "^"+test+"$", "-rules", h.dir)
	tried.Dir = filepath.Join("..", "decide")
	said, err := tried.CombinedOutput()
	if err == nil {
		return ""
	}
	return "on paper " + failedIn(string(said), test)
}

// slow are the tests of the actions that take seconds: only those of the mutant's own action are tried.
const slow = "OfRealServers|WhileSlotsMove|CarrySlots|PodsThatStay|SurviveAHundred"

// tests is what in the tests of the actions tells a mutant of one of them from the operator, "" if nothing does.
func (h *hunt) tests(m mutant) string {
	if *actionTests == "" || m.precondition == 0 {
		return ""
	}
	if found := h.test(m, "-test.skip", slow); found != "" {
		return found
	}
	return h.test(m, "-test.run", "("+subject(m)+").*("+slow+")|("+slow+").*("+subject(m)+")")
}

// subject is what the tests of the mutant's action have in their names: that of its file or, of one that several actions
// share, those of failovers, which need it most.
func subject(m mutant) string {
	file, _, _ := strings.Cut(m.name, ":")
	if slices.Contains([]string{"canvass", "fate", "members", "stream", "succession"}, file) {
		return "FailOver|ForceFailover|TakeOver"
	}
	var action strings.Builder
	for word := range strings.SplitSeq(file, "_") {
		action.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return action.String()
}

// test runs some of them without the mutant's precondition.
func (h *hunt) test(m mutant, which ...string) string {
	tried := exec.Command(*actionTests, append(which, "-test.failfast", "-test.timeout=3m")...)
	tried.Dir = filepath.Join("..", "..", "actions")
	tried.Env = append(os.Environ(), "WITHOUT="+strconv.Itoa(m.precondition))
	said, err := tried.CombinedOutput()
	if err == nil {
		return ""
	}
	for line := range strings.Lines(string(said)) {
		if failed, found := strings.CutPrefix(strings.TrimSpace(line), "--- FAIL: "); found {
			name, _, _ := strings.Cut(failed, " ")
			return "in actions " + name
		}
	}
	return "in actions"
}

// failedIn is the first scenario that failed, or the whole test.
func failedIn(said, test string) string {
	for line := range strings.Lines(said) {
		if failed, found := strings.CutPrefix(strings.TrimSpace(line), "--- FAIL: "+test+"/"); found {
			name, _, _ := strings.Cut(failed, " ")
			return name
		}
	}
	return test
}
