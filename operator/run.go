package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"valkey.gomomento.com/operator/operator/settings"
)

// options are what the command line of run says.
type options struct {
	kubeconfig  string
	leaderElect bool
	metrics     string
	probes      string
	policies    string
}

func runCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the operator",
		Long:  "Run the operator. Its settings come from the environment; see the chart's values.yaml.",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file; without it KUBECONFIG, then the Pod's service account")
	f.BoolVar(&o.leaderElect, "leader-elect", true, "act only while holding the Lease valkey-operator")
	f.StringVar(&o.metrics, "metrics-bind-address", ":8080", "address of /metrics; 0 for none")
	f.StringVar(&o.probes, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0 for none")
	f.StringVar(&o.policies, "policies", "/etc/valkey-operator/policies", "directory of platform policies, *.cue; none if it does not exist")
	return cmd
}

// run runs the operator until ctx ends.
func run(ctx context.Context, o options) error {
	chosen, err := settings.FromEnvironment(os.LookupEnv)
	if err != nil {
		return err
	}
	logger, err := newLogger(chosen.LogLevel)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	useLogger(logger)
	mgr, err := newManager(o, chosen)
	if err != nil {
		return err
	}
	loop, err := newLoop(mgr, o.policies, chosen)
	if err != nil {
		return err
	}
	if err := loop.AddTo(ctx, mgr); err != nil {
		return err
	}
	ctrl.Log.Info("starting", "version", version, "settings", chosen)
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	return nil
}
