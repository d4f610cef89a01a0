package chart

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	yamldocs "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// strict refuses what an API server with strict field validation refuses: unknown and repeated fields.
var strict = strictDecoder()

func strictDecoder() runtime.Decoder {
	if err := apiextensionsv1.AddToScheme(scheme.Scheme); err != nil {
		panic(err)
	}
	return serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
}

// manifest is one rendered object: decoded into its Go type, or as written for a kind whose Go type
// this repository does not have.
type manifest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	object            runtime.Object
	written           []byte
}

// render returns every object of the rendered chart and fails on one that is not valid.
func render(t *testing.T, args ...string) []manifest {
	t.Helper()
	manifests, err := decodeAll(template(t, args...))
	if err != nil {
		t.Fatal(err)
	}
	return manifests
}

func decodeAll(rendered string) ([]manifest, error) {
	var all []manifest
	docs := yamldocs.NewYAMLReader(bufio.NewReader(strings.NewReader(rendered)))
	for {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("split the rendered chart: %w", err)
		}
		one, err := decode(doc)
		if err != nil {
			return nil, fmt.Errorf("decode: %w\n%s", err, doc)
		}
		if one.Kind != "" {
			all = append(all, one)
		}
	}
}

func decode(doc []byte) (manifest, error) {
	one := manifest{written: bytes.Clone(doc)}
	if err := yaml.Unmarshal(doc, &one); err != nil {
		return one, err
	}
	var err error
	switch {
	case one.Kind == "": // a document of comments only
	case one.APIVersion == monitoringVersion:
		err = decodeMonitoring(one)
	default:
		one.object, _, err = strict.Decode(doc, nil, nil)
	}
	return one, err
}

// find returns the only object of type T with this name.
func find[T runtime.Object](t *testing.T, manifests []manifest, name string) T {
	t.Helper()
	var found []T
	for _, m := range manifests {
		if object, ok := m.object.(T); ok && m.Name == name {
			found = append(found, object)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d objects of type %T are named %s, want one", len(found), *new(T), name)
	}
	return found[0]
}

func kinds(manifests []manifest) map[string]int {
	count := map[string]int{}
	for _, m := range manifests {
		count[m.Kind]++
	}
	return count
}

var clusterScoped = map[string]bool{"ClusterRole": true, "ClusterRoleBinding": true, "CustomResourceDefinition": true}

func TestEveryManifestIsValidOnceAndLabelled(t *testing.T) {
	for name, args := range valuesFiles(t) {
		t.Run(name, func(t *testing.T) {
			seen := map[string]bool{}
			for _, m := range render(t, args...) {
				id := strings.Join([]string{m.Kind, m.Namespace, m.Name}, "/")
				if seen[id] {
					t.Errorf("%s is rendered twice", id)
				}
				seen[id] = true
				checkPlaceAndLabels(t, id, m)
			}
		})
	}
}

func checkPlaceAndLabels(t *testing.T, id string, m manifest) {
	t.Helper()
	if clusterScoped[m.Kind] != (m.Namespace == "") {
		t.Errorf("%s: a namespace where none belongs, or none where one does", id)
	}
	if m.Kind == "CustomResourceDefinition" {
		return // generated from cue/api, and carries what the generator gives it
	}
	for label, want := range map[string]string{
		"app.kubernetes.io/name":       "valkey-operator",
		"app.kubernetes.io/instance":   release,
		"app.kubernetes.io/managed-by": "Helm",
		"helm.sh/chart":                "valkey-operator-0.1.0",
	} {
		if m.Labels[label] != want {
			t.Errorf("%s: label %s is %q, want %q", id, label, m.Labels[label], want)
		}
	}
}

func TestSwitchesAddAndRemoveWholeObjects(t *testing.T) {
	const crds = 5
	base := map[string]int{
		"ConfigMap": 2, "Deployment": 1, "Service": 1, "ServiceAccount": 1, "PodDisruptionBudget": 1,
		"ClusterRole": 1, "ClusterRoleBinding": 1, "Role": 1, "RoleBinding": 1, "CustomResourceDefinition": crds,
	}
	for set, change := range map[string]map[string]int{
		"replicas=2":                             {},
		"crds.install=false":                     {"CustomResourceDefinition": -crds},
		"podDisruptionBudget.enabled=false":      {"PodDisruptionBudget": -1},
		"metrics.serviceMonitor.enabled=true":    {"ServiceMonitor": 1},
		"metrics.alerts.enabled=true":            {"PrometheusRule": 1},
		"metrics.dashboard.enabled=true":         {"ConfigMap": 1},
		"networkPolicy.enabled=true":             {"NetworkPolicy": 1},
		"tenantRoles.create=true":                {"ClusterRole": 4},
		"tenantRoles.menuReaders={a}":            {},
		"config.watchNamespaces={one}":           {"Role": 2, "RoleBinding": 2},
		"config.watchNamespaces={default,three}": {"Role": 3, "RoleBinding": 3},
	} {
		got := kinds(render(t, "--set", set))
		for kind, n := range base {
			change[kind] += n
		}
		for kind, want := range change {
			if got[kind] != want {
				t.Errorf("with %s there are %d %s, want %d", set, got[kind], kind, want)
			}
		}
	}
}

func TestCustomResourceDefinitionsOutliveTheRelease(t *testing.T) {
	want := map[string]bool{"ValkeyImage": true, "ValkeyConfig": true, "ValkeyRole": true, "ValkeyCluster": true, "ValkeyNode": true}
	for _, m := range render(t) {
		crd, ok := m.object.(*apiextensionsv1.CustomResourceDefinition)
		if !ok {
			continue
		}
		if crd.Annotations["helm.sh/resource-policy"] != "keep" {
			t.Errorf("%s would go with `helm uninstall`, and every %s with it", crd.Name, crd.Spec.Names.Kind)
		}
		delete(want, crd.Spec.Names.Kind)
	}
	if len(want) != 0 {
		t.Errorf("no CRD for %v", want)
	}
}
