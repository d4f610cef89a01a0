// Demo installs the operator from its Helm chart on the Kubernetes of
// KUBECONFIG (localkube by default), applies the examples, and shows what came
// of it: the cluster, the decisions that made it, and a client at work. It
// leaves everything running to be looked at; `make localkube-down` ends it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// availableLimit is generous: the demo may run on a machine that is still busy building.
const availableLimit = 3 * time.Minute

func main() {
	image := flag.String("image", "", "the operator's image, NAME:TAG; its archive is bin/valkey-operator.tar")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	d := demo{image: *image, started: time.Now()}
	if err := d.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

type demo struct {
	image   string
	started time.Time
	look    *viewer
}

func (d *demo) run(ctx context.Context) error {
	if err := d.useLocalkube(ctx); err != nil {
		return err
	}
	d.say("installing the operator from charts/valkey-operator with Helm")
	if err := d.helm(ctx); err != nil {
		return err
	}
	d.say("applying the menu and the cluster of examples/")
	applied := time.Now()
	if err := d.show(ctx, d.kubectl(), "apply", "-f", "examples/"); err != nil {
		return err
	}
	look, err := newViewer()
	if err != nil {
		return err
	}
	d.look = look
	if err := look.waitAvailable(ctx, availableLimit, d.say); err != nil {
		return err
	}
	d.say("Available %.1f s after kubectl apply", time.Since(applied).Seconds())
	return d.report(ctx)
}

func (d *demo) report(ctx context.Context) error {
	fmt.Println()
	if err := d.look.tree(ctx, os.Stdout); err != nil {
		return err
	}
	fmt.Println()
	if err := d.look.decisions(ctx, os.Stdout); err != nil {
		return err
	}
	fmt.Println()
	return d.look.use(ctx, os.Stdout)
}

// useLocalkube loads the operator's image into localkube, unless KUBECONFIG
// already names another cluster.
func (d *demo) useLocalkube(ctx context.Context) error {
	if os.Getenv("KUBECONFIG") != "" {
		return nil
	}
	if err := os.Setenv("KUBECONFIG", filepath.Join(os.Getenv("LOCALKUBE_STATE"), "kubeconfig")); err != nil {
		return err
	}
	d.say("loading the operator's image into the nodes")
	return d.show(ctx, "bin/localkube", "load-image", "bin/valkey-operator.tar")
}

func (d *demo) helm(ctx context.Context) error {
	registry, name := path.Split(d.image)
	_, tag, _ := strings.Cut(name, ":")
	return d.show(ctx, os.Getenv("HELM"), "upgrade", "--install", "valkey-operator", "charts/valkey-operator",
		"--namespace", "valkey-operator", "--create-namespace",
		"--set", "image.registry="+strings.TrimSuffix(registry, "/"), "--set", "image.tag="+tag, "--wait", "--timeout", "3m")
}

func (d *demo) kubectl() string {
	return filepath.Join(os.Getenv("LOCALKUBE_CACHE"), "bin", "kubectl")
}

// show runs a command and lets its output be seen.
func (d *demo) show(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (d *demo) say(format string, args ...any) {
	fmt.Printf("%6.1fs  %s\n", time.Since(d.started).Seconds(), fmt.Sprintf(format, args...))
}
