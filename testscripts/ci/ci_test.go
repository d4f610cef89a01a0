package ci

import (
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

// A script has one verb, `vet FILES…`: the command of docs/ci.md. It prints what cue prints, but for the places in the schema:
// they follow those in the manifest and move with every edit of the schema.
func TestManifestsInCI(t *testing.T) {
	cue, err := command("cue")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
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
				vet := exec.Command(cue, "vet", "-c", "-d", "#Object", "./vet")
				for _, file := range files {
					vet.Args = append(vet.Args, ts.MkAbs(file))
				}
				vet.Dir = filepath.Join(root, "cue")
				output, err := vet.CombinedOutput()
				if refused != (err != nil) {
					ts.Fatalf("cue vet: %v\n%s", err, output)
				}
				_, err = io.WriteString(ts.Stdout(), messages(string(output)))
				ts.Check(err)
			},
		},
	})
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
