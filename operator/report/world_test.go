package report_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/operator/report"
)

// now is when all passes here happen.
var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// whole is a pass over shop/cache, one shard with one replica, formed and with nothing to do. The servers' ids are a and b.
func whole() report.Pass {
	cluster := &v1alpha1.ValkeyCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cache", Generation: 3},
		Spec:       v1alpha1.ValkeyClusterSpec{ConfigRef: "small", Shards: 1, ReplicasPerShard: 1},
		Status:     v1alpha1.ValkeyClusterStatus{State: v1alpha1.Active},
	}
	primary, replica := member("cache-1", "a"), member("cache-2", "b")
	replica.Server.Role, replica.Server.PrimaryID = engine.Replica, "a"
	primary.Server.Peers[0].Slots = []engine.SlotRange{{From: 0, To: 16383}}
	return report.Pass{
		Cluster:  cluster,
		Started:  now,
		Snapshot: engine.Snapshot{At: now, Nodes: []engine.Node{primary, replica}},
		Desired:  engine.Desired{ACLRevision: "r1", Topology: engine.Topology{Shards: 1, ReplicasPerShard: 1}},
		Facts: &engine.Facts{
			Cluster: engine.ClusterFacts{Target: engine.Topology{Shards: 1, ReplicasPerShard: 1}},
			Spec:    engine.SpecFacts{Accepted: true},
			Slots:   engine.SlotFacts{Covered: 16384},
		},
		Decision: engine.Decision{Action: engine.Hold, Because: "Nothing to do."},
	}
}

func member(name, id string) engine.Node {
	return engine.Node{
		Name: name, Lifecycle: engine.Active,
		Pod: &engine.Pod{Phase: "Running", Zone: "zone-" + id, Started: now.Add(-time.Hour)},
		Server: &engine.Server{
			ID: id, Version: "9.1.0", Role: engine.Primary, LinkUp: true, Revision: "r1", ClusterOK: true,
			Peers: []engine.Peer{{ID: "a", Myself: id == "a", Linked: true}, {ID: "b", Myself: id == "b", Linked: true}},
		},
	}
}

// named are the arguments of an action as a report shows them.
type named string

func (n named) String() string { return string(n) }

func acting() engine.Decision {
	return engine.Decision{Action: "createNodes", Args: named("2 nodes"), Rule: "create-missing-nodes", Because: "The topology asks for more nodes than there are."}
}

// desk is a reporter whose writes and Events can be seen.
type desk struct {
	reporter *report.Reporter
	kube     client.Client
	registry *prometheus.Registry
	writes   []string
	events   chan string
}

func newDesk(t *testing.T, objs ...client.Object) *desk {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	d := &desk{registry: prometheus.NewRegistry()}
	recorder := events.NewFakeRecorder(100)
	d.events = recorder.Events
	d.kube = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objs...).
		WithStatusSubresource(&v1alpha1.ValkeyCluster{}, &v1alpha1.ValkeyNode{}).
		WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			data, err := patch.Data(obj)
			if err != nil {
				return err
			}
			d.writes = append(d.writes, fmt.Sprintf("%s %s", obj.GetName(), data))
			return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
		}}).Build()
	d.reporter = report.New(d.kube, recorder, report.NewMetrics(d.registry))
	return d
}

// said takes the Events recorded so far.
func (d *desk) said() []string {
	var all []string
	for {
		select {
		case e := <-d.events:
			all = append(all, e)
		default:
			return all
		}
	}
}
