package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// schema maps a CUE value to a structural schema. `f!:` is required, `f?:` and `f:` are optional; @cel and @crd attributes carry
// what CUE has no words for.
func schema(v cue.Value) (*v1.JSONSchemaProps, error) {
	s := &v1.JSONSchemaProps{Description: doc(v)}
	if opaque(v) {
		s.Type, s.XPreserveUnknownFields = "object", new(true)
		return s, nil
	}
	if err := shape(v, s); err != nil {
		return nil, fmt.Errorf("%v: %s: %w", v.Pos(), v.Path(), err)
	}
	return s, attributes(v, s)
}

// shape fills in the type and what depends on it.
func shape(v cue.Value, s *v1.JSONSchemaProps) error {
	switch kind := v.IncompleteKind(); kind {
	case cue.StructKind:
		return object(v, s)
	case cue.ListKind:
		return array(v, s)
	case cue.StringKind:
		return scalar(v, s, "string")
	case cue.IntKind:
		return scalar(v, s, "integer")
	case cue.BoolKind:
		return scalar(v, s, "boolean")
	default:
		return fmt.Errorf("%v has no structural schema", kind)
	}
}

func object(v cue.Value, s *v1.JSONSchemaProps) error {
	s.Type = "object"
	if element := v.LookupPath(cue.MakePath(cue.AnyString)); element.Exists() {
		values, err := schema(element)
		if err != nil {
			return err
		}
		s.AdditionalProperties = &v1.JSONSchemaPropsOrBool{Allows: true, Schema: values}
	}
	if err := properties(v, s); err != nil {
		return err
	}
	if s.AdditionalProperties != nil {
		if err := constrain(v, s); err != nil {
			return err
		}
	}
	if (s.Properties == nil) == (s.AdditionalProperties == nil) {
		return fmt.Errorf("must have either fields or [string]: values")
	}
	return nil
}

func properties(v cue.Value, s *v1.JSONSchemaProps) error {
	fields, err := v.Fields(cue.Optional(true))
	if err != nil {
		return err
	}
	for fields.Next() {
		field := fields.Selector()
		property, err := schema(fields.Value())
		if err != nil {
			return err
		}
		if s.Properties == nil {
			s.Properties = map[string]v1.JSONSchemaProps{}
		}
		s.Properties[field.Unquoted()] = *property
		if field.ConstraintType() == cue.RequiredConstraint {
			s.Required = append(s.Required, field.Unquoted())
		}
	}
	return nil
}

func array(v cue.Value, s *v1.JSONSchemaProps) error {
	s.Type = "array"
	element := v.LookupPath(cue.MakePath(cue.AnyIndex))
	if !element.Exists() {
		return fmt.Errorf("a list needs an element type")
	}
	items, err := schema(element)
	if err != nil {
		return err
	}
	s.Items = &v1.JSONSchemaPropsOrArray{Schema: items}
	if err := constrain(v, s); err != nil {
		return err
	}
	return leastItems(v, s)
}

// leastItems reads [T, ...T] as: at least one.
func leastItems(v cue.Value, s *v1.JSONSchemaProps) error {
	elements, err := v.List()
	if err != nil {
		return err
	}
	least := int64(0)
	for elements.Next() {
		least++
	}
	if least > 0 {
		s.MinItems = &least
	}
	return nil
}

func scalar(v cue.Value, s *v1.JSONSchemaProps, kind string) error {
	s.Type = kind
	if err := constrain(v, s); err != nil {
		return err
	}
	value, ok := v.Default()
	if !ok || !value.IsConcrete() {
		return nil
	}
	text, err := value.MarshalJSON()
	if err != nil {
		return fmt.Errorf("read default: %w", err)
	}
	s.Default = &v1.JSON{Raw: text}
	return nil
}

func opaque(v cue.Value) bool {
	crd := v.Attribute("crd")
	flag, err := crd.Flag(0, "opaque")
	return err == nil && flag
}

// attributes adds what @cel, @crd and @immutable say on the field and on what it refers to.
func attributes(v cue.Value, s *v1.JSONSchemaProps) error {
	all := v.Attributes(cue.ValueAttr)
	if d := cue.Dereference(v); d != v {
		all = append(all, d.Attributes(cue.ValueAttr)...)
	}
	for _, a := range all {
		if err := attribute(a, s); err != nil {
			return fmt.Errorf("%v: %s: @%s(%s): %w", v.Pos(), v.Path(), a.Name(), a.Contents(), err)
		}
	}
	return nil
}

// known are the attributes and their arguments. @go is for the Go types.
var known = map[string][]string{
	"cel":       {"rule", "message", "fieldPath"},
	"immutable": {"except", "message"},
	"crd":       {"listType", "listMapKey", "format", "opaque"},
}

func attribute(a cue.Attribute, s *v1.JSONSchemaProps) error {
	if a.Name() == "go" {
		return nil
	}
	args := map[string]string{}
	for i := range a.NumArgs() {
		key, value := a.Arg(i)
		if !slices.Contains(known[a.Name()], key) {
			return fmt.Errorf("unknown: %s", key)
		}
		args[key] = value
	}
	switch a.Name() {
	case "cel":
		s.XValidations = append(s.XValidations, v1.ValidationRule{
			Rule: args["rule"], Message: args["message"], FieldPath: args["fieldPath"],
		})
	case "immutable":
		s.XValidations = append(s.XValidations, immutable(s, args["except"], args["message"]))
	case "crd":
		extend(args, s)
	}
	return nil
}

func extend(args map[string]string, s *v1.JSONSchemaProps) {
	s.Format = args["format"]
	if kind, ok := args["listType"]; ok {
		s.XListType = &kind
	}
	if key, ok := args["listMapKey"]; ok {
		s.XListMapKeys = []string{key}
	}
}

// immutable is the rule that no property but the exceptions, separated by spaces, may change, appear or go.
func immutable(s *v1.JSONSchemaProps, except, message string) v1.ValidationRule {
	var same []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		switch {
		case slices.Contains(strings.Fields(except), name):
		case slices.Contains(s.Required, name):
			same = append(same, fmt.Sprintf("self.%[1]s == oldSelf.%[1]s", name))
		default: // self.?name would be shorter, but the API server takes its cost for unbounded.
			same = append(same, fmt.Sprintf("(has(self.%[1]s) ? has(oldSelf.%[1]s) && self.%[1]s == oldSelf.%[1]s : !has(oldSelf.%[1]s))", name))
		}
	}
	return v1.ValidationRule{Rule: strings.Join(same, " && "), Message: message}
}
