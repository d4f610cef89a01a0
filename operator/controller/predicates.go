package controller

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"valkey.gomomento.com/operator/actions/objects"
)

// specOrMetadata passes what people and controllers change of an object, and not its status: that is our own, and a pass
// for each status we write would never end.
func specOrMetadata() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || metadataChanged(e.ObjectOld, e.ObjectNew)
	}}
}

// spec passes what changes an object's spec or announces its end: what else is said of a menu object changes no cluster.
func spec() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || deletionBegan(e.ObjectOld, e.ObjectNew)
	}}
}

func metadataChanged(was, is client.Object) bool {
	return deletionBegan(was, is) ||
		!maps.Equal(was.GetLabels(), is.GetLabels()) ||
		!maps.Equal(was.GetAnnotations(), is.GetAnnotations()) ||
		!slices.Equal(was.GetFinalizers(), is.GetFinalizers())
}

func deletionBegan(was, is client.Object) bool {
	return (was.GetDeletionTimestamp() == nil) != (is.GetDeletionTimestamp() == nil)
}

// placement passes what a Kubernetes node's Pods are placed, moved or lost by: its cordon, its zone and whether it is ready,
// not the heartbeats.
func placement() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, ok := e.ObjectOld.(*corev1.Node)
		is, ok2 := e.ObjectNew.(*corev1.Node)
		if !ok || !ok2 {
			return true
		}
		return was.Spec.Unschedulable != is.Spec.Unschedulable || objects.HostLost(was) != objects.HostLost(is) ||
			was.Labels[corev1.LabelTopologyZone] != is.Labels[corev1.LabelTopologyZone]
	}}
}
