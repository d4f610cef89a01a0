package figures

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryRowIsOfAScenario: Render keeps rows that nobody records any more, such as those of a scenario by its old name.
func TestEveryRowIsOfAScenario(t *testing.T) {
	document, err := os.ReadFile("../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	recorded := recordsOf(t)
	_, table, _ := strings.Cut(string(document), begin)
	table, _, _ = strings.Cut(table, end)
	rows := tableRows(table)
	if len(rows) == 0 {
		t.Error("the document has no rows")
	}
	for _, row := range rows {
		if !recorded[sameKind(row)] {
			t.Errorf("no scenario records this row; take it out, or give it the scenario's words:\n%s", row)
		}
	}
}

// recordsOf are the rows that scenarios record.
func recordsOf(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("../cluster/*/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	recorded := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if what, records := strings.CutPrefix(strings.TrimSpace(line), "record "); records {
				what = strings.ReplaceAll(strings.Trim(what, "'"), "''", "'")
				recorded[what+"|`"+strings.TrimSuffix(filepath.Base(file), ".txtar")+"`"] = true
			}
		}
	}
	return recorded
}
