package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine/derivation"
)

// manifests are the objects of some files, as far as a derivation needs them.
type manifests struct {
	clusters []*v1alpha1.ValkeyCluster
	configs  map[string]v1alpha1.ValkeyConfigSpec
	images   map[string]v1alpha1.ValkeyImageSpec
	roles    map[string]v1alpha1.ValkeyRoleSpec
}

// readManifests reads YAML and JSON files of any number of documents; "-" is standard input. Objects of other API groups
// are passed over, so that it can be given all of a directory.
func readManifests(files []string, stdin io.Reader) (*manifests, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	m := &manifests{
		configs: map[string]v1alpha1.ValkeyConfigSpec{},
		images:  map[string]v1alpha1.ValkeyImageSpec{},
		roles:   map[string]v1alpha1.ValkeyRoleSpec{},
	}
	for _, file := range files {
		if err := m.readFile(file, stdin, decoder); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return m, nil
}

func (m *manifests) readFile(file string, stdin io.Reader, decoder runtime.Decoder) error {
	from := stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		from = f
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(from))
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = m.add(document, decoder)
		}
		if err != nil {
			return fmt.Errorf("document %d: %w", n, err)
		}
	}
}

func (m *manifests) add(document []byte, decoder runtime.Decoder) error {
	var what runtime.TypeMeta
	if err := yaml.Unmarshal(document, &what); err != nil {
		return err
	}
	if schema.FromAPIVersionAndKind(what.APIVersion, what.Kind).Group != v1alpha1.GroupVersion.Group {
		return nil
	}
	obj, _, err := decoder.Decode(document, nil, nil)
	if err != nil {
		return err
	}
	switch o := obj.(type) {
	case *v1alpha1.ValkeyCluster:
		m.clusters = append(m.clusters, o)
	case *v1alpha1.ValkeyConfig:
		m.configs[o.Name] = o.Spec
	case *v1alpha1.ValkeyImage:
		m.images[o.Name] = o.Spec
	case *v1alpha1.ValkeyRole:
		m.roles[o.Name] = o.Spec
	}
	return nil
}

// input is what the cluster derives from.
func (m *manifests) input(cluster *v1alpha1.ValkeyCluster, defaults derivation.Defaults) derivation.Input {
	return derivation.Input{
		Name: cluster.Name, Namespace: cluster.Namespace, Cluster: cluster.Spec,
		Chain: derivation.Walk(cluster.Spec.ConfigRef, func(name string) (*v1alpha1.ValkeyConfigSpec, bool) {
			config, found := m.configs[name]
			return &config, found
		}),
		Images: m.images, Roles: m.roles, Operator: defaults,
	}
}
