package ruleset

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"

	"valkey.gomomento.com/operator/engine"
)

func compile(r row, actions Actions) (engine.Rule, error) {
	rule := engine.Rule{Name: r.Name, Phase: r.Phase, Priority: r.Priority, Then: r.Then, Because: r.Because, Yields: r.Yields}
	when, err := program(r.When, expr.AsBool())
	if err != nil {
		return rule, fmt.Errorf("when: %w", err)
	}
	rule.When = condition{when}
	if r.Wait != "" {
		wait, err := program(r.Wait, expr.AsKind(reflect.String))
		if err != nil {
			return rule, fmt.Errorf("wait: %w", err)
		}
		rule.Wait = sentence{wait}
	}
	if r.Then == engine.Hold {
		return rule, refuseArguments(r)
	}
	rule.With, err = bind(r, actions)
	return rule, err
}

func refuseArguments(r row) error {
	if len(r.With) > 0 {
		return fmt.Errorf("with: %s takes no arguments", engine.Hold)
	}
	return nil
}

func program(source string, as expr.Option) (*vm.Program, error) {
	return expr.Compile(source, expr.Env(engine.Facts{}), as)
}

// bind compiles the arguments of r's action against the action's own fields:
// each must be given, of exactly the field's type, and none besides.
func bind(r row, actions Actions) (arguments, error) {
	a := arguments{fresh: func() any { return actions(r.Then) }}
	empty := a.fresh()
	if empty == nil {
		return a, fmt.Errorf("then: no action is called %q", r.Then)
	}
	action := reflect.TypeOf(empty).Elem()
	given := maps.Clone(r.With)
	for i := range action.NumField() {
		field := action.Field(i)
		name := field.Tag.Get("expr")
		if name == "" {
			continue
		}
		source, ok := given[name]
		if !ok {
			return a, fmt.Errorf("with: action %s needs the argument %s", r.Then, name)
		}
		delete(given, name)
		p, err := argument(source, field.Type)
		if err != nil {
			return a, fmt.Errorf("with.%s: %w", name, err)
		}
		a.fields = append(a.fields, boundField{index: i, program: p})
	}
	if extra := slices.Sorted(maps.Keys(given)); len(extra) > 0 {
		return a, fmt.Errorf("with: action %s has no argument %s", r.Then, extra[0])
	}
	return a, nil
}

func argument(source string, want reflect.Type) (*vm.Program, error) {
	p, err := program(source, expr.AsAny())
	if err != nil {
		return nil, err
	}
	if have := p.Node().Type(); have != want {
		return nil, fmt.Errorf("%s is a %s, and the action wants a %s", source, have, want)
	}
	return p, nil
}

// A condition is a compiled expr-lang program over engine.Facts.
type condition struct{ program *vm.Program }

// Holds implements engine.Condition.
func (c condition) Holds(f *engine.Facts) (bool, error) {
	out, err := expr.Run(c.program, f)
	if err != nil {
		return false, err
	}
	held, ok := out.(bool)
	if !ok {
		return false, fmt.Errorf("condition gave a %T", out)
	}
	return held, nil
}

// A sentence is a compiled program that yields text.
type sentence struct{ program *vm.Program }

// Say implements engine.Sentence.
func (s sentence) Say(f *engine.Facts) (string, error) {
	out, err := expr.Run(s.program, f)
	if err != nil {
		return "", fmt.Errorf("wait: %w", err)
	}
	return fmt.Sprint(out), nil
}

// arguments fills a fresh action from the facts.
type arguments struct {
	fresh  func() any
	fields []boundField
}

type boundField struct {
	index   int
	program *vm.Program
}

// Evaluate implements engine.Arguments: it returns a pointer to the action.
func (a arguments) Evaluate(f *engine.Facts) (any, error) {
	action := a.fresh()
	target := reflect.ValueOf(action).Elem()
	for _, field := range a.fields {
		out, err := expr.Run(field.program, f)
		if err != nil {
			return nil, fmt.Errorf("with.%s: %w", target.Type().Field(field.index).Name, err)
		}
		target.Field(field.index).Set(reflect.ValueOf(out))
	}
	return action, nil
}
