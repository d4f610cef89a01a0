// Command localkube runs a real Kubernetes of three nodes on one Linux machine, without Docker: see README.md. It must
// leave nothing behind but its cache when the cluster is down.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"valkey.gomomento.com/operator/testscripts/localkube/layout"
	"valkey.gomomento.com/operator/testscripts/localkube/machine"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := root().ExecuteContext(ctx); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) { // of a command that was run inside: it has said what was wrong
			os.Exit(exit.ExitCode())
		}
		fmt.Fprintln(os.Stderr, "localkube:", err)
		os.Exit(1)
	}
}

func root() *cobra.Command {
	command := &cobra.Command{
		Use:           "localkube",
		Short:         "A real Kubernetes on one machine, for tests and for the demo",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	command.AddCommand(
		buildCommand(), imageCommand(), versionsCommand(), envCommand(),
		upCommand(), downCommand(), loadImageCommand(),
		crashCommand(), bootCommand(), partitionCommand(), healCommand(),
		addressesCommand(), fullDiskCommand(),
		execNodeCommand(), execPodCommand(), machineCommand())
	return command
}

// machineCommand is not for people: Cluster.Up calls it.
func machineCommand() *cobra.Command {
	return &cobra.Command{
		Use:    machine.Command,
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(*cobra.Command, []string) error { return machine.Run() },
	}
}

// foreign is the user's own cluster, when KUBECONFIG names one: then that is used and none is started. A kubeconfig below
// the cache is of a cluster of ours, left in the environment by `env`.
func foreign(l layout.Layout) (string, bool) {
	kubeconfig := os.Getenv("KUBECONFIG")
	ours := kubeconfig == l.Kubeconfig() || strings.HasPrefix(kubeconfig, l.Cache+string(filepath.Separator))
	return kubeconfig, kubeconfig != "" && !ours
}
