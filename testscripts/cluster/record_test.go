package cluster

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"valkey.gomomento.com/operator/testscripts/figures"
	"valkey.gomomento.com/operator/testscripts/traffic"
)

var (
	runs = flag.Int("runs", 0, "how often TestReliability runs each scenario that records figures")
	slow = flag.Bool("slow", false, "run the scenarios that are marked slow too")
)

// slowMark begins the line of a scenario that is too slow for every commit: "[!slow] skip REASON".
const slowMark = "[!slow] skip"

// found is what was measured since the last record.
type found struct {
	report *traffic.Report
	healed time.Duration
}

// cmdRecord keeps what was found since the last record: of the traffic that was stopped last, and of the slowest "settled".
func cmdRecord(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	if len(args) == 0 || s.found.report == nil {
		ts.Fatalf("record: WHAT, after traffic stop")
	}
	_, gap := s.found.report.Longest()
	f := figures.Figure{
		Scenario: ts.Name(), What: strings.Join(args, " "),
		Lost: s.found.report.Lost, Gap: gap.Length, Healed: s.found.healed,
	}
	ts.Logf("%s: %d lost, longest gap %s, healed after %s", f.What, f.Lost, f.Gap, f.Healed)
	ts.Check(figures.Append(f))
	s.found = found{}
}

// isSlow is the condition of scenarios.
func isSlow(condition string) (bool, error) {
	if condition != "slow" {
		return false, fmt.Errorf("unknown condition %q", condition)
	}
	return *slow || *runs > 0, nil
}

// scriptsWith are the scenarios below these directories with a line that begins so.
func scriptsWith(beginning string, dirs ...string) ([]string, error) {
	var chosen []string
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			if strings.Contains(string(text), "\n"+beginning) {
				chosen = append(chosen, file)
			}
		}
	}
	slices.Sort(chosen)
	return chosen, nil
}

// tellLeftOut says which scenarios did not run, and how to run them.
func tellLeftOut(t *testing.T, dirs ...string) {
	t.Helper()
	files, err := scriptsWith(slowMark, dirs...)
	if err != nil {
		t.Fatal(err)
	}
	if yes, err := isSlow("slow"); yes || err != nil || len(files) == 0 {
		return
	}
	t.Logf("left out, since they are slow: %s; `make reliability` runs them, and so does -slow", strings.Join(files, ", "))
}

// TestReliability runs every scenario that records figures so often as -runs says, one after the other. `make reliability`
// writes docs/reliability.md from what they record.
func TestReliability(t *testing.T) {
	if *runs == 0 {
		t.Skip("it only repeats scenarios of the other tests, for their figures: `make reliability` runs it")
	}
	files, err := scriptsWith("record ", "measured", "scenarios")
	if err != nil {
		t.Fatal(err)
	}
	for range *runs {
		for _, file := range files {
			params := scripts("")
			params.Files = []string{file}
			testscript.RunT(inTurn{t}, beginning(params))
		}
	}
}

// beginning notes that a run of a scenario has begun, so that one that fails is counted.
func beginning(params testscript.Params) testscript.Params {
	set := params.Setup
	params.Setup = func(e *testscript.Env) error {
		name := strings.TrimPrefix(filepath.Base(e.WorkDir), "script-")
		if err := figures.Append(figures.Figure{Scenario: name, Began: true}); err != nil {
			return err
		}
		return set(e)
	}
	return params
}
