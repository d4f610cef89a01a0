package figures

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const document = `# By hand

` + begin + `
` + Head + `
| a primary killed | ` + "`primary_killed`" + ` | 1 | 0 | 99 ms | 9.0 s |
| by hand, and not run | ` + "`other`" + ` | 3 | 0 | 1 ms | – |
` + end + `

And more.
`

func TestRenderKeepsTheRestOfTheDocument(t *testing.T) {
	all := []Figure{
		{Scenario: "primary_killed", Began: true},
		{Scenario: "primary_killed", What: "a primary killed", Gap: 200 * time.Millisecond, Healed: 7 * time.Second},
		{Scenario: "primary_killed", What: "and again", Gap: 1500 * time.Millisecond, Lost: 3},
		{Scenario: "primary_killed", Began: true},
		{Scenario: "primary_killed", What: "a primary killed", Gap: 100 * time.Millisecond, Healed: 8 * time.Second},
		{Scenario: "primary_killed", Began: true},
		{Scenario: "primary_killed", What: "a primary killed", Gap: 300 * time.Millisecond, Healed: 9 * time.Second},
		{Scenario: "new", What: "what is new", Gap: time.Second},
	}
	got, err := Render(document, all)
	if err != nil {
		t.Fatal(err)
	}
	want := "# By hand\n\n" + begin + "\n" + Head + "\n" +
		"| a primary killed | `primary_killed` | 3 | 0 | 200 ms (100 ms to 300 ms) | 8.0 s (7.0 s to 9.0 s) |\n" +
		"| and again | `primary_killed` | 1 of 3 | 3 | 1.5 s | – |\n" +
		"| by hand, and not run | `other` | 3 | 0 | 1 ms | – |\n" +
		"| what is new | `new` | 1 | 0 | 1.0 s | – |\n" +
		end + "\n\nAnd more.\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if again, err := Render(got, all); err != nil || again != got {
		t.Errorf("rendered again it differs: %v\n%s", err, again)
	}
}

func TestRenderNeedsItsMarks(t *testing.T) {
	if _, err := Render("# No table\n", nil); err == nil {
		t.Error("a document without marks was taken")
	}
}

func TestAppendAndRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record")
	t.Setenv(Variable, path)
	for _, f := range []Figure{{Scenario: "a", Began: true}, {Scenario: "a", What: "w", Gap: time.Second, Lost: 2}} {
		if err := Append(f); err != nil {
			t.Fatal(err)
		}
	}
	all, err := Read(path)
	if err != nil || len(all) != 2 || all[1].Gap != time.Second || all[1].Lost != 2 {
		t.Errorf("read %v, %v", all, err)
	}
	t.Setenv(Variable, "")
	if err := Append(Figure{Scenario: strings.Repeat("x", 3)}); err != nil {
		t.Error(err)
	}
}
