package ci

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite what the scripts expect")

// A script has two verbs. `vet FILES…` is the command of docs/ci.md. It prints what cue prints, but for the places in the
// schema: they follow those in the manifest and move with every edit of the schema. And it holds valkey-operator to the same
// words at the same places. `valkey-operator ARGS…` is the operator's command.
func TestManifestsInCI(t *testing.T) {
	cue, err := command("cue")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	operator := filepath.Join(t.TempDir(), "valkey-operator")
	if output, err := exec.Command("go", "build", "-o", operator, "../../operator").CombinedOutput(); err != nil {
		t.Fatalf("build valkey-operator: %v\n%s", err, output)
	}
	testscript.Run(t, testscript.Params{
		Dir:                "scripts",
		UpdateScripts:      *update,
		RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			return os.CopyFS(filepath.Join(e.WorkDir, "examples"), os.DirFS(filepath.Join(root, "examples")))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"vet": func(ts *testscript.TestScript, refused bool, files []string) {
				said := messages(vetByCUE(ts, cue, filepath.Join(root, "cue"), refused, files))
				show(ts, said)
				sameWords(ts, said, run(ts, operator, refused, append([]string{"vet", "--partial"}, files...)))
			},
			"valkey-operator": func(ts *testscript.TestScript, refused bool, args []string) {
				show(ts, run(ts, operator, refused, args))
			},
		},
	})
}

func show(ts *testscript.TestScript, text string) {
	_, err := io.WriteString(ts.Stdout(), text)
	ts.Check(err)
}

func vetByCUE(ts *testscript.TestScript, cue, module string, refused bool, files []string) string {
	vet := exec.Command(cue, "vet", "-c", "-d", "#Object", "./vet")
	for _, file := range files {
		vet.Args = append(vet.Args, ts.MkAbs(file))
	}
	vet.Dir = module
	return verdict(ts, vet, refused)
}

// run runs valkey-operator beside the script's files.
func run(ts *testscript.TestScript, operator string, refused bool, args []string) string {
	cmd := exec.Command(operator, args...)
	cmd.Dir = ts.Getenv("WORK")
	return verdict(ts, cmd, refused)
}

// verdict is what a check prints. It ends the script unless the check refuses what it should, and that with exit code 1.
func verdict(ts *testscript.TestScript, cmd *exec.Cmd, refused bool) string {
	output, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if refused != (err != nil) || err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		ts.Fatalf("%s: %v\n%s", cmd, err, output)
	}
	return string(output)
}

// sameWords ends the script unless each message of cue is a line of valkey-operator, and each error there one of cue.
func sameWords(ts *testscript.TestScript, cue, operator string) {
	lines := strings.Split(operator, "\n")
	said := strings.Split(strings.TrimSuffix(cue, "\n"), "\n")
	mistakes := 0
	for i, message := range said {
		if message == "" || strings.HasPrefix(message, "    ") {
			continue
		}
		mistakes++
		place := ""
		if i+1 < len(said) && strings.HasPrefix(said[i+1], "    ") {
			place = strings.TrimSpace(said[i+1]) + ": "
		}
		if !spoken(lines, place, ": "+strings.TrimSuffix(message, ":")) {
			ts.Fatalf("cue says %s%s, and valkey-operator:\n%s", place, message, operator)
		}
	}
	if errors := fmt.Sprintf(" checked, %d error", mistakes); !strings.Contains(operator, errors) {
		ts.Fatalf("cue finds %d mistakes, and valkey-operator:\n%s", mistakes, operator)
	}
}

func spoken(lines []string, place, message string) bool {
	for _, line := range lines {
		if strings.HasPrefix(line, place) && strings.HasSuffix(line, message) {
			return true
		}
	}
	return false
}

// messages are the lines about manifests, without directories.
func messages(output string) string {
	var kept strings.Builder
	for line := range strings.Lines(output) {
		if place, found := strings.CutPrefix(line, "    "); !found {
			kept.WriteString(line)
		} else if strings.Contains(place, ".yaml:") {
			kept.WriteString("    " + filepath.Base(place))
		}
	}
	return kept.String()
}

// command is the path of a tool that tools/go.mod pins, linked by the go command if need be.
func command(name string) (string, error) {
	path, err := exec.Command("go", "tool", "-modfile=../../tools/go.mod", "-n", name).Output()
	if err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	return strings.TrimSpace(string(path)), nil
}
