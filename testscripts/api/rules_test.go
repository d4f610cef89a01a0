package api

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"valkey.gomomento.com/operator/testscripts/apiserver"
)

// server is the API server of all tests of the package.
var server *apiserver.Server

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(withServer(m.Run))
}

// withServer runs the tests with a server that has the CRDs, and leaves nothing behind.
func withServer(run func() int) (code int) {
	dir, err := os.MkdirTemp("", "apiserver")
	if err != nil {
		return complain(err)
	}
	defer func() { code = max(code, complain(os.RemoveAll(dir))) }()
	server, err = apiserver.Start(dir)
	if err != nil {
		return complain(err)
	}
	defer func() { code = max(code, complain(server.Stop())) }()
	remove, err := apiserver.InstallDefinitions(context.Background(), server.Config)
	if remove != nil {
		defer func() { code = max(code, complain(remove(context.Background()))) }()
	}
	if err != nil {
		return complain(err)
	}
	return run()
}

// complain is the exit code for the error, said aloud.
func complain(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func TestRules(t *testing.T) {
	client, err := dynamic.NewForConfig(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	r := &rules{client: client, manifests: newManifests(t), namespace: namespace(t, client)}
	testscript.Run(t, testscript.Params{
		Dir:                 "scripts",
		ContinueOnError:     true,
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("hash", strings.Repeat("0123456789abcdef", 4))
			e.Values[lastRefusal] = &refusal{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"accept":        r.accept,
			"refuse":        r.refuse,
			"store":         r.store,
			"accept-update": r.acceptUpdate,
			"refuse-update": r.refuseUpdate,
			"message":       message,
		},
	})
}

// namespace makes one for the test and has it deleted.
func namespace(t *testing.T, client dynamic.Interface) string {
	t.Helper()
	namespaces := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	made, err := namespaces.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"generateName": "api-rules-"},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := namespaces.Delete(context.Background(), made.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	return made.GetName()
}

// rules are the verbs of a script.
type rules struct {
	client    dynamic.Interface
	manifests *manifests
	namespace string
}

// lastRefusal is the key of a script's refusal.
const lastRefusal = "last refusal"

// refusal is what a script's last refused line was told.
type refusal struct{ causes []string }

func (r *rules) accept(ts *testscript.TestScript, _ bool, edits []string) {
	object := edited(ts, edits)
	ts.Check(r.create(object, metav1.DryRunAll))
	if err := r.manifests.vet(object); err != nil {
		ts.Fatalf("the API server accepts what cue vet refuses: %v", err)
	}
}

func (r *rules) refuse(ts *testscript.TestScript, _ bool, edits []string) {
	object := edited(ts, edits)
	remember(ts, r.create(object, metav1.DryRunAll))
	if r.manifests.vet(object) == nil {
		ts.Fatalf("cue vet accepts what the API server refuses")
	}
}

func (r *rules) store(ts *testscript.TestScript, _ bool, edits []string) {
	ts.Check(r.create(edited(ts, edits)))
}

func (r *rules) acceptUpdate(ts *testscript.TestScript, _ bool, edits []string) {
	ts.Check(r.update(edited(ts, nil), edits))
}

func (r *rules) refuseUpdate(ts *testscript.TestScript, _ bool, edits []string) {
	remember(ts, r.update(edited(ts, nil), edits))
}

// message compares the whole of what was said.
func message(ts *testscript.TestScript, _ bool, want []string) {
	last := ts.Value(lastRefusal).(*refusal)
	if !slices.Equal(last.causes, want) {
		ts.Fatalf("the message is:\n%s", strings.Join(last.causes, "\n"))
	}
}

// remember keeps the causes of a refusal; anything but a refusal of the object is a failure.
func remember(ts *testscript.TestScript, err error) {
	last := ts.Value(lastRefusal).(*refusal)
	last.causes = nil
	var status *apierrors.StatusError
	switch {
	case err == nil:
		ts.Fatalf("the API server accepts it")
	case !errors.As(err, &status) || !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
		ts.Fatalf("the API server failed: %v", err)
	case apierrors.IsBadRequest(err):
		last.causes = []string{status.ErrStatus.Message}
		ts.Logf("%s", status.ErrStatus.Message)
		return
	}
	for _, cause := range status.ErrStatus.Details.Causes {
		if strings.HasPrefix(cause.Message, "Invalid value: null: some validation rules were not checked") { // It only says that CEL is not asked about an object of the wrong shape.
			continue
		}
		last.causes = append(last.causes, cause.Field+": "+cause.Message)
		ts.Logf("%s: %s", cause.Field, cause.Message)
	}
}

// edited is the script's object with the edits.
func edited(ts *testscript.TestScript, edits []string) *unstructured.Unstructured {
	object := map[string]any{}
	ts.Check(yaml.Unmarshal([]byte(ts.ReadFile("object.yaml")), &object))
	for _, e := range edits {
		ts.Check(edit(object, os.Expand(e, ts.Getenv)))
	}
	return &unstructured.Unstructured{Object: object}
}

func (r *rules) create(object *unstructured.Unstructured, dryRun ...string) error {
	options := metav1.CreateOptions{DryRun: dryRun, FieldValidation: metav1.FieldValidationStrict}
	_, err := r.resource(object).Create(context.Background(), object, options)
	return err
}

func (r *rules) update(object *unstructured.Unstructured, edits []string) error {
	stored, err := r.resource(object).Get(context.Background(), object.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, e := range edits {
		if err := edit(stored.Object, e); err != nil {
			return err
		}
	}
	options := metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}
	_, err = r.resource(object).Update(context.Background(), stored, options)
	return err
}

func (r *rules) resource(object *unstructured.Unstructured) dynamic.ResourceInterface {
	plural := strings.ToLower(object.GetKind()) + "s"
	all := r.client.Resource(schema.GroupVersionResource{Group: "valkey.gomomento.com", Version: "v1alpha1", Resource: plural})
	if slices.Contains([]string{"ValkeyCluster", "ValkeyNode"}, object.GetKind()) {
		return all.Namespace(r.namespace)
	}
	return all
}
