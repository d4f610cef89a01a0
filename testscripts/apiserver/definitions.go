package apiserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"valkey.gomomento.com/operator/cue/api/crds"
)

// establishTimeout is far above the second that a new kind takes to be served.
const establishTimeout = time.Minute

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// InstallDefinitions creates those of the operator's CRDs that the cluster lacks and waits until all are served. Those that
// are there stay as they are: they belong to a release of the chart. The returned function deletes what was created, so that
// the chart can be installed afterwards.
func InstallDefinitions(ctx context.Context, config *rest.Config) (remove func(context.Context) error, err error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	files, err := fs.Glob(crds.FS, "*.yaml")
	if err != nil {
		return nil, err
	}
	var created []string
	remove = func(ctx context.Context) error { return deleteAll(ctx, client.Resource(definitions), created) }
	for _, file := range files {
		name, err := install(ctx, client.Resource(definitions), file)
		switch {
		case err == nil:
			created = append(created, name)
		case !apierrors.IsAlreadyExists(err):
			return remove, fmt.Errorf("install %s: %w", file, err)
		}
	}
	return remove, nil
}

func deleteAll(ctx context.Context, client dynamic.ResourceInterface, names []string) error {
	var failures []error
	for _, name := range names {
		if err := client.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			failures = append(failures, fmt.Errorf("delete the CRD: %w", err))
			continue
		}
		failures = append(failures, wait.PollUntilContextTimeout(ctx, pollInterval, establishTimeout, true, func(ctx context.Context) (bool, error) {
			_, err := client.Get(ctx, name, metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		}))
	}
	return errors.Join(failures...)
}

// install creates the CRD of the file, waits until it is served and returns its name.
func install(ctx context.Context, client dynamic.ResourceInterface, file string) (string, error) {
	text, err := fs.ReadFile(crds.FS, file)
	if err != nil {
		return "", err
	}
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &definition.Object); err != nil {
		return "", err
	}
	if _, err := client.Create(ctx, definition, metav1.CreateOptions{}); err != nil {
		return "", err
	}
	name := definition.GetName()
	return name, wait.PollUntilContextTimeout(ctx, pollInterval, establishTimeout, true, func(ctx context.Context) (bool, error) {
		found, err := client.Get(ctx, name, metav1.GetOptions{})
		return err == nil && established(found), err
	})
}

func established(definition *unstructured.Unstructured) bool {
	conditions, _, err := unstructured.NestedSlice(definition.Object, "status", "conditions")
	if err != nil {
		return false
	}
	for _, c := range conditions {
		condition, ok := c.(map[string]any)
		if ok && condition["type"] == "Established" && condition["status"] == "True" {
			return true
		}
	}
	return false
}
