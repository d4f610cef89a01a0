//go:build cluster

package chart

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// settles bounds each wait for the API server's own controllers, namespace deletion the slowest of them.
	settles = 2 * time.Minute
	// looksEvery is how often a wait looks again.
	looksEvery = 200 * time.Millisecond
	team       = "chart-test-team"
	other      = "chart-test-other"
)

// TestOnCluster takes the chart through its life on the cluster of $KUBECONFIG. With $OPERATOR_IMAGE, a
// reference that the nodes can start, Helm waits until the pods are ready at each step; without it the API
// server's word on every object is what is tested.
func TestOnCluster(t *testing.T) {
	k := connect(t)
	k.claim(t)

	t.Log("a server-side dry run: the API server takes every object")
	k.install(t, "--dry-run=server")
	t.Log("install, into a namespace that enforces the restricted standard")
	k.install(t)
	k.checkObjects(t)
	k.checkPods(t)
	k.checkSettings(t, "bestEffort", "")
	k.checkRights(t, map[string]bool{team: true, other: true, "": true})
	k.createCluster(t)

	t.Log("upgrade with every switch a plain cluster has, and two namespaces to watch")
	before := k.podTemplate(t)
	k.helm(t, "upgrade", "--values", "testdata/upgrade.yaml")
	k.checkObjects(t, "--values", "testdata/upgrade.yaml")
	k.checkSettings(t, "required", team)
	k.checkRights(t, map[string]bool{team: true, other: false, "": false})
	k.checkRestarted(t, before)

	t.Log("a setting that is wrong changes nothing")
	k.checkRefused(t)

	t.Log("uninstall: the operator goes, the CRDs and the cluster stay")
	k.uninstall(t)
	k.checkKept(t)

	t.Log("install again, over the CRDs that stayed")
	k.install(t)
	k.checkObjects(t)
	k.checkKept(t)
}

// cluster is the Kubernetes under test.
type cluster struct {
	client client.Client
	// image holds the Helm arguments that name the operator's image and wait for it; none without an image.
	image []string
}

func connect(t *testing.T) *cluster {
	t.Helper()
	kubeconfig := os.Getenv("KUBECONFIG")
	if kubeconfig == "" {
		t.Fatal("KUBECONFIG names no cluster; start one with localkube")
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return &cluster{client: c, image: imageArgs(os.Getenv("OPERATOR_IMAGE"))}
}

// imageArgs splits a reference into the chart's values: registry and repository go together as a path.
func imageArgs(reference string) []string {
	if reference == "" {
		return nil
	}
	path, tag := reference, "latest"
	if i := strings.LastIndex(reference, ":"); i > strings.LastIndex(reference, "/") {
		path, tag = reference[:i], reference[i+1:]
	}
	registry, repository := "", path
	if i := strings.LastIndex(path, "/"); i >= 0 {
		registry, repository = path[:i], path[i+1:]
	}
	return []string{"--set", "image.registry=" + registry, "--set", "image.repository=" + repository, "--set-string", "image.tag=" + tag,
		"--wait", "--timeout", "3m"}
}

// claim makes the test's namespaces and takes care that all it makes goes again. It refuses a cluster
// where the chart is installed: its names are fixed, and the test would take it over.
func (k *cluster) claim(t *testing.T) {
	t.Helper()
	crdsBefore := k.crds(t)
	if k.exists(t, &appsv1.Deployment{}, namespace, "valkey-operator") {
		t.Fatal("the chart is already installed on this cluster; uninstall it first")
	}
	for _, name := range []string{namespace, team, other} {
		ns := &corev1.Namespace{}
		ns.Name = name
		if name == namespace {
			ns.Labels = map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}
		}
		err := k.client.Create(t.Context(), ns)
		if err == nil {
			t.Cleanup(func() { k.remove(t, ns) })
		} else if !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { k.leave(t, crdsBefore) })
}

// leave removes what the test made but for its namespaces, which go after it. The ValkeyCluster goes first, while
// the operator is there to release it.
func (k *cluster) leave(t *testing.T, crdsBefore []string) {
	if len(k.crds(t)) > 0 {
		k.remove(t, valkeyCluster())
	}
	if _, err := helm(t, "uninstall", release, "--namespace", namespace, "--ignore-not-found", "--wait"); err != nil {
		t.Error(err)
	}
	for _, name := range k.crds(t) {
		if !slices.Contains(crdsBefore, name) {
			crd := &apiextensionsv1.CustomResourceDefinition{}
			crd.Name = name
			k.remove(t, crd)
		}
	}
}

// remove deletes an object and waits until it is gone. It serves clean-up, where the test's own context has ended.
func (k *cluster) remove(t *testing.T, object client.Object) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	if err := client.IgnoreNotFound(k.client.Delete(ctx, object)); err != nil {
		t.Error(err)
		return
	}
	eventually(t, fmt.Sprintf("%T %s goes", object, object.GetName()), func() error {
		err := k.client.Get(ctx, client.ObjectKeyFromObject(object), object)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is still there"), err)
	})
}

// eventually tries until there is no error.
func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	err := try()
	for start := time.Now(); err != nil && time.Since(start) < settles; err = try() {
		time.Sleep(looksEvery)
	}
	if err != nil {
		t.Errorf("not after %v: %s: %v", settles, what, err)
	}
}

// helm runs install or upgrade of the chart under test.
func (k *cluster) helm(t *testing.T, verb string, args ...string) {
	t.Helper()
	if _, err := helm(t, slices.Concat([]string{verb, release, chartDir, "--namespace", namespace}, k.image, args)...); err != nil {
		t.Fatal(err)
	}
}

func (k *cluster) install(t *testing.T, args ...string) {
	t.Helper()
	k.helm(t, "install", args...)
}

func (k *cluster) uninstall(t *testing.T) {
	t.Helper()
	if _, err := helm(t, "uninstall", release, "--namespace", namespace, "--wait"); err != nil {
		t.Fatal(err)
	}
	if k.exists(t, &appsv1.Deployment{}, namespace, "valkey-operator") {
		t.Error("the Deployment is still there")
	}
}

func (k *cluster) exists(t *testing.T, into client.Object, in, name string) bool {
	t.Helper()
	err := k.client.Get(t.Context(), client.ObjectKey{Namespace: in, Name: name}, into)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return err == nil
}

// crds lists our CRDs on the cluster.
func (k *cluster) crds(t *testing.T) []string {
	t.Helper()
	var list apiextensionsv1.CustomResourceDefinitionList
	if err := k.client.List(context.Background(), &list); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, crd := range list.Items {
		if crd.Spec.Group == strings.TrimSuffix(ours, "/") {
			names[crd.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
