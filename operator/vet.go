package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"valkey.gomomento.com/operator/cue"
	"valkey.gomomento.com/operator/engine/derivation"
	"valkey.gomomento.com/operator/operator/settings"
	"valkey.gomomento.com/operator/operator/vet"
)

// errFaulty ends a check that has found errors. They are printed already.
var errFaulty = errors.New("the manifests have errors")

// vetOptions are what the command line of vet says.
type vetOptions struct {
	policies string
	partial  bool
}

func vetCommand() *cobra.Command {
	var o vetOptions
	cmd := &cobra.Command{
		Use:   "vet FILES...",
		Short: "Check manifests, offline",
		Long: "Check the operator's manifests in FILES (YAML or JSON; - is standard input, a directory all *.yaml, *.yml and *.json in\n" +
			"it and below): each by itself, as the API server would, then what they come to together. Every ValkeyCluster is\n" +
			"derived with the ValkeyConfigs, ValkeyImages and ValkeyRoles in FILES, and so is every ValkeyConfig that no cluster\n" +
			"uses: missing references, cycles, users that are there twice, refused directives, memory, policies.\n" +
			"Objects of other API groups are passed over.\n\n" +
			"Each mistake is one line, file:line:column: Kind name: field: what to write instead. Lines with \"warning:\" do not\n" +
			"count. The exit code is 1 when there are errors.\n" +
			"The operator's settings come from the environment, as with run.",
		Example: "  valkey-operator vet menu/ clusters/cart.yaml\n" +
			"  valkey-operator vet --partial --policies policies/ clusters/\n" +
			"  kustomize build . | valkey-operator vet -",
		Args: func(_ *cobra.Command, files []string) error {
			if len(files) == 0 {
				return errors.New("name the files or directories to check, or - for standard input")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, names []string) error {
			files, err := vet.Read(names, cmd.InOrStdin())
			if err != nil {
				return err
			}
			return vetFiles(cmd.OutOrStdout(), files, o)
		},
	}
	cmd.Flags().StringVar(&o.policies, "policies", "", "directory of platform policies, *.cue")
	cmd.Flags().BoolVar(&o.partial, "partial", false, "pass over references to what is not in FILES: the rest of the menu is elsewhere")
	return cmd
}

func vetFiles(out io.Writer, files []vet.File, o vetOptions) error {
	checker, err := newChecker(o)
	if err != nil {
		return err
	}
	report, err := checker.Check(files)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprint(out, report); err != nil {
		return err
	}
	if report.Errors() > 0 {
		return errFaulty
	}
	return nil
}

func newChecker(o vetOptions) (vet.Checker, error) {
	chosen, err := settings.FromEnvironment(os.LookupEnv)
	if err != nil {
		return vet.Checker{}, err
	}
	if o.policies != "" {
		// Unlike a running operator's, whose ConfigMap may be absent, these are named for this one check.
		if _, err := os.Stat(o.policies); err != nil {
			return vet.Checker{}, fmt.Errorf("read policies: %w", err)
		}
	}
	deriver, err := newDeriver(o.policies)
	if err != nil {
		return vet.Checker{}, err
	}
	schema, err := derivation.LoadSchema(cue.FS)
	if err != nil {
		return vet.Checker{}, err
	}
	return vet.Checker{Schema: schema, Deriver: deriver, Defaults: defaults(chosen), Partial: o.partial}, nil
}
