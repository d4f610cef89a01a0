package sim

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"valkey.gomomento.com/operator/cue"
)

var loadOnce = sync.OnceValues(func() (*Program, error) { return Load(cue.FS) })

func load(t *testing.T) *Program {
	t.Helper()
	p, err := loadOnce()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// play runs a script in a world of its own.
func play(t *testing.T, program *Program, script string) *judge {
	t.Helper()
	return playWith(t, program, script, func(*World) {})
}

// playUntilFault is play that ends with the first fault.
func playUntilFault(t *testing.T, program *Program, script string) *judge {
	t.Helper()
	return playWith(t, program, script, func(w *World) { w.hasty = true })
}

func playWith(t *testing.T, program *Program, script string, prepare func(*World)) *judge {
	t.Helper()
	var told judge
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(program, seedOf(script))
		prepare(w)
		defer func() {
			w.end()
			told = w.judge
		}()
		if err := w.run(script); err != nil {
			t.Error(err)
		}
	})
	return &told
}

// mustHold plays a script that a test has made up, and fails with what the judge has found, the script and what happened.
func mustHold(t *testing.T, program *Program, script string) {
	t.Helper()
	told := play(t, program, script)
	for _, f := range told.faults {
		t.Error(f)
	}
	if t.Failed() {
		t.Logf("the script:\n%s\nwhat happened:\n%s", script, strings.Join(told.trace, "\n"))
	}
}

func TestScripts(t *testing.T) {
	program := load(t)
	files, err := filepath.Glob("scripts/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			told := play(t, program, string(text))
			if len(told.faults) > 0 || testing.Verbose() {
				t.Log("\n" + strings.Join(told.trace, "\n"))
			}
			for _, f := range told.faults {
				t.Error(f)
			}
		})
	}
}
