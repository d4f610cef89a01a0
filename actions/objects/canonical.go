package objects

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/engine"
)

// managed is the part of an object that the operator keeps. Whatever else the
// API server fills in or other controllers add is theirs.
type managed struct {
	Labels map[string]string `json:"labels"`
	Owner  *owner            `json:"owner"`
	Spec   any               `json:"spec,omitempty"`
}

// owner is the object's controller.
type owner struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// Canonical is the object's managed part as JSON with sorted keys, so that an
// object wanted and the same object read back are equal, and differ as soon as
// someone changes what the operator keeps.
func Canonical(obj client.Object) engine.Object {
	content, err := json.Marshal(managed{
		Labels: managedLabels(obj),
		Owner:  controller(obj),
		Spec:   managedSpec(obj),
	})
	if err != nil {
		// Strings, numbers and maps of strings: there is nothing JSON cannot hold.
		panic("canonical form of " + Ref(obj) + ": " + err.Error())
	}
	return engine.Object{Kind: Kind(obj), Name: obj.GetName(), Content: string(content)}
}

// managedLabels are the labels every object of a cluster bears; one that is
// missing is there as "".
func managedLabels(obj client.Object) map[string]string {
	kept := make(map[string]string, 3)
	for _, key := range []string{LabelName, LabelInstance, LabelManagedBy} {
		kept[key] = obj.GetLabels()[key]
	}
	return kept
}

func controller(obj client.Object) *owner {
	c := metav1.GetControllerOfNoCopy(obj)
	if c == nil {
		return nil
	}
	return &owner{Kind: c.Kind, Name: c.Name, UID: string(c.UID)}
}

// managedSpec projects the object on the fields that this package sets.
func managedSpec(obj client.Object) any {
	switch o := obj.(type) {
	case *corev1.Service:
		return serviceSpec(o)
	case *corev1.ConfigMap:
		return o.Data
	case *policyv1.PodDisruptionBudget:
		return budgetSpec(o)
	case *corev1.Secret:
		return secretSpec(o)
	default:
		return nil
	}
}

func serviceSpec(s *corev1.Service) any {
	type port struct {
		Name, Protocol, Target string
		Port                   int32
	}
	ports := make([]port, 0, len(s.Spec.Ports))
	for _, p := range s.Spec.Ports {
		ports = append(ports, port{p.Name, string(p.Protocol), p.TargetPort.String(), p.Port})
	}
	return struct {
		Type, ClusterIP string
		PublishNotReady bool
		Selector        map[string]string
		Ports           any
	}{string(s.Spec.Type), s.Spec.ClusterIP, s.Spec.PublishNotReadyAddresses, s.Spec.Selector, ports}
}

func budgetSpec(b *policyv1.PodDisruptionBudget) any {
	return struct {
		MinAvailable, MaxUnavailable, Selector, Unhealthy any
	}{b.Spec.MinAvailable, b.Spec.MaxUnavailable, b.Spec.Selector, b.Spec.UnhealthyPodEvictionPolicy}
}
