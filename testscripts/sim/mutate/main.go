// Mutate writes a copy of the actions in which each precondition can be left out, and the file that tells `go test -overlay`
// to build the simulation with it. So no production code knows of mutants, and one build has all of them.
//
//	go run ./testscripts/sim/mutate DIR && go test -overlay DIR/overlay.json ./testscripts/sim …
//
// What counts as a precondition: each part of a condition under which a function does nothing but return, save for errors, and
// each part of a condition that is returned as true or false.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: mutate DIR")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// elsewhere are the actions that the simulated world has no part for: TLS, servers before Valkey 9, and what servers keep of
// connections. Their preconditions are tested in package actions, on real servers.
var elsewhere = []string{
	"carry_keys.go", "carry_slots.go", "unmark_slots.go", "copy_certificate.go", "load_certificate.go", "evict_users.go",
}

func run(out string) error {
	out, err := filepath.Abs(out)
	if err != nil {
		return fmt.Errorf("find %s: %w", out, err)
	}
	files, err := filepath.Glob("actions/*.go")
	if err != nil {
		return fmt.Errorf("find the actions: %w", err)
	}
	o := overlay{dir: out, Replace: map[string]string{}}
	var found []precondition
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || slices.Contains(elsewhere, filepath.Base(file)) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read an action: %w", err)
		}
		changed, some, err := instrument(file, string(text), len(found))
		if err != nil {
			return err
		}
		if found = append(found, some...); changed != string(text) {
			if err := o.put(file, changed); err != nil {
				return err
			}
		}
	}
	return o.finish(found)
}

// An overlay is what `go build -overlay` reads.
type overlay struct {
	dir     string
	Replace map[string]string
}

// put puts a text in the place of a file, which need not exist.
func (o *overlay) put(file, text string) error {
	real, err := filepath.Abs(file)
	if err != nil {
		return fmt.Errorf("find %s: %w", file, err)
	}
	copied := filepath.Join(o.dir, strings.ReplaceAll(file, "/", "_"))
	o.Replace[real] = copied
	return os.WriteFile(copied, []byte(text), 0o600)
}

const (
	lever = `package actions

import (
	"os"
	"strconv"
	"sync/atomic"
)

// Without is the precondition that is left out, 0 for none; Mattered are those that would have made a difference.
var (
	Without  int
	Mattered [%d]atomic.Bool
)

// The tests of this package are told by the environment.
func init() {
	n, set := os.LookupEnv("WITHOUT")
	if !set {
		return
	}
	var err error
	if Without, err = strconv.Atoi(n); err != nil || Without < 1 || Without >= len(Mattered) {
		panic("WITHOUT=" + n + ": the number of a precondition is wanted")
	}
}

func needs(n int, holds bool) bool {
	if !holds {
		Mattered[n].Store(true)
	}
	return holds || n == Without
}

func stopsAt(n int, holds bool) bool {
	if holds {
		Mattered[n].Store(true)
	}
	return holds && n != Without
}

// Panicked says that an action has.
var Panicked atomic.Bool

func caught() {
	if recover() != nil {
		Panicked.Store(true)
	}
}
`
	levers = `package sim

import "valkey.gomomento.com/operator/actions"

func init() {
	without = func(n int) { actions.Without = n }
	panicked = func() bool { return actions.Panicked.Swap(false) }
	mattered = func() (all []int) {
		for n := range actions.Mattered {
			if actions.Mattered[n].Swap(false) {
				all = append(all, n)
			}
		}
		return all
	}
	preconditions = []string{
%s	}
}
`
)

func (o *overlay) finish(found []precondition) error {
	var names strings.Builder
	for _, p := range found {
		fmt.Fprintf(&names, "\t\t%q,\n", p)
	}
	if err := o.put("actions/zz_without.go", fmt.Sprintf(lever, len(found)+1)); err != nil {
		return err
	}
	if err := o.put("testscripts/sim/zz_without_test.go", fmt.Sprintf(levers, names.String())); err != nil {
		return err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("write the overlay: %w", err)
	}
	return os.WriteFile(filepath.Join(o.dir, "overlay.json"), text, 0o600)
}
