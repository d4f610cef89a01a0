package main

import (
	"fmt"
	"strings"

	"cuelang.org/go/cue"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	group   = "valkey.gomomento.com"
	version = "v1alpha1"
)

// kindInfo is what #Kinds says of a kind besides its schema.
type kindInfo struct {
	Scope      v1.ResourceScope `json:"scope"`
	ShortNames []string         `json:"shortNames"`
}

func definition(kind string, v cue.Value) (*v1.CustomResourceDefinition, error) {
	info := kindInfo{}
	if err := decode(v, map[string]any{"scope": &info.Scope, "shortNames": &info.ShortNames}); err != nil {
		return nil, err
	}
	columns, err := printerColumns(v.LookupPath(cue.ParsePath("columns")))
	if err != nil {
		return nil, err
	}
	root, err := rootSchema(v)
	if err != nil {
		return nil, err
	}
	singular := strings.ToLower(kind)
	plural := singular + "s"
	return &v1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
		Spec: v1.CustomResourceDefinitionSpec{
			Group: group,
			Scope: info.Scope,
			Names: v1.CustomResourceDefinitionNames{
				Kind: kind, ListKind: kind + "List", Plural: plural, Singular: singular,
				ShortNames: info.ShortNames, Categories: []string{"valkey"},
			},
			Versions: []v1.CustomResourceDefinitionVersion{{
				Name: version, Served: true, Storage: true,
				Schema:                   &v1.CustomResourceValidation{OpenAPIV3Schema: root},
				Subresources:             &v1.CustomResourceSubresources{Status: &v1.CustomResourceSubresourceStatus{}},
				AdditionalPrinterColumns: columns,
			}},
		},
	}, nil
}

func decode(v cue.Value, into map[string]any) error {
	for field, target := range into {
		if err := v.LookupPath(cue.ParsePath(field)).Decode(target); err != nil {
			return fmt.Errorf("read %s: %w", field, err)
		}
	}
	return nil
}

// rootSchema is the schema of a whole object: the kind's own rules, its spec and its status.
func rootSchema(v cue.Value) (*v1.JSONSchemaProps, error) {
	spec, err := schema(v.LookupPath(cue.ParsePath("spec")))
	if err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	status, err := schema(v.LookupPath(cue.ParsePath("status")))
	if err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	for _, p := range status.Properties {
		if p.Default != nil { // An object without a status has its defaults from the start.
			status.Default = &v1.JSON{Raw: []byte("{}")}
		}
	}
	root := &v1.JSONSchemaProps{
		Type: "object", Description: doc(v), Required: []string{"spec"},
		Properties: map[string]v1.JSONSchemaProps{
			"apiVersion": {Type: "string"},
			"kind":       {Type: "string"},
			"metadata":   {Type: "object"},
			"spec":       *spec,
			"status":     *status,
		},
	}
	return root, attributes(v, root)
}

func printerColumns(v cue.Value) ([]v1.CustomResourceColumnDefinition, error) {
	fields, err := v.Fields()
	if err != nil {
		return nil, fmt.Errorf("read columns: %w", err)
	}
	var columns []v1.CustomResourceColumnDefinition
	for fields.Next() {
		c := v1.CustomResourceColumnDefinition{Name: fields.Selector().Unquoted()}
		into := map[string]any{"path": &c.JSONPath, "type": &c.Type, "description": &c.Description}
		if err := decode(fields.Value(), into); err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
		columns = append(columns, c)
	}
	return columns, nil
}

// doc is the value's comment. A reference without one of its own has that of what it refers to.
func doc(v cue.Value) string {
	for _, value := range []cue.Value{v, cue.Dereference(v)} {
		if groups := value.Doc(); len(groups) > 0 {
			return strings.Join(strings.Fields(groups[0].Text()), " ")
		}
	}
	return ""
}
