package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"valkey.gomomento.com/operator/testscripts/localkube/cluster"
	"valkey.gomomento.com/operator/testscripts/localkube/layout"
	"valkey.gomomento.com/operator/testscripts/localkube/parts"
)

// onCluster makes a command's body from what it does to the cluster of the environment's layout.
func onCluster(do func(*cobra.Command, cluster.Cluster, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		l, err := layout.FromEnvironment()
		if err != nil {
			return err
		}
		if os.Geteuid() != 0 {
			return errors.New("a cluster needs root: for namespaces, mounts, cgroups and network links")
		}
		return do(c, cluster.Cluster{Layout: l, Progress: c.ErrOrStderr()}, args)
	}
}

// unlessForeign leaves the user's own cluster as it is and says so.
func unlessForeign(do func(*cobra.Command, cluster.Cluster, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		l, err := layout.FromEnvironment()
		if err != nil {
			return err
		}
		if kubeconfig, ok := foreign(l); ok {
			fmt.Fprintf(c.ErrOrStderr(), "KUBECONFIG is set: `%s` leaves the cluster of %s as it is\n", c.Name(), kubeconfig)
			return nil
		}
		return onCluster(do)(c, args)
	}
}

func upCommand() *cobra.Command {
	var nodes int
	command := &cobra.Command{
		Use:   "up",
		Short: "Start the cluster and print the path of its kubeconfig",
		Args:  cobra.NoArgs,
	}
	command.Flags().IntVar(&nodes, "nodes", 3, "number of nodes; 0 is an API server with its controllers only")
	command.RunE = unlessForeign(func(c *cobra.Command, k cluster.Cluster, _ []string) error {
		if err := k.Up(c.Context(), nodes); err != nil {
			return err
		}
		fmt.Fprintln(c.OutOrStdout(), k.Layout.Kubeconfig())
		return nil
	})
	return command
}

func downCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "End the cluster, also a broken one, and remove all of it but the cache",
		Args:  cobra.NoArgs,
		RunE:  onCluster(func(_ *cobra.Command, k cluster.Cluster, _ []string) error { return k.Down() }),
	}
}

func loadImageCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "load-image ARCHIVE...",
		Short: "Import image archives into every node",
		Args:  cobra.MinimumNArgs(1),
		RunE: unlessForeign(func(_ *cobra.Command, k cluster.Cluster, args []string) error {
			return k.LoadImages(args)
		}),
	}
}

func onNode(use, short string, do func(*cobra.Command, cluster.Cluster, string) error) *cobra.Command {
	return &cobra.Command{
		Use:   use + " NODE",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: onCluster(func(c *cobra.Command, k cluster.Cluster, args []string) error {
			return do(c, k, args[0])
		}),
	}
}

// onPod is a command whose first argument is a pod; the others are handed on.
func onPod(use, others, short string, args cobra.PositionalArgs, do func(c *cobra.Command, k cluster.Cluster, namespace, pod string, others []string) error) *cobra.Command {
	return &cobra.Command{
		Use:   use + " NAMESPACE/POD " + others,
		Short: short,
		Args:  args,
		RunE: onCluster(func(c *cobra.Command, k cluster.Cluster, args []string) error {
			namespace, pod, ok := strings.Cut(args[0], "/")
			if !ok {
				return fmt.Errorf("a pod is named NAMESPACE/POD, not %q", args[0])
			}
			return do(c, k, namespace, pod, args[1:])
		}),
	}
}

func crashCommand() *cobra.Command {
	return onNode("crash", "Cut a node's power", func(_ *cobra.Command, k cluster.Cluster, node string) error {
		return k.Crash(node)
	})
}

func bootCommand() *cobra.Command {
	return onNode("boot", "Boot a crashed node from its disk", func(c *cobra.Command, k cluster.Cluster, node string) error {
		return k.Boot(c.Context(), node)
	})
}

func partitionCommand() *cobra.Command {
	return onNode("partition", "Pull a node's network cable", func(_ *cobra.Command, k cluster.Cluster, node string) error {
		return k.Partition(node)
	})
}

func healCommand() *cobra.Command {
	return onNode("heal", "Put a node's network cable back", func(_ *cobra.Command, k cluster.Cluster, node string) error {
		return k.Heal(node)
	})
}

func execNodeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "exec-node NODE -- COMMAND...",
		Short: "Run a command inside a node",
		Args:  cobra.MinimumNArgs(2),
		RunE: onCluster(func(_ *cobra.Command, k cluster.Cluster, args []string) error {
			return k.Exec(args[0], args[1:])
		}),
	}
}

func execPodCommand() *cobra.Command {
	return onPod("exec-pod", "-- COMMAND...", "Run a command of the node's, nft say, in a pod's network", cobra.MinimumNArgs(2),
		func(c *cobra.Command, k cluster.Cluster, namespace, pod string, command []string) error {
			return k.ExecPod(c.Context(), namespace, pod, command)
		})
}

func envCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "env",
		Short: "Print the cluster to use and its images as shell assignments",
		Long: "Print the cluster to use and its images as shell assignments.\n" +
			"With KUBECONFIG set, that cluster is the one to use, and a VALKEY_IMAGE that is set is kept, too.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			l, err := layout.FromEnvironment()
			if err != nil {
				return err
			}
			versions, err := parts.Versions(l)
			if err != nil {
				return err
			}
			for _, line := range environment(l, versions) {
				fmt.Fprintln(c.OutOrStdout(), line)
			}
			return nil
		},
	}
}

// environment lists the variables; versions come newest first.
func environment(l layout.Layout, versions []parts.Version) []string {
	kubeconfig, ok := foreign(l)
	if !ok {
		kubeconfig = l.Kubeconfig()
	}
	lines := []string{
		assign("KUBECONFIG", kubeconfig),
		assign("KUBECTL", l.Program("kubectl")),
	}
	for i, v := range versions {
		suffix := "_" + strings.ReplaceAll(v.Minor, ".", "_")
		names := []string{suffix}
		if i == 0 {
			names = []string{"", suffix}
		}
		for _, name := range names {
			lines = append(lines, assign("VALKEY_IMAGE"+name, kept("VALKEY_IMAGE"+name, v.Image())),
				assign("VALKEY_VERSION"+name, kept("VALKEY_VERSION"+name, v.Exact)))
		}
	}
	return lines
}

// kept prefers what the user has set already.
func kept(variable, otherwise string) string {
	if value := os.Getenv(variable); value != "" {
		return value
	}
	return otherwise
}

func assign(variable, value string) string {
	return variable + "='" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}
