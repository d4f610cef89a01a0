package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/cue"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/ruleset"
	"valkey.gomomento.com/operator/operator/controller"
	"valkey.gomomento.com/operator/operator/observe"
	"valkey.gomomento.com/operator/operator/settings"
)

// A sighting is what a plan is made from, as `plan --save` writes it. It holds no password: those are known to it by
// their hashes only.
type sighting struct {
	Snapshot engine.Snapshot
	Desired  engine.Desired
}

// planOptions are what the command line of plan says.
type planOptions struct {
	options
	save, from string
}

func planCommand() *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use:   "plan [NAMESPACE/NAME]",
		Short: "Print what the operator would do next, and why, without doing it",
		Long: "Print what the operator would do next for a live cluster, or for one that was saved with --save, and why:\n" +
			"the rule that decides, its action, and what every rule asked before it had said.\n\n" +
			"For a live cluster it asks the servers themselves, so it has to run where Pods can be reached.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return plan(cmd.Context(), cmd.OutOrStdout(), o, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file; without it KUBECONFIG, then the Pod's service account")
	f.StringVar(&o.policies, "policies", "", "directory of platform policies, *.cue")
	f.StringVar(&o.save, "save", "", "file to save what was seen to")
	f.StringVar(&o.from, "from", "", "file that was saved; instead of a live cluster")
	return cmd
}

func plan(ctx context.Context, out io.Writer, o planOptions, args []string) error {
	if (o.from == "") == (len(args) == 0) {
		return errors.New("name either a cluster, NAMESPACE/NAME, or a saved file, --from FILE")
	}
	seen, err := see(ctx, o, args)
	if err != nil {
		return err
	}
	if o.save != "" {
		if err := saveSighting(o.save, seen); err != nil {
			return err
		}
	}
	rules, err := ruleset.Load(cue.FS, actions.New)
	if err != nil {
		return err
	}
	decision := engine.Decide(engine.Diff(seen.Snapshot, seen.Desired), rules)
	_, err = fmt.Fprint(out, decision)
	return err
}

func see(ctx context.Context, o planOptions, args []string) (sighting, error) {
	if o.from != "" {
		return readSighting(o.from)
	}
	namespace, cluster, both := strings.Cut(args[0], "/")
	if !both || namespace == "" || cluster == "" {
		return sighting{}, fmt.Errorf("%q is not NAMESPACE/NAME", args[0])
	}
	return look(ctx, o.options, types.NamespacedName{Namespace: namespace, Name: cluster})
}

// look sees a live cluster as a pass of the operator would.
func look(ctx context.Context, o options, key types.NamespacedName) (sighting, error) {
	ctrl.SetLogger(logr.Discard())
	chosen, err := settings.FromEnvironment(os.LookupEnv)
	if err != nil {
		return sighting{}, err
	}
	chosen.Namespaces = []string{key.Namespace}
	o.metrics, o.probes = "0", "0"
	mgr, err := newManager(o, chosen)
	if err != nil {
		return sighting{}, err
	}
	if err := observe.Index(ctx, mgr.GetFieldIndexer()); err != nil {
		return sighting{}, err
	}
	loop, err := newLoop(mgr, o.policies, chosen)
	if err != nil {
		return sighting{}, err
	}
	return lookOnce(ctx, mgr, loop, key)
}

// lookOnce fills the cache for as long as one look takes.
func lookOnce(ctx context.Context, mgr ctrl.Manager, loop *controller.Loop, key types.NamespacedName) (sighting, error) {
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- mgr.GetCache().Start(ctx) }()
	mgr.GetCache().WaitForCacheSync(ctx) // it can be read from the moment it has started
	pass, err := loop.Plan(ctx, key)
	stop()
	if cacheErr := <-ended; err == nil {
		err = cacheErr
	}
	if err != nil {
		return sighting{}, err
	}
	return sighting{pass.Snapshot, pass.Desired}, nil
}

func saveSighting(file string, s sighting) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("save what was seen: %w", err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("save what was seen: %w", err)
	}
	return nil
}

func readSighting(file string) (sighting, error) {
	var s sighting
	text, err := os.ReadFile(file)
	if err != nil {
		return s, fmt.Errorf("read what was saved: %w", err)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("read what was saved in %s: %w", file, err)
	}
	return s, nil
}
