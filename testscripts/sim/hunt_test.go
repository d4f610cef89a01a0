package sim

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"valkey.gomomento.com/operator/cue"
	"valkey.gomomento.com/operator/engine"
)

var (
	share        = flag.String("mutants", "", "which share of the mutants TestEveryMutant hunts: 1/1 for all, 2/8 for the second of eight")
	only         = flag.String("mutant", "", "hunt only mutants whose name contains this")
	mutantSeeds  = flag.Int("mutant-seeds", 30, "how many seeds each mutant runs at most")
	mutantSweeps = flag.Int("mutant-sweeps", 300, "how many sweeps each mutant runs at most")
	huntTime     = flag.Duration("mutant-time", time.Hour, "after this no more mutants are begun")
	scenarios    = flag.String("scenarios", "", "the test binary of testscripts/decide, which is to try the mutants too")
	actionTests  = flag.String("actions", "", "the test binary of the actions, built as this one is, which is to try their mutants too")
)

// What a program that testscripts/sim/mutate has prepared knows: the preconditions of actions, how to leave one out, which of
// them have mattered since the last question, and whether an action has panicked since.
var (
	preconditions []string
	without       = func(int) {}
	mattered      = func() []int { return nil }
	panicked      = func() bool { return false }
)

// everyMutant are all mutants there are, and the conditions of those of rules.
func everyMutant(t *testing.T) ([]mutant, map[string]engine.Condition) {
	t.Helper()
	all, when := conditionMutants(t)
	swapped, err := orders(cue.FS)
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, swapped...)
	for i, name := range preconditions {
		all = append(all, mutant{name: name, precondition: i + 1})
	}
	return all, when
}

// A hunt tries mutants, one after the other.
type hunt struct {
	program *Program
	all     []mutant
	when    map[string]engine.Condition
	scripts map[string]string
	// where are the scripts, in their order, in which a mutant would go on otherwise than the operator.
	where map[string][]string
	// eager are those in which it would if its rule were asked first, and sound those in which this is no fault by itself.
	eager map[string][]string
	sound map[string]bool
	dir   string // for rules of mutants

	tried, caught, onPaper, inSimulation, inTests, explained, same int
}

// TestEveryMutant says of every mutant what tells it from the operator: scenarios on paper, scripts, and seeds. It fails for
// those that survive and are not explained in survivors.
func TestEveryMutant(t *testing.T) {
	var nth, of int
	if *share == "" {
		t.Skip("-mutants says which share of them is hunted")
	} else if _, err := fmt.Sscanf(*share, "%d/%d", &nth, &of); err != nil || nth < 1 || nth > of {
		t.Fatalf("-mutants %q is no share", *share)
	}
	h := newHunt(t)
	until := time.Now().Add(*huntTime)
	for i, m := range h.all {
		if i%of != nth-1 || !strings.Contains(m.name, *only) {
			continue
		}
		if time.Now().After(until) {
			fmt.Println("the time is over: the rest was not tried")
			break
		}
		h.try(t, m)
	}
	fmt.Printf("%d mutants, %d caught: %d on paper, %d by simulation, %d by tests of the actions; %d of the others are explained; %d swaps not counted\n",
		h.tried, h.caught, h.onPaper, h.inSimulation, h.inTests, h.explained, h.same)
}

func newHunt(t *testing.T) *hunt {
	t.Helper()
	h := &hunt{program: load(t), scripts: map[string]string{}, where: map[string][]string{}, eager: map[string][]string{}, sound: map[string]bool{}, dir: t.TempDir()}
	h.all, h.when = everyMutant(t)
	files, err := filepath.Glob("scripts/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		h.scripts[filepath.Base(file)] = string(text)
	}
	order := slices.Sorted(maps.Keys(h.scripts))
	for number := range *mutantSweeps {
		name, script := sweepOf(number)
		h.scripts[name] = script
		order = append(order, name)
	}
	for seed := range *mutantSeeds {
		name := fmt.Sprintf("seed %d", seed+1)
		h.scripts[name] = scriptOf(uint64(seed+1), 3)
		order = append(order, name)
	}
	for _, name := range order {
		h.look(t, name)
	}
	return h
}

