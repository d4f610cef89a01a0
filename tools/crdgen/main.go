// Crdgen writes the CustomResourceDefinitions of the CUE package api/v1alpha1: plain ones, and the same as templates of the
// Helm chart. Each constraint of the CUE reaches the CRD, as OpenAPI or as CEL, or the generation fails: it must not drop one.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/load"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	module := flag.String("module", "cue", "`directory` of the CUE module")
	plain := flag.String("plain", "", "`directory` for plain CRDs")
	chart := flag.String("chart", "", "`directory` for CRDs as Helm templates")
	flag.Parse()
	if err := run(*module, *plain, *chart); err != nil {
		fmt.Fprintln(os.Stderr, "crdgen:", err)
		os.Exit(1)
	}
}

func run(module, plain, chart string) error {
	crds, err := generate(module)
	if err != nil {
		return err
	}
	for _, c := range crds {
		text, err := marshal(c)
		if err != nil {
			return err
		}
		if err := write(plain, c, header, text); err != nil {
			return err
		}
		if err := write(chart, c, header, template(text)); err != nil {
			return err
		}
	}
	return nil
}

// generate reads #Kinds from the module and returns one valid CRD for each kind.
func generate(module string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	instances := load.Instances([]string{"./api/v1alpha1"}, &load.Config{Dir: module})
	v := cuecontext.New().BuildInstance(instances[0])
	if err := v.Err(); err != nil {
		return nil, fmt.Errorf("load %s: %w", module, err)
	}
	kinds, err := v.LookupPath(cue.ParsePath("#Kinds")).Fields()
	if err != nil {
		return nil, fmt.Errorf("read #Kinds: %w", err)
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for kinds.Next() {
		c, err := definition(kinds.Selector().String(), kinds.Value())
		if err != nil {
			return nil, fmt.Errorf("kind %s: %w", kinds.Selector(), err)
		}
		crds = append(crds, c)
	}
	return crds, nil
}

const header = "# Generated from cue/api/v1alpha1 by tools/crdgen; DO NOT EDIT.\n"

// marshal leaves out what the API server fills in.
func marshal(c *apiextensionsv1.CustomResourceDefinition) ([]byte, error) {
	text, err := yaml.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", c.Name, err)
	}
	at := bytes.Index(text, []byte("\nstatus:\n"))
	if at < 0 {
		return nil, fmt.Errorf("write %s: no status to cut off", c.Name)
	}
	return text[:at+1], nil
}

// template is a CRD that Helm upgrades with the chart and leaves when the chart goes: deleting it would delete every cluster.
func template(text []byte) []byte {
	text = bytes.ReplaceAll(text, []byte("{{"), []byte(`{{ "{{" }}`))
	text = bytes.Replace(text, []byte("metadata:\n"), []byte("metadata:\n  annotations:\n    helm.sh/resource-policy: keep\n"), 1)
	return append(append([]byte("{{- if .Values.crds.install }}\n"), text...), "{{- end }}\n"...)
}

func write(dir string, c *apiextensionsv1.CustomResourceDefinition, parts ...any) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	var text bytes.Buffer
	for _, p := range parts {
		fmt.Fprintf(&text, "%s", p)
	}
	file := filepath.Join(dir, c.Spec.Names.Plural+".yaml")
	if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", c.Name, err)
	}
	return nil
}
