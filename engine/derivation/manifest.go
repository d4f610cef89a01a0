package derivation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
	cuejson "cuelang.org/go/encoding/json"
	cueyaml "cuelang.org/go/encoding/yaml"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// A Manifest is one Kubernetes object as a file has it.
type Manifest struct {
	APIVersion, Kind, Namespace, Name string

	value cue.Value
	// start is where its document starts.
	start Place
	slips slips
}

// Manifests reads all documents of a YAML or JSON file; the items of a List are manifests, too. Documents that are no
// object are passed over. With a Fault, what could be read before it is returned as well.
func (s *Schema) Manifests(file string, content []byte) ([]Manifest, *Fault) {
	next := documents(file, content)
	var all []Manifest
	for {
		expr, err := next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, syntaxFault(file, err)
		}
		slips := mend(expr, content)
		value := s.context.BuildExpr(expr)
		if err := value.Err(); err != nil {
			return all, syntaxFault(file, err)
		}
		if value.IncompleteKind() == cue.StructKind {
			all = append(all, manifests(value, slips)...)
		}
	}
}

// documents yields the documents of a file until io.EOF.
func documents(file string, content []byte) func() (ast.Expr, error) {
	if filepath.Ext(file) == ".json" || json.Valid(content) {
		return cuejson.NewDecoder(nil, file, bytes.NewReader(content)).Extract
	}
	return cueyaml.NewDecoder(file, bytes.NewReader(content)).Extract
}

// manifests are the one object of a document, or those of its List.
func manifests(value cue.Value, slips slips) []Manifest {
	m := Manifest{
		APIVersion: text(value, "apiVersion"), Kind: text(value, "kind"),
		Namespace: text(value, "metadata", "namespace"), Name: text(value, "metadata", "name"),
		value: value, start: placeOf(value.Pos()), slips: slips,
	}
	if m.APIVersion != "v1" || m.Kind != "List" {
		return []Manifest{m}
	}
	var all []Manifest
	items, err := m.find("items").List()
	for i := 0; err == nil && items.Next(); i++ {
		all = append(all, manifests(items.Value(), slips.under(fmt.Sprintf("items.%d", i)))...)
	}
	return all
}

func text(value cue.Value, path ...string) string {
	found, err := value.LookupPath(fields(path)).String()
	if err != nil {
		return "" // absent, or no string, which the schema says
	}
	return found
}

// Ours says whether the manifest is of the operator's API group, or would be with an apiVersion.
func (m Manifest) Ours() bool {
	group, _, _ := strings.Cut(m.APIVersion, "/")
	return group == v1alpha1.GroupVersion.Group || m.APIVersion == "" && strings.HasPrefix(m.Kind, "Valkey")
}

// Decode fills an object of the API with the manifest. It refuses fields that the object does not have.
func (m Manifest) Decode(into any) error {
	content, err := m.value.MarshalJSON()
	if err != nil {
		return fmt.Errorf("decode %s %s: %w", m.Kind, m.Name, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("decode %s %s: %w", m.Kind, m.Name, err)
	}
	return nil
}

// At is where the field at path stands, or the nearest field around it.
func (m Manifest) At(path ...string) Place {
	for n := len(path); n > 0; n-- {
		if found := m.find(path[:n]...); found.Exists() {
			return placeOf(valuePos(found))
		}
	}
	return m.start
}

// valuePos is where a value stands, not the name of its field.
func valuePos(v cue.Value) token.Pos {
	if field, ok := v.Source().(*ast.Field); ok {
		return field.Value.Pos()
	}
	return v.Pos()
}

// find is the value at path. Lists are followed by their indices in digits.
func (m Manifest) find(path ...string) cue.Value {
	return m.value.LookupPath(fields(path))
}
