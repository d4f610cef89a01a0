package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/cue"
	"valkey.gomomento.com/operator/engine/derivation"
	"valkey.gomomento.com/operator/engine/ruleset"
	"valkey.gomomento.com/operator/operator/controller"
	"valkey.gomomento.com/operator/operator/observe"
	"valkey.gomomento.com/operator/operator/report"
	"valkey.gomomento.com/operator/operator/settings"
	"valkey.gomomento.com/operator/operator/valkey"
)

// newLoop builds the loop on what the manager reads and writes with.
func newLoop(mgr ctrl.Manager, policies string, chosen settings.Settings) (*controller.Loop, error) {
	rules, err := ruleset.Load(cue.FS, actions.New)
	if err != nil {
		return nil, err
	}
	deriver, err := newDeriver(policies)
	if err != nil {
		return nil, err
	}
	secrets, err := newSecrets(mgr)
	if err != nil {
		return nil, err
	}
	live, err := newClient(mgr.GetConfig(), client.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
	})
	if err != nil {
		return nil, fmt.Errorf("make a client that reads past the cache: %w", err)
	}
	pool := &valkey.Pool{}
	told := report.NewMetrics(metrics.Registry)
	loop := controller.New(controller.Parts{
		Kube: mgr.GetClient(),
		Live: live,
		Observer: &observe.Observer{
			Kube:          mgr.GetCache(),
			Secrets:       secrets,
			Pool:          pool,
			Directives:    deriver.Wanted,
			ClusterDomain: chosen.ClusterDomain,
			Now:           time.Now,
		},
		Deriver:  deriver,
		Defaults: defaults(chosen),
		Rules:    rules,
		Reporter: report.New(mgr.GetClient(), mgr.GetEventRecorder(name), told),
		Metrics:  told,

		MaxConcurrentRollouts: chosen.MaxConcurrentRollouts,
	})
	pool.OnBreak, pool.OnConnect, secrets.OnChange = loop.WakeInHaste, loop.Wake, loop.Wake
	return loop, nil
}

// newSecrets reads and watches the TLS Secrets that clusters name, beside the manager's cache.
func newSecrets(mgr ctrl.Manager) (*observe.WatchedSecrets, error) {
	api, err := client.NewWithWatch(mgr.GetConfig(), client.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
	})
	if err != nil {
		return nil, fmt.Errorf("make a client for TLS Secrets: %w", err)
	}
	return &observe.WatchedSecrets{API: api}, nil
}

// newDeriver compiles the derivation with the platform's policies. A directory that does not exist holds none.
func newDeriver(policies string) (*derivation.Deriver, error) {
	files := os.DirFS(policies)
	if _, err := os.Stat(policies); errors.Is(err, fs.ErrNotExist) {
		files = nil
	}
	deriver, err := derivation.Load(cue.FS, files)
	if err != nil {
		return nil, fmt.Errorf("load the derivation and the policies of %s: %w", policies, err)
	}
	return deriver, nil
}

func defaults(chosen settings.Settings) derivation.Defaults {
	return derivation.Defaults{
		NodeTimeout:       int(chosen.NodeTimeout.Milliseconds()),
		DefaultZoneSpread: string(chosen.ZoneSpread),
		ClusterDomain:     chosen.ClusterDomain,
		RequireACL:        chosen.RequireACL,
	}
}
