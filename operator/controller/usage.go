package controller

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
)

// users are the clusters whose specs lead to an object of the menu, sorted. It asks the specs and not the index: an
// operator that has only just started must not take an object for unused.
func users(ctx context.Context, kube client.Reader, ref reference) ([]types.NamespacedName, error) {
	var clusters v1alpha1.ValkeyClusterList
	if err := kube.List(ctx, &clusters); err != nil {
		return nil, fmt.Errorf("list clusters: %w", err)
	}
	var using []types.NamespacedName
	for i := range clusters.Items {
		read, err := readMenu(ctx, kube, &clusters.Items[i], func(reference) {})
		if err != nil {
			return nil, err
		}
		if slices.Contains(read.references, ref) {
			using = append(using, client.ObjectKeyFromObject(&clusters.Items[i]))
		}
	}
	slices.SortFunc(using, compareKeys)
	return using, nil
}
