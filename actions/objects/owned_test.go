package objects_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
)

func cluster() *v1alpha1.ValkeyCluster {
	return &v1alpha1.ValkeyCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart", UID: "cart-uid"}}
}

func desired() engine.Desired {
	return engine.Desired{
		Topology: engine.Topology{Shards: 3, ReplicasPerShard: 1},
		Node: engine.NodeSpec{
			Image: "valkey/valkey:9.1", CPU: "500m", Memory: "128Mi", Settings: map[string]string{"maxmemory": "96mb"},
			Placement: engine.Placement{ZoneSpread: "bestEffort"},
		},
		Version: "9.1.2", Conf: "maxmemory \"96mb\"\n", ACLFile: "user default off\n",
	}
}

func TestOwned(t *testing.T) {
	var refs []string
	for _, o := range objects.Owned(cluster(), desired()) {
		refs = append(refs, objects.Ref(o))
		if objects.ControllerUID(o) != "cart-uid" || o.GetNamespace() != "shop" || o.GetObjectKind().GroupVersionKind().Kind != objects.Kind(o) {
			t.Errorf("metadata of %s: %+v", objects.Ref(o), o)
		}
		if o.GetLabels()["app.kubernetes.io/managed-by"] != "valkey-operator" {
			t.Errorf("labels of %s: %v", objects.Ref(o), o.GetLabels())
		}
	}
	if got, want := strings.Join(refs, " "), "Service/cart ConfigMap/cart-acl"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestOwnedLeavesOutWhatDoesNotResolve(t *testing.T) {
	owned := objects.Owned(cluster(), engine.Desired{Problem: `ValkeyConfig "small" not found`})
	if len(owned) != 1 || objects.Ref(owned[0]) != "Service/cart" {
		t.Errorf("owned = %v", owned)
	}
}

// kept are all objects that the operator keeps equal to what it wants.
func kept() []client.Object {
	return append(objects.Owned(cluster(), desired()), objects.Budget(cluster(), 5))
}

func TestKeptIsToldOfABudgetThatIsAsItShouldBe(t *testing.T) {
	live := defaulted(objects.Budget(cluster(), 5)).(*policyv1.PodDisruptionBudget)
	if got := objects.Kept(cluster(), live); got == nil || *got != 5 {
		t.Errorf("it keeps %v, want 5", got)
	}
	for name, change := range map[string]func(*policyv1.PodDisruptionBudgetSpec){
		"no number":    func(b *policyv1.PodDisruptionBudgetSpec) { b.MinAvailable = nil },
		"a percentage": func(b *policyv1.PodDisruptionBudgetSpec) { half := intstr.FromString("50%"); b.MinAvailable = &half },
		"other Pods":   func(b *policyv1.PodDisruptionBudgetSpec) { b.Selector = &metav1.LabelSelector{} },
		"another policy": func(b *policyv1.PodDisruptionBudgetSpec) {
			healthy := policyv1.IfHealthyBudget
			b.UnhealthyPodEvictionPolicy = &healthy
		},
	} {
		edited := live.DeepCopy()
		change(&edited.Spec)
		if got := objects.Kept(cluster(), edited); got != nil {
			t.Errorf("with %s it is said to keep %d", name, *got)
		}
	}
}

// defaulted does to an object what an API server does to it.
func defaulted(obj client.Object) client.Object {
	live := obj.DeepCopyObject().(client.Object)
	live.SetResourceVersion("42")
	live.SetUID("given")
	live.SetCreationTimestamp(metav1.Now())
	live.SetAnnotations(map[string]string{"someone/else": "x"})
	live.GetLabels()["someone/else"] = "x"
	live.SetOwnerReferences(append(live.GetOwnerReferences(), metav1.OwnerReference{Kind: "Other", Name: "o", UID: "o"}))
	if s, ok := live.(*corev1.Service); ok {
		single, internal := corev1.IPFamilyPolicySingleStack, corev1.ServiceInternalTrafficPolicyCluster
		s.Spec.ClusterIPs, s.Spec.IPFamilies, s.Spec.IPFamilyPolicy = []string{"None"}, []corev1.IPFamily{"IPv4"}, &single
		s.Spec.SessionAffinity, s.Spec.InternalTrafficPolicy = corev1.ServiceAffinityNone, &internal
	}
	if b, ok := live.(*policyv1.PodDisruptionBudget); ok {
		b.Status.DisruptionsAllowed = 1
	}
	return live
}

func TestCanonicalIgnoresWhatOthersSet(t *testing.T) {
	for _, want := range kept() {
		if got, want := objects.Canonical(defaulted(want)), objects.Canonical(want); got != want {
			t.Errorf("got  %s\nwant %s", got.Content, want.Content)
		}
	}
}

func TestCanonicalSeesEveryManagedField(t *testing.T) {
	service := func(change func(*corev1.ServiceSpec)) func(client.Object) {
		return func(o client.Object) { change(&o.(*corev1.Service).Spec) }
	}
	budget := func(change func(*policyv1.PodDisruptionBudgetSpec)) func(client.Object) {
		return func(o client.Object) { change(&o.(*policyv1.PodDisruptionBudget).Spec) }
	}
	one := intstr.FromInt32(1)
	cases := map[string]struct {
		index  int
		change func(client.Object)
	}{
		"a label":        {0, func(o client.Object) { delete(o.GetLabels(), objects.LabelManagedBy) }},
		"the owner":      {0, func(o client.Object) { o.SetOwnerReferences(nil) }},
		"the owner's id": {0, func(o client.Object) { o.GetOwnerReferences()[0].UID = "another" }},
		"the selector":   {0, service(func(s *corev1.ServiceSpec) { s.Selector = nil })},
		"a port":         {0, service(func(s *corev1.ServiceSpec) { s.Ports[1].Port = 1 })},
		"a port's name":  {0, service(func(s *corev1.ServiceSpec) { s.Ports[0].Name = "http" })},
		"a target port":  {0, service(func(s *corev1.ServiceSpec) { s.Ports[0].TargetPort = intstr.FromString("x") })},
		"a third port":   {0, service(func(s *corev1.ServiceSpec) { s.Ports = append(s.Ports, s.Ports[0]) })},
		"unready Pods":   {0, service(func(s *corev1.ServiceSpec) { s.PublishNotReadyAddresses = false })},
		"the address":    {0, service(func(s *corev1.ServiceSpec) { s.ClusterIP = "10.0.0.1" })},
		"the type":       {0, service(func(s *corev1.ServiceSpec) { s.Type = corev1.ServiceTypeLoadBalancer })},
		"a file":         {1, func(o client.Object) { o.(*corev1.ConfigMap).Data["users.acl"] = "user default on" }},
		"another file":   {1, func(o client.Object) { o.(*corev1.ConfigMap).Data["x"] = "y" }},
		"no files":       {1, func(o client.Object) { o.(*corev1.ConfigMap).Data = nil }},
		"a number":       {2, budget(func(b *policyv1.PodDisruptionBudgetSpec) { b.MinAvailable = &one })},
		"another number": {2, budget(func(b *policyv1.PodDisruptionBudgetSpec) { b.MinAvailable, b.MaxUnavailable = nil, &one })},
		"the Pods":       {2, budget(func(b *policyv1.PodDisruptionBudgetSpec) { b.Selector = nil })},
		"a policy":       {2, budget(func(b *policyv1.PodDisruptionBudgetSpec) { b.UnhealthyPodEvictionPolicy = nil })},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			want := kept()[c.index]
			live := defaulted(want)
			c.change(live)
			if objects.Canonical(live) == objects.Canonical(want) {
				t.Error("it is not seen")
			}
		})
	}
}

