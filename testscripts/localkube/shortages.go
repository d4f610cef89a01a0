package main

import (
	"fmt"
	"strconv"

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
	return onPod("full-disk", "DIRECTORY", "Leave no room in a directory that is mounted in a pod's container", cobra.ExactArgs(2),
		func(c *cobra.Command, k cluster.Cluster, namespace, pod string, directory []string) error {
			return k.FillDisk(c.Context(), namespace, pod, directory[0])
		})
}
