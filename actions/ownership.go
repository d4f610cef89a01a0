package actions

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// owns says that the cluster itself controls the object.
func owns(env Env, obj client.Object) bool {
	return env.Cluster.UID != "" && objects.ControllerUID(obj) == env.Cluster.UID
}

// ownsThrough says that the object belongs to the cluster, itself or through
// one of its nodes. One whose node is gone is the cluster's as well: it has a
// node for its owner and the cluster's labels, and no other cluster of this
// namespace can have those.
func ownsThrough(env Env, nodes []v1alpha1.ValkeyNode, obj client.Object) bool {
	if owns(env, obj) {
		return true
	}
	name := objects.NodeOf(obj)
	if name == "" {
		return false
	}
	for i := range nodes {
		if nodes[i].Name == name {
			return objects.ControllerUID(obj) == nodes[i].UID || labelled(env, obj)
		}
	}
	return labelled(env, obj)
}

// labelled says that the object bears the cluster's labels.
func labelled(env Env, obj client.Object) bool {
	for key, value := range objects.Labels(env.Cluster.Name) {
		if obj.GetLabels()[key] != value {
			return false
		}
	}
	return true
}
