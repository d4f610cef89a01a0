package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/operator/controller"
	"valkey.gomomento.com/operator/operator/settings"
)

const (
	// name is the operator's: of its Lease, its namespace by default, its Events.
	name = "valkey-operator"
	// requests a second and their burst: a cluster of a hundred nodes is several hundred objects, created in one go, and
	// client-go's own 20 a second would make its bootstrap last half a minute. The API server guards itself by priority
	// and fairness.
	requestsPerSecond = 200
	requestsBurst     = 400
	// cacheCheck is how long /readyz waits to see the caches filled, well below the probe's timeout.
	cacheCheck = time.Second
	// requestLimit ends a request that the API server does not answer, so that no pass is held up for long by one. The
	// lists and watches of the caches take their time.
	requestLimit = 5 * time.Second
)

// newManager connects to Kubernetes.
func newManager(o options, chosen settings.Settings) (ctrl.Manager, error) {
	config, err := kubernetes(o.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("find Kubernetes: %w", err)
	}
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(config, manager.Options{
		Scheme:                        scheme,
		Cache:                         controller.CacheOptions(chosen.Namespaces),
		NewClient:                     newClient,
		Metrics:                       metricsserver.Options{BindAddress: o.metrics},
		HealthProbeBindAddress:        o.probes,
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              name,
		LeaderElectionNamespace:       namespace(),
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return nil, fmt.Errorf("connect to Kubernetes: %w", err)
	}
	if err := installed(mgr.GetRESTMapper()); err != nil {
		return nil, err
	}
	return mgr, addChecks(mgr)
}

// newClient makes a client whose requests end at requestLimit. It implements client.NewClientFunc.
func newClient(config *rest.Config, options client.Options) (client.Client, error) {
	limited := *options.HTTPClient
	limited.Timeout = requestLimit
	options.HTTPClient = &limited
	return client.New(config, options)
}

// kubernetes is where the API server is and how to speak to it.
func kubernetes(kubeconfig string) (*rest.Config, error) {
	config, err := clientConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = requestsPerSecond, requestsBurst
	config.UserAgent = name + "/" + version
	return config, nil
}

func clientConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig != "" {
		return clientcmd.BuildConfigFromFlags("", kubeconfig)
	}
	return ctrl.GetConfig()
}

// namespace is where the Lease is kept.
func namespace() string {
	if own := os.Getenv("POD_NAMESPACE"); own != "" {
		return own
	}
	return name
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register kinds: %w", err)
		}
	}
	return scheme, nil
}

// installed checks that the API server knows our kinds: without a CRD nothing would work, and the error of a watch does
// not say what to do.
func installed(mapper meta.RESTMapper) error {
	for _, kind := range []string{"ValkeyCluster", "ValkeyConfig", "ValkeyImage", "ValkeyNode", "ValkeyRole"} {
		gvk := v1alpha1.GroupVersion.WithKind(kind)
		_, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if meta.IsNoMatchError(err) {
			return fmt.Errorf("the CRD of %s (%s) is not installed; the Helm chart brings it (crds.install)", kind, v1alpha1.GroupVersion)
		}
		if err != nil {
			return fmt.Errorf("look for the CRD of %s: %w", kind, err)
		}
	}
	return nil
}

// addChecks answers /healthz while the process lives and /readyz once its caches are filled, on the leader and on those
// that stand by.
func addChecks(mgr ctrl.Manager) error {
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("add health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("caches", filled(mgr.GetCache())); err != nil {
		return fmt.Errorf("add readiness check: %w", err)
	}
	return nil
}

func filled(c cache.Cache) healthz.Checker {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), cacheCheck)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			return fmt.Errorf("caches are not filled yet")
		}
		return nil
	}
}
