package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	cueerrors "cuelang.org/go/cue/errors"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// constrain reads bounds, patterns, lengths and enums out of the value's expression. A pattern beside an error("…") becomes a
// CEL rule with those words, since the message of an OpenAPI pattern is the pattern.
func constrain(v cue.Value, s *v1.JSONSchemaProps) error {
	op, args := v.Expr()
	switch op {
	case cue.AndOp:
		return each(args, s)
	case cue.OrOp:
		return disjunction(args, s)
	case cue.RegexMatchOp, cue.NotRegexMatchOp:
		return pattern(op, args[0], s)
	case cue.GreaterThanEqualOp, cue.LessThanEqualOp:
		return bound(op, args[0], s)
	case cue.CallOp:
		return call(args, s)
	case cue.NoOp, cue.SelectorOp:
		if d := cue.Dereference(v); op == cue.SelectorOp && d != v {
			return constrain(d, s)
		}
		return nil
	}
	return fmt.Errorf("no OpenAPI counterpart for operator %v", op)
}

func each(args []cue.Value, s *v1.JSONSchemaProps) error {
	for _, a := range args {
		if err := constrain(a, s); err != nil {
			return err
		}
	}
	return nil
}

// disjunction is an enum, or one constraint; an error("…") beside it says the constraint in words.
func disjunction(args []cue.Value, s *v1.JSONSchemaProps) error {
	var alternatives []cue.Value
	message := ""
	for _, a := range args {
		if a.Err() != nil {
			message = words(a.Err())
			continue
		}
		alternatives = append(alternatives, a)
	}
	if len(alternatives) == 1 && !alternatives[0].IsConcrete() {
		return worded(alternatives[0], s, message)
	}
	for _, a := range alternatives {
		if !a.IsConcrete() {
			return errors.New("a choice between constraints has no OpenAPI counterpart")
		}
		text, err := a.MarshalJSON()
		if err != nil {
			return fmt.Errorf("read enum: %w", err)
		}
		s.Enum = append(s.Enum, v1.JSON{Raw: text})
	}
	return nil
}

// worded collects the constraint and turns its patterns into one CEL rule with the message.
func worded(v cue.Value, s *v1.JSONSchemaProps, message string) error {
	found := &v1.JSONSchemaProps{Type: s.Type}
	if err := constrain(v, found); err != nil {
		return err
	}
	s.MaxLength, s.MinLength = found.MaxLength, found.MinLength
	rule := conjunction(found)
	if rule == "" || message == "" || found.Minimum != nil || found.Maximum != nil {
		return errors.New("error(…) must stand beside a pattern")
	}
	s.XValidations = append(s.XValidations, v1.ValidationRule{Rule: rule, Message: message})
	return nil
}

func conjunction(s *v1.JSONSchemaProps) string {
	var terms []string
	if s.Pattern != "" {
		terms = append(terms, "self.matches("+strconv.Quote(s.Pattern)+")")
	}
	for _, p := range s.AllOf {
		if p.Not != nil {
			terms = append(terms, "!self.matches("+strconv.Quote(p.Not.Pattern)+")")
			continue
		}
		terms = append(terms, "self.matches("+strconv.Quote(p.Pattern)+")")
	}
	return strings.Join(terms, " && ")
}

// words are the text of an error("…").
func words(err error) string {
	format, args := cueerrors.Errors(err)[0].Msg()
	return fmt.Sprintf(format, args...)
}

func pattern(op cue.Op, v cue.Value, s *v1.JSONSchemaProps) error {
	p, err := v.String()
	if err != nil {
		return fmt.Errorf("read pattern: %w", err)
	}
	switch {
	case op == cue.NotRegexMatchOp:
		s.AllOf = append(s.AllOf, v1.JSONSchemaProps{Not: &v1.JSONSchemaProps{Pattern: p}})
	case s.Pattern != "":
		s.AllOf = append(s.AllOf, v1.JSONSchemaProps{Pattern: p})
	default:
		s.Pattern = p
	}
	return nil
}

// formats are the OpenAPI formats by the bounds of CUE's int32 and int64.
var formats = map[string]string{
	strconv.Itoa(math.MinInt32): "int32", strconv.Itoa(math.MaxInt32): "int32",
	strconv.Itoa(math.MinInt64): "int64", strconv.Itoa(math.MaxInt64): "int64",
}

// bound keeps the narrowest of the bounds; those of int32 and int64 become the format.
func bound(op cue.Op, v cue.Value, s *v1.JSONSchemaProps) error {
	n, err := v.Int(nil)
	if err != nil {
		return fmt.Errorf("read bound: %w", err)
	}
	if format, ok := formats[n.String()]; ok {
		s.Format = format
		return nil
	}
	f, _ := n.Float64()
	if op == cue.GreaterThanEqualOp && (s.Minimum == nil || f > *s.Minimum) {
		s.Minimum = &f
	}
	if op == cue.LessThanEqualOp && (s.Maximum == nil || f < *s.Maximum) {
		s.Maximum = &f
	}
	return nil
}

func call(args []cue.Value, s *v1.JSONSchemaProps) error {
	name := fmt.Sprint(args[0])
	n, err := args[1].Int64()
	if err != nil {
		return fmt.Errorf("read argument of %s: %w", name, err)
	}
	switch name {
	case "strings.MaxRunes":
		s.MaxLength = &n
	case "strings.MinRunes":
		s.MinLength = &n
	case "list.MaxItems":
		s.MaxItems = &n
	case "struct.MaxFields":
		s.MaxProperties = &n
	default:
		return fmt.Errorf("no OpenAPI counterpart for %s", name)
	}
	return nil
}
