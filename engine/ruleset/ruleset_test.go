package ruleset_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	cuefiles "valkey.gomomento.com/operator/cue"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/ruleset"
)

// retire and plain are actions as the registry would make them.
type (
	retire struct {
		Nodes []string `expr:"nodes"`
	}
	plain struct{}
)

func fresh(name string) any {
	switch name {
	case "retire":
		return &retire{}
	case "plain":
		return &plain{}
	default:
		return nil
	}
}

// table is a rule module of the shipped schema and one rule file.
func table(t *testing.T, rules string) fs.FS {
	t.Helper()
	schema, err := fs.ReadFile(cuefiles.FS, "rules/rule.cue")
	if err != nil {
		t.Fatal(err)
	}
	module, err := fs.ReadFile(cuefiles.FS, "cue.mod/module.cue")
	if err != nil {
		t.Fatal(err)
	}
	return fstest.MapFS{
		"cue.mod/module.cue": {Data: module},
		"rules/rule.cue":     {Data: schema},
		"rules/test.cue":     {Data: []byte("package rules\n" + rules)},
	}
}

const sound = `
rules: "b": {phase: "stability", priority: 210, when: "len(nodes.dead) > 0", then: "retire", with: nodes: "nodes.dead", because: "They are dead."}
rules: "a": {phase: "lifecycle", priority: 10, when: "cluster.paused", then: "hold", because: "It is paused.", wait: "'a word'"}
`

func TestLoadOrdersByPriorityAndFillsArguments(t *testing.T) {
	rules, err := ruleset.Load(table(t, sound), fresh)
	if err != nil {
		t.Fatal(err)
	}
	if len(rules) != 2 || rules[0].Name != "a" {
		t.Fatalf("rules = %+v, want a before b", rules)
	}
	facts := &engine.Facts{Nodes: engine.NodeFacts{Dead: []string{"x"}}}
	d := engine.Decide(facts, rules)
	got, ok := d.Args.(*retire)
	if !ok || len(got.Nodes) != 1 || got.Nodes[0] != "x" {
		t.Errorf("arguments = %+v, want the dead node", d.Args)
	}
	facts.Cluster.Paused = true
	if d := engine.Decide(facts, rules); d.Waiting != "a word" || d.Acts() {
		t.Errorf("decision = %+v, want a hold that says a word", d)
	}
}

// TestLoadRefuses pins that no fault of a rule reaches production.
func TestLoadRefuses(t *testing.T) {
	rule := func(fields string) string {
		return `rules: "r": {phase: "stability", priority: 300, because: "So.", ` + fields + `}`
	}
	tests := map[string]struct{ rules, want string }{
		"a misspelt fact":        {rule(`when: "nodes.deed", then: "hold"`), "rule r: when: type engine.NodeFacts has no field deed"},
		"a condition of no bool": {rule(`when: "len(nodes.dead)", then: "hold"`), "expected bool, but got int"},
		"an unknown action":      {rule(`when: "true", then: "retyre"`), `no action is called "retyre"`},
		"a missing argument":     {rule(`when: "true", then: "retire"`), "action retire needs the argument nodes"},
		"an argument too many":   {rule(`when: "true", then: "plain", with: x: "1"`), "action plain has no argument x"},
		"an argument of a hold":  {rule(`when: "true", then: "hold", with: x: "1"`), "hold takes no arguments"},
		"an argument's wrong type": {rule(`when: "true", then: "retire", with: nodes: "nodes.missing"`),
			"nodes.missing is a []engine.NewNode, and the action wants a []string"},
		"a wait that is no text": {rule(`when: "true", then: "hold", wait: "1"`), "expected string, but got int"},
		"two rules of one priority": {sound + rule(`when: "true", then: "hold"`) +
			`
rules: "s": {phase: "stability", priority: 300, when: "true", then: "hold", because: "So."}`, "conflicting values"},
		"a priority outside its phase": {`rules: "r": {phase: "updates", priority: 300, when: "true", then: "hold", because: "So."}`, "invalid value 300"},
		"a reason that is no sentence": {`rules: "r": {phase: "updates", priority: 600, when: "true", then: "hold", because: "so"}`, "because"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := ruleset.Load(table(t, tt.rules), fresh)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error = %v, want %q", err, tt.want)
			}
			if !strings.Contains(err.Error(), ".cue:") {
				t.Errorf("error does not say where: %v", err)
			}
		})
	}
}

// TestABrokenConditionHolds pins that a rule that fails while it is asked stops the search.
func TestABrokenConditionHolds(t *testing.T) {
	rules, err := ruleset.Load(table(t, `rules: "r": {phase: "stability", priority: 300, when: "shards[7].index == 1", then: "plain", because: "So."}
`+sound), fresh)
	if err != nil {
		t.Fatal(err)
	}
	d := engine.Decide(&engine.Facts{}, rules)
	if d.Acts() || d.Err == nil || d.Rule != "r" {
		t.Errorf("decision = %+v, want a hold by r with its error", d)
	}
}
