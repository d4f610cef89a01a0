package sim

import (
	"os"
	"os/exec"
	"path/filepath"
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
