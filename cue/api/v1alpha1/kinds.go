// Package v1alpha1 holds the Go types of valkey.gomomento.com/v1alpha1. The specs and statuses are generated from the CUE
// files beside it; this file adds what CUE does not know of: the kinds around them and their registration. It must not hold
// validation or behaviour.
// +kubebuilder:object:generate=true
// +groupName=valkey.gomomento.com
package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of all kinds here.
var GroupVersion = schema.GroupVersion{Group: "valkey.gomomento.com", Version: "v1alpha1"}

// AddToScheme registers the kinds.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&ValkeyCluster{}, &ValkeyClusterList{},
		&ValkeyConfig{}, &ValkeyConfigList{},
		&ValkeyImage{}, &ValkeyImageList{},
		&ValkeyNode{}, &ValkeyNodeList{},
		&ValkeyRole{}, &ValkeyRoleList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// Condition is the standard condition.
type Condition = metav1.Condition

// Time is the standard time.
type Time = metav1.Time

// Toleration is a Pod's.
type Toleration = corev1.Toleration

// ValkeyImage allows one Valkey image to run. Cluster scope.
// +kubebuilder:object:root=true
type ValkeyImage struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ValkeyImageSpec   `json:"spec"`
	Status            ValkeyImageStatus `json:"status,omitzero"`
}

// ValkeyImageList is a list of images.
// +kubebuilder:object:root=true
type ValkeyImageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ValkeyImage `json:"items"`
}

// ValkeyConfig is a profile that clusters run with. Cluster scope.
// +kubebuilder:object:root=true
type ValkeyConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ValkeyConfigSpec   `json:"spec"`
	Status            ValkeyConfigStatus `json:"status,omitzero"`
}

// ValkeyConfigList is a list of configs.
// +kubebuilder:object:root=true
type ValkeyConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ValkeyConfig `json:"items"`
}

// ValkeyRole is a set of commands that ACL bindings refer to. Cluster scope.
// +kubebuilder:object:root=true
type ValkeyRole struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ValkeyRoleSpec   `json:"spec"`
	Status            ValkeyRoleStatus `json:"status,omitzero"`
}

// ValkeyRoleList is a list of roles.
// +kubebuilder:object:root=true
type ValkeyRoleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ValkeyRole `json:"items"`
}

// ValkeyCluster is a sharded Valkey cluster. Namespaced.
// +kubebuilder:object:root=true
type ValkeyCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ValkeyClusterSpec   `json:"spec"`
	Status            ValkeyClusterStatus `json:"status,omitzero"`
}

// ValkeyClusterList is a list of clusters.
// +kubebuilder:object:root=true
type ValkeyClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ValkeyCluster `json:"items"`
}

// ValkeyNode is one Valkey server of a cluster; only the operator writes it. Namespaced.
// +kubebuilder:object:root=true
type ValkeyNode struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ValkeyNodeSpec   `json:"spec"`
	Status            ValkeyNodeStatus `json:"status,omitzero"`
}

// ValkeyNodeList is a list of nodes.
// +kubebuilder:object:root=true
type ValkeyNodeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ValkeyNode `json:"items"`
}
