package apiserver

import (
	"context"
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

// InstallDefinitions creates the operator's CRDs, or updates those that are there, and waits until they are served.
func InstallDefinitions(ctx context.Context, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	files, err := fs.Glob(crds.FS, "*.yaml")
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := install(ctx, client.Resource(definitions), file); err != nil {
			return fmt.Errorf("install %s: %w", file, err)
		}
	}
	return nil
}

func install(ctx context.Context, client dynamic.ResourceInterface, file string) error {
	text, err := fs.ReadFile(crds.FS, file)
	if err != nil {
		return err
	}
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &definition.Object); err != nil {
		return err
	}
	options := metav1.ApplyOptions{FieldManager: "testscripts", Force: true}
	if _, err := client.Apply(ctx, definition.GetName(), definition, options); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, pollInterval, establishTimeout, true, func(ctx context.Context) (bool, error) {
		found, err := client.Get(ctx, definition.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
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
