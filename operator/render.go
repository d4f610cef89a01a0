package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/derivation"
	"valkey.gomomento.com/operator/operator/settings"
)

// sampleNode ends the name of the one node that render shows: the operator draws five such digits for each.
const sampleNode = "-00000"

func renderCommand() *cobra.Command {
	var policies string
	cmd := &cobra.Command{
		Use:   "render FILES...",
		Short: "Print what clusters derive to, offline",
		Long: "Print the objects that the ValkeyClusters in FILES (- is standard input) derive to, together with the\n" +
			"ValkeyConfigs, ValkeyImages and ValkeyRoles in them: Service, ACL file, disruption budget, and of the nodes, which\n" +
			"are alike, one with its valkey.conf and its Pod. The system users are off, since their passwords are the cluster's own.\n" +
			"The operator's settings come from the environment, as with run.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			read, err := readManifests(files, cmd.InOrStdin())
			if err != nil {
				return err
			}
			return render(cmd.OutOrStdout(), read, policies)
		},
	}
	cmd.Flags().StringVar(&policies, "policies", "", "directory of platform policies, *.cue")
	return cmd
}

// render prints all clusters. The error names each that is not accepted.
func render(out io.Writer, read *manifests, policies string) error {
	chosen, err := settings.FromEnvironment(os.LookupEnv)
	if err != nil {
		return err
	}
	deriver, err := newDeriver(policies)
	if err != nil {
		return err
	}
	var refused []error
	for _, cluster := range read.clusters {
		desired, extras, err := deriver.Derive(read.input(cluster, defaults(chosen)))
		if err != nil {
			return err
		}
		if desired.Problem != "" {
			refused = append(refused, fmt.Errorf("ValkeyCluster %s/%s: %s", cluster.Namespace, cluster.Name, desired.Problem))
			continue
		}
		all, err := rendered(cluster, desired, extras, chosen.ClusterDomain)
		if err != nil {
			return err
		}
		if err := printAll(out, cluster, desired, all); err != nil {
			return err
		}
	}
	return errors.Join(refused...)
}

// rendered are the objects of a cluster, with one of its nodes.
func rendered(cluster *v1alpha1.ValkeyCluster, desired engine.Desired, extras derivation.Extras, domain string) ([]client.Object, error) {
	pods := objects.PodDefaults{
		ClusterDomain: domain,
		PullSecrets:   extras.PullSecrets, PriorityClassName: extras.PriorityClassName, Tolerations: extras.Tolerations,
	}
	node := objects.ValkeyNode(cluster, cluster.Name+sampleNode, desired, engine.NewNode{}, pods)
	pod, err := objects.Pod(node, pods, desired.PodAnnotations)
	if err != nil {
		return nil, err
	}
	budget := objects.Budget(cluster, desired.Topology.Nodes()-desired.Topology.Spare())
	return append(objects.Owned(cluster, desired), budget, node, objects.NodeConfig(node, desired.Conf), pod), nil
}

func printAll(out io.Writer, cluster *v1alpha1.ValkeyCluster, desired engine.Desired, all []client.Object) error {
	if _, err := fmt.Fprintf(out, "# ValkeyCluster %s/%s: %d nodes like %s%s\n",
		cluster.Namespace, cluster.Name, desired.Topology.Nodes(), cluster.Name, sampleNode); err != nil {
		return err
	}
	for _, w := range desired.Warnings {
		if _, err := fmt.Fprintf(out, "# warning: %s: %s\n", w.Reason, w.Message); err != nil {
			return err
		}
	}
	for _, obj := range all {
		text, err := yaml.Marshal(obj)
		if err != nil {
			return fmt.Errorf("print %s: %w", objects.Ref(obj), err)
		}
		if _, err := fmt.Fprintf(out, "---\n%s", text); err != nil {
			return err
		}
	}
	return nil
}
