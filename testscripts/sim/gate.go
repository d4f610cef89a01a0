package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/engine"
)

// Pass implements kube.Gate.
func (o *operator) Pass(ctx context.Context, verb, what string) error {
	w := o.w
	w.line.Hold()
	dead := o.dead
	w.line.LetGo()
	if dead {
		return errDead
	}
	for wait := w.line.Between(time.Millisecond, 4*time.Millisecond, o.name, verb, what); ; wait = 500 * time.Millisecond {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
		w.line.Hold()
		dead, cut, broken := o.dead, w.servers.Net.Cut(o.name, apiName), w.broken
		w.line.LetGo()
		chance := w.line.Chance("api", o.name, verb, what)
		switch {
		case dead && chance < 0.5: // the other half was on its way already
			return errDead
		case chance < broken/2:
			return apierrors.NewInternalError(errors.New("the API server is out of sorts"))
		case !cut:
			return nil
		}
	}
}

// Return implements kube.Gate.
func (o *operator) Return(verb, what string) error {
	switch chance := o.w.line.Chance("api", o.name, verb, what); {
	case o.dead:
		return errDead
	case chance > 1-o.w.broken/2:
		return apierrors.NewTimeoutError("the reply is lost", 1)
	}
	return nil
}

// kill ends the operator in whatever it is doing; the world must be held.
func (o *operator) kill() {
	o.dead = true
	o.cache.Close()
	o.wakeUp()
}

// A spy notes what a rule decides.
type spy struct {
	engine.Arguments
	o    *operator
	rule string
}

// Evaluate implements engine.Arguments.
func (s spy) Evaluate(f *engine.Facts) (any, error) {
	args, err := s.Arguments.Evaluate(f)
	time.Sleep(s.note(args))
	return args, err
}

// note notes the decision, and says how long the operator takes to go on.
func (s spy) note(args any) time.Duration {
	s.o.w.line.Hold()
	defer s.o.w.line.LetGo()
	s.o.rule, s.o.last = s.rule, s.rule
	if text, ok := args.(fmt.Stringer); ok {
		s.o.last += " " + text.String()
	}
	s.o.w.judge.decided(s.o, s.rule)
	return s.o.slow
}

// A listener notes what a rule says.
type listener struct {
	engine.Condition
	rule  string
	asked func(rule string, held bool, f *engine.Facts)
}

// Holds implements engine.Condition.
func (l listener) Holds(f *engine.Facts) (bool, error) {
	held, err := l.Condition.Holds(f)
	l.asked(l.rule, held, f)
	return held, err
}

func (o *operator) spied(rules []engine.Rule) []engine.Rule {
	spied := make([]engine.Rule, len(rules))
	for i, r := range rules {
		if asked := o.w.program.asked; asked != nil {
			r.When = listener{Condition: r.When, rule: r.Name, asked: asked}
		}
		if r.With != nil {
			r.With = spy{Arguments: r.With, o: o, rule: r.Name}
		}
		spied[i] = r
	}
	return spied
}

// wakes says that a change is one of those that the controller's watches wake a cluster for (operator/controller: watch).
func wakes(was, is client.Object) bool {
	if was == nil || is == nil {
		return true
	}
	switch o := is.(type) {
	case *corev1.Node:
		before, ok := was.(*corev1.Node)
		return !ok || before.Spec.Unschedulable != o.Spec.Unschedulable
	case *corev1.Pod, *corev1.ConfigMap, *corev1.Service, *corev1.Secret:
		return true
	}
	return was.GetGeneration() != is.GetGeneration() || metadata(was) != metadata(is)
}

func metadata(o client.Object) string {
	return fmt.Sprint(o.GetLabels(), o.GetAnnotations(), o.GetDeletionTimestamp() == nil, strings.Join(o.GetFinalizers(), ","))
}
