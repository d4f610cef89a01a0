// Package derive runs the scenarios of the derivation: specs in, effective
// configuration and ACL file out, and real Valkey servers to say whether they
// read it as it was meant. It must not reach into the derivation's inside.
//
// The verbs, besides testscript's own:
//
//	derive FILE...        derive the one ValkeyCluster of the YAML files with their menu; the
//	                      directory policies/, if there is one, holds the platform's policies.
//	                      Prints "accepted" or "refused REASON: message", then the warnings;
//	                      writes valkey.conf, users.acl and node.yaml.
//	server VERSION        start a real server of that version with what was derived
//	serve-slots           give the server all slots, and wait until it serves them
//	reload                give the server the ACL file derived last, and have it loaded
//	config-get NAME       print the directive's value on the server
//	valkey ARG...         send a command as the operator's user and print the reply
//	valkey-as USER ARG... the same as USER, with the user's name as password
//
// The operator's own settings come from the environment: NODE_TIMEOUT,
// DEFAULT_ZONE_SPREAD, REQUIRE_ACL, TLS_PROBLEM and NO_SECRET. $MODULE is the CUE module.
package derive

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"valkey.gomomento.com/operator/engine/derivation"
)

var update = flag.Bool("update", false, "rewrite the expectations of the scenarios")

// moduleDir is the CUE module as the repository holds it.
var moduleDir = filepath.Join("..", "..", "cue")

func TestScenarios(t *testing.T) {
	module, err := filepath.Abs(moduleDir)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := derivation.Load(os.DirFS(module), nil)
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           ".",
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			s := &stage{module: module, deriver: plain, dir: e.WorkDir}
			e.Values[stageKey{}] = s
			e.Setenv("MODULE", module)
			e.Defer(s.stop)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"derive":      verb((*stage).derive),
			"server":      verb((*stage).start),
			"serve-slots": verb((*stage).serveSlots),
			"reload":      verb((*stage).reload),
			"config-get":  verb((*stage).configGet),
			"valkey":      verb((*stage).valkey),
			"valkey-as":   verb((*stage).valkeyAs),
		},
	})
}

// stageKey is the key of a scenario's stage among its values.
type stageKey struct{}

// verb makes a method of the stage a command of the scripts: what it returns is
// printed, and its error fails the command.
func verb(run func(*stage, *testscript.TestScript, []string) (string, error)) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		s, ok := ts.Value(stageKey{}).(*stage)
		if !ok {
			ts.Fatalf("the scenario has no stage")
		}
		out, err := run(s, ts, args)
		if out != "" {
			ts.Check(show(ts, out))
		}
		switch {
		case err != nil && !neg:
			ts.Fatalf("%v", err)
		case err != nil:
			_, err = fmt.Fprintln(ts.Stderr(), err)
			ts.Check(err)
		case err == nil && neg:
			ts.Fatalf("succeeded, which it should not")
		}
	}
}

func show(ts *testscript.TestScript, out string) error {
	_, err := ts.Stdout().Write([]byte(out))
	return err
}
