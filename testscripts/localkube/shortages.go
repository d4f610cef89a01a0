package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"valkey.gomomento.com/operator/testscripts/localkube/cluster"
)

func addressesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "addresses COUNT",
		Short: "Leave each node so many addresses for its pods; 0: all",
		Args:  cobra.ExactArgs(1),
		RunE: onCluster(func(_ *cobra.Command, k cluster.Cluster, args []string) error {
			count, err := strconv.Atoi(args[0])
			if err != nil {
				return fmt.Errorf("read the number of addresses: %w", err)
			}
			return k.LimitAddresses(count)
		}),
	}
}

func fullDiskCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "full-disk NAMESPACE/POD DIRECTORY",
		Short: "Leave no room in a directory that is mounted in a pod's container",
		Args:  cobra.ExactArgs(2),
		RunE: onCluster(func(c *cobra.Command, k cluster.Cluster, args []string) error {
			namespace, pod, err := podOf(args[0])
			if err != nil {
				return err
			}
			return k.FillDisk(c.Context(), namespace, pod, args[1])
		}),
	}
}

// podOf reads NAMESPACE/POD.
func podOf(text string) (namespace, name string, err error) {
	namespace, name, ok := strings.Cut(text, "/")
	if !ok {
		return "", "", fmt.Errorf("a pod is named NAMESPACE/POD, not %q", text)
	}
	return namespace, name, nil
}
