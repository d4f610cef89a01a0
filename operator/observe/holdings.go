package observe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
)

// holdings are the objects that bear a cluster's label, as the cache holds them: they must not be changed.
type holdings struct {
	cluster  *v1alpha1.ValkeyCluster
	nodes    v1alpha1.ValkeyNodeList
	pods     corev1.PodList
	configs  corev1.ConfigMapList
	secrets  corev1.SecretList
	services corev1.ServiceList
	budgets  policyv1.PodDisruptionBudgetList
	// hosts are the Kubernetes nodes that the Pods run on.
	hosts map[string]host
}

// A host is what a Snapshot needs of a Kubernetes node.
type host struct {
	zone     string
	cordoned bool
	lost     bool
}

func (o *Observer) holdings(ctx context.Context, cluster *v1alpha1.ValkeyCluster) (*holdings, error) {
	h := &holdings{cluster: cluster, hosts: map[string]host{}}
	for _, list := range []client.ObjectList{&h.nodes, &h.pods, &h.configs, &h.secrets, &h.services, &h.budgets} {
		err := o.Kube.List(ctx, list, client.InNamespace(cluster.Namespace),
			client.MatchingFields{ClusterIndex: cluster.Name}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil, fmt.Errorf("list %T: %w", list, err)
		}
	}
	for i := range h.pods.Items {
		if err := o.host(ctx, h.pods.Items[i].Spec.NodeName, h.hosts); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// host looks up a Kubernetes node.
func (o *Observer) host(ctx context.Context, name string, hosts map[string]host) error {
	if _, known := hosts[name]; known || name == "" {
		return nil
	}
	var n corev1.Node
	err := o.Kube.Get(ctx, types.NamespacedName{Name: name}, &n, client.UnsafeDisableDeepCopy)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("read Node %s: %w", name, err)
	}
	hosts[name] = host{zone: n.Labels[corev1.LabelTopologyZone], cordoned: n.Spec.Unschedulable, lost: objects.HostLost(&n)}
	return nil
}

// ours says that the cluster itself controls the object. A label can be anyone's, an older cluster of the same
// name has another UID.
func (h *holdings) ours(obj client.Object) bool {
	uid := objects.ControllerUID(obj)
	return uid != "" && uid == h.cluster.UID
}

// snapshot is the Kubernetes half of a Snapshot.
func (h *holdings) snapshot(now time.Time) engine.Snapshot {
	return engine.Snapshot{
		At:       now,
		Cluster:  clusterOf(h.cluster),
		Auth:     authOf(h.secret(objects.AuthName(h.cluster.Name))),
		NextAuth: nextAuthOf(h.secret(objects.NextAuthName(h.cluster.Name))),
		Objects:  h.objects(),
		Budget:   h.budget(),
		Nodes:    h.engineNodes(),
		Strays:   h.strays(now),
	}
}

func clusterOf(c *v1alpha1.ValkeyCluster) engine.Cluster {
	seen := engine.Cluster{
		Namespace: c.Namespace, Name: c.Name, UID: string(c.UID), Generation: c.Generation,
		Deleting:  c.DeletionTimestamp != nil,
		Paused:    c.Spec.Paused,
		Finalizer: slices.Contains(c.Finalizers, objects.ClusterFinalizer),
		State:     string(c.Status.State),
		Rotation:  c.Annotations[objects.RotationAnnotation],
		Rotated:   c.Status.RotatedPasswords,
	}
	if t := c.Status.KeptTopology; t != nil {
		seen.Kept = &engine.Topology{Shards: int(t.Shards), ReplicasPerShard: int(t.ReplicasPerShard)}
	}
	if t := c.Status.TargetSpec; t != nil {
		seen.Target = &engine.Topology{Shards: int(t.Shards), ReplicasPerShard: int(t.ReplicasPerShard)}
	}
	return seen
}

// objects are the objects that the cluster controls itself, those with a field of their own in Snapshot aside,
// sorted by kind and name.
func (h *holdings) objects() []engine.Object {
	var found []engine.Object
	add := func(obj client.Object) {
		if h.ours(obj) {
			found = append(found, objects.Canonical(obj))
		}
	}
	for i := range h.services.Items {
		add(&h.services.Items[i])
	}
	for i := range h.configs.Items {
		add(&h.configs.Items[i])
	}
	for i := range h.budgets.Items {
		add(&h.budgets.Items[i])
	}
	slices.SortFunc(found, func(a, b engine.Object) int {
		return strings.Compare(a.Kind+"/"+a.Name, b.Kind+"/"+b.Name)
	})
	return found
}

// budget is how many Pods the cluster's PodDisruptionBudget keeps.
func (h *holdings) budget() *int {
	for i := range h.budgets.Items {
		if b := &h.budgets.Items[i]; b.Name == objects.ServiceName(h.cluster.Name) {
			return objects.Kept(h.cluster, b)
		}
	}
	return nil
}

// tlsCopy is the operator's copy of the TLS Secret, nil when there is none.
func (h *holdings) tlsCopy() *corev1.Secret { return h.secret(objects.TLSName(h.cluster.Name)) }

// strayAge is longer than one cache lags behind another.
const strayAge = 10 * time.Second

// strays are the Pods and ConfigMaps of ValkeyNodes that are gone, as "Kind/name", sorted. The caches of Pods and
// of ValkeyNodes do not advance together: what is younger than strayAge may have a node that is still to be seen, and who
// removes a stray must look for its node at the API server first.
func (h *holdings) strays(now time.Time) []string {
	alive := map[types.UID]bool{}
	for i := range h.nodes.Items {
		alive[h.nodes.Items[i].UID] = true
	}
	var found []string
	add := func(obj client.Object) {
		old := now.Sub(obj.GetCreationTimestamp().Time) >= strayAge
		if old && objects.NodeOf(obj) != "" && !alive[objects.ControllerUID(obj)] {
			found = append(found, objects.Ref(obj))
		}
	}
	for i := range h.pods.Items {
		add(&h.pods.Items[i])
	}
	for i := range h.configs.Items {
		add(&h.configs.Items[i])
	}
	slices.Sort(found)
	return found
}
