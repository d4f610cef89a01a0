package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/valkey-io/valkey-go"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// demoCluster is the ValkeyCluster of examples/.
var demoCluster = client.ObjectKey{Namespace: "default", Name: "cart"}

// demoUser and demoPassword are bound in examples/cluster.yaml.
const demoUser, demoPassword = "cart", "cart-password"

// A viewer shows one cluster to a person.
type viewer struct {
	kube client.Client
}

func newViewer() (*viewer, error) {
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	kube, err := client.New(config, client.Options{Scheme: scheme})
	return &viewer{kube: kube}, err
}

// waitAvailable says each new step that status shows until the cluster is Available.
func (v *viewer) waitAvailable(ctx context.Context, limit time.Duration, say func(string, ...any)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	last := ""
	for {
		var c v1alpha1.ValkeyCluster
		if err := v.kube.Get(ctx, demoCluster, &c); err != nil {
			return err
		}
		if step := fmt.Sprintf("%s %s %s", c.Status.State, c.Status.Ready, c.Status.Message); step != last {
			say("%s: %s", demoCluster.Name, step)
			last = step
		}
		if c.Status.State == "Active" && meta.IsStatusConditionTrue(c.Status.Conditions, "Available") {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not Available: %s", demoCluster, c.Status.Message)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// tree prints the cluster, its shards and their nodes.
func (v *viewer) tree(ctx context.Context, out io.Writer) error {
	var c v1alpha1.ValkeyCluster
	if err := v.kube.Get(ctx, demoCluster, &c); err != nil {
		return err
	}
	w := &lines{out: out}
	w.print("ValkeyCluster %s/%s  %s  %s ready", c.Namespace, c.Name, c.Status.State, c.Status.Ready)
	for _, cond := range c.Status.Conditions {
		w.print("│  %-14s %-5s %s", cond.Type, cond.Status, cond.Message)
	}
	shard := int32(-1)
	for _, n := range byShard(c.Status.Nodes) {
		if n.ShardIndex != shard {
			shard = n.ShardIndex
			w.print("├─ shard %d", shard)
		}
		w.print("│  ├─ %-12s %-8s %-8s %5d slots  ready=%t", n.Name, n.Role, n.Zone, n.Slots, n.Ready)
	}
	return w.err
}

func byShard(nodes []v1alpha1.ClusterNode) []v1alpha1.ClusterNode {
	sorted := slices.Clone(nodes)
	slices.SortStableFunc(sorted, func(a, b v1alpha1.ClusterNode) int {
		return cmp.Or(cmp.Compare(a.ShardIndex, b.ShardIndex), cmp.Compare(a.Role, b.Role), cmp.Compare(a.Name, b.Name))
	})
	return sorted
}

// decisions prints the Events about the cluster in the order they happened.
func (v *viewer) decisions(ctx context.Context, out io.Writer) error {
	var events eventsv1.EventList
	if err := v.kube.List(ctx, &events, client.InNamespace(demoCluster.Namespace)); err != nil {
		return err
	}
	about := slices.DeleteFunc(events.Items, func(e eventsv1.Event) bool {
		return e.Regarding.Kind != "ValkeyCluster" || e.Regarding.Name != demoCluster.Name
	})
	slices.SortStableFunc(about, func(a, b eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
	w := &lines{out: out}
	w.print("Decisions, in order:")
	for _, e := range about {
		w.print("  %s  %-20s %s", e.EventTime.Format("15:04:05.000"), e.Reason, e.Note)
	}
	return w.err
}

// use sets and gets keys of every shard through a cluster client.
func (v *viewer) use(ctx context.Context, out io.Writer) error {
	var pods corev1.PodList
	if err := v.kube.List(ctx, &pods, client.InNamespace(demoCluster.Namespace),
		client.MatchingLabels{"app.kubernetes.io/instance": demoCluster.Name}); err != nil {
		return err
	}
	var seeds []string
	for _, pod := range pods.Items {
		seeds = append(seeds, pod.Status.PodIP+":6379")
	}
	c, err := valkey.NewClient(valkey.ClientOption{
		InitAddress: seeds, Username: demoUser, Password: demoPassword, DisableCache: true,
	})
	if err != nil {
		return fmt.Errorf("connect a cluster client: %w", err)
	}
	defer c.Close()
	w := &lines{out: out}
	for _, key := range []string{"apple", "banana", "cherry"} {
		value := "a " + key
		if err := c.Do(ctx, c.B().Set().Key(key).Value(value).Build()).Error(); err != nil {
			return fmt.Errorf("set %s: %w", key, err)
		}
		got, err := c.Do(ctx, c.B().Get().Key(key).Build()).ToString()
		if err != nil {
			return fmt.Errorf("get %s: %w", key, err)
		}
		w.print("SET %s %q -> OK   GET %s -> %q", key, value, key, got)
	}
	return w.err
}

// lines prints, and keeps the first error.
type lines struct {
	out io.Writer
	err error
}

func (l *lines) print(format string, args ...any) {
	if l.err == nil {
		_, l.err = fmt.Fprintf(l.out, format+"\n", args...)
	}
}