// look runs a script without a mutant, to see which mutants would make a difference in it. One in which something is wrong
// tells nobody from the operator.
func (h *hunt) look(t *testing.T, name string) {
	t.Helper()
	m := newMarks(h.all, h.program.rules, h.when)
	program := h.program.With(h.program.rules)
	program.asked = m.asked
	mattered()
	if faults := play(t, program, h.scripts[name]).faults; len(faults) > 0 {
		fmt.Printf("%s is left out: %s\n", name, short(faults[0]))
		return
	}
	for _, number := range mattered() {
		m.set[preconditions[number-1]] = true
	}
	for one := range m.set {
		h.where[one] = append(h.where[one], name)
	}
	for one, eager := range m.eager {
		if eager {
			h.eager[one] = append(h.eager[one], name)
		}
	}
}

// try tries one mutant and prints a line of the table.
func (h *hunt) try(t *testing.T, m mutant) {
	t.Helper()
	var by []string
	onPaper, inSimulation, inTests := h.paper(t, m, "TestDecide"), h.simulation(t, m), h.tests(m)
	if onPaper == "" && inSimulation == "" {
		onPaper = h.paper(t, m, "TestSafeInAnyOrder") // takes ten times as long
	}
	for found, count := range map[string]*int{onPaper: &h.onPaper, inSimulation: &h.inSimulation, inTests: &h.inTests} {
		if found != "" {
			*count++
			by = append(by, found)
		}
	}
	slices.Sort(by)
	why, known := survivors[m.name]
	switch {
	case len(by) > 0:
		h.caught++
	case m.other != "" && len(h.where[m.name]) == 0:
		h.same++
		fmt.Printf("%s\tnot counted: the two hold together in no script\n", m.name)
		return
	case known:
		h.explained++
		by = append(by, "survives: "+why)
	default:
		by = append(by, h.survived(t, m))
	}
	h.tried++
	fmt.Printf("%s\t%s\n", m.name, strings.Join(by, "; "))
}

// survived fails the hunt for a mutant that nothing has told from the operator, and says in how many scripts it might have been.
func (h *hunt) survived(t *testing.T, m mutant) string {
	t.Helper()
	t.Errorf("%s: nothing tells it from the operator; add a scenario or a script that does, or say in survivors why none can", m.name)
	differs := slices.Concat(h.where[m.name], h.eager[m.name])
	return fmt.Sprintf("SURVIVES, differs in %d scripts: %s", len(differs), short(fmt.Sprint(differs)))
}

// tries is in how many scripts and seeds a mutant is tried that goes on otherwise in them.
const tries = 8

// simulation is the first script or seed in which the judge finds something wrong with the mutant.
func (h *hunt) simulation(t *testing.T, m mutant) string {
	t.Helper()
	program := h.program.With(m.rules(h.program.rules, h.when))
	without(m.precondition)
	defer without(0)
	for _, name := range h.where[m.name][:min(tries, len(h.where[m.name]))] {
		found := playUntilFault(t, program, h.scripts[name]).faults
		if panicked() {
			return name + ": a panic"
		}
		if len(found) > 0 {
			return name + ": " + short(strings.ReplaceAll(found[0], "\n", " "))
		}
	}
	return h.askedFirst(t, m, program.rules)
}

// askedFirst is what the judge finds when the mutant's rule is asked before all others.
func (h *hunt) askedFirst(t *testing.T, m mutant, rules []engine.Rule) string {
	t.Helper()
	if m.when == "" {
		return ""
	}
	for _, name := range h.eager[m.name][:min(tries, len(h.eager[m.name]))] {
		found := playUntilFault(t, h.program.With(eagerly(rules, m.rule)), h.scripts[name]).faults
		if len(found) > 0 && h.isSound(t, m.rule, name) {
			return name + ", asked first: " + short(strings.ReplaceAll(found[0], "\n", " "))
		}
	}
	return ""
}

// isSound says that nothing is wrong in a script when the operator's own rule is asked first.
func (h *hunt) isSound(t *testing.T, rule, name string) bool {
	t.Helper()
	key := rule + " in " + name
	if _, known := h.sound[key]; !known {
		h.sound[key] = len(playUntilFault(t, h.program.With(eagerly(h.program.rules, rule)), h.scripts[name]).faults) == 0
	}
	return h.sound[key]
}