func TestPasswords(t *testing.T) {
	first, second := objects.AuthSecret(cluster()).Data, objects.AuthSecret(cluster()).Data
	c := objects.Passwords(first)
	if len(c.Operator) != 128 || len(c.Repl) != 128 || c.Operator == c.Repl {
		t.Errorf("passwords of %d and %d characters", len(c.Operator), len(c.Repl))
	}
	if string(first["primaryauth.conf"]) != "masterauth "+c.Repl+"\n" {
		t.Error("valkey.conf would include another password")
	}
	if objects.Passwords(second).Operator == c.Operator {
		t.Error("two clusters have the same password")
	}
	for name, damage := range map[string]func(map[string][]byte){
		"a missing line":     func(d map[string][]byte) { delete(d, "primaryauth.conf") },
		"another line":       func(d map[string][]byte) { d["primaryauth.conf"] = []byte("primaryauth x\nuser evil on\n") },
		"a short password":   func(d map[string][]byte) { d["repl-password"] = d["repl-password"][:126] },
		"a strange password": func(d map[string][]byte) { d["repl-password"][5] = '\n' },
	} {
		data := objects.AuthSecret(cluster()).Data
		damage(data)
		if c := objects.Passwords(data); c.Operator == "" || c.Repl != "" {
			t.Errorf("%s: repl-password %q passes", name, c.Repl)
		}
	}
}
