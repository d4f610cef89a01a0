// Package kube is a Kubernetes in memory: an API server for the few kinds that the operator knows, caches that lag behind
// it, a scheduler, kubelets and machines that fail.
//
// It does what a real one does to the operator: versions and conflicts, finalizers and grace periods, status apart from
// spec, times in whole seconds. What the operator never asks for is not there. It holds time by a timeline.Line, and
// whoever calls into it from the timeline holds the world already.
package kube

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/testscripts/sim/timeline"
)

// An API is an API server. Make it with New.
type API struct {
	Line *timeline.Line
	// Admit may change an object before it is created, as a mutating webhook does.
	Admit func(client.Object)
	// Changed is told of every change: was is nil for a new object, is for one that is gone.
	Changed func(was, is client.Object)

	kinds   map[string]*shelf
	caches  []*Cache
	version int64
	// past are all versions of all objects.
	past map[string]client.Object
	born map[string]int
}

// New is an API server without objects.
func New(line *timeline.Line) *API {
	return &API{
		Line: line, Admit: func(client.Object) {}, Changed: func(_, _ client.Object) {},
		kinds: map[string]*shelf{}, past: map[string]client.Object{}, born: map[string]int{},
	}
}

// A shelf holds the objects of one kind, sorted by namespace and name. They are never changed in place.
type shelf struct {
	objects []client.Object
	// lists are what lists have been filled with since the last change, by what they select, for callers who change nothing.
	lists map[string]reflect.Value
}

func (s *shelf) find(key types.NamespacedName) (int, bool) {
	return slices.BinarySearchFunc(s.objects, key, func(o client.Object, key types.NamespacedName) int {
		if c := strings.Compare(o.GetNamespace(), key.Namespace); c != 0 {
			return c
		}
		return strings.Compare(o.GetName(), key.Name)
	})
}

// get is the object, nil when there is none.
func (s *shelf) get(key types.NamespacedName) client.Object {
	if i, found := s.find(key); found {
		return s.objects[i]
	}
	return nil
}

// put replaces the object under the key; nil takes it away.
func (s *shelf) put(key types.NamespacedName, obj client.Object) {
	i, found := s.find(key)
	s.lists = nil
	switch {
	case obj == nil && found:
		s.objects = slices.Delete(s.objects, i, i+1)
	case obj == nil:
	case found:
		s.objects[i] = obj
	default:
		s.objects = slices.Insert(s.objects, i, obj)
	}
}

// kindOf is the kind of an object or of a list's items: "Pod".
func kindOf(obj any) string {
	return strings.TrimSuffix(reflect.TypeOf(obj).Elem().Name(), "List")
}

func (a *API) shelf(kind string) *shelf {
	if a.kinds[kind] == nil {
		a.kinds[kind] = &shelf{}
	}
	return a.kinds[kind]
}

// Get is the object as it is, nil when there is none. It must not be changed.
func Get[T any, P interface {
	*T
	client.Object
}](a *API, namespace, name string) P {
	var none P
	found, ok := a.shelf(kindOf(none)).get(types.NamespacedName{Namespace: namespace, Name: name}).(P)
	if !ok {
		return nil
	}
	return found
}

// All are the objects of a kind, sorted. They must not be changed.
func All[T any, P interface {
	*T
	client.Object
}](a *API) []P {
	var none P
	var all []P
	for _, obj := range a.shelf(kindOf(none)).objects {
		if one, ok := obj.(P); ok {
			all = append(all, one)
		}
	}
	return all
}

// Everything is all that there is of some kinds, sorted. It must not be changed.
func (a *API) Everything(kinds ...string) []client.Object {
	var all []client.Object
	for _, kind := range kinds {
		all = append(all, a.shelf(kind).objects...)
	}
	return all
}

// Put makes or changes an object by the hand of a person or a controller; its status too.
func (a *API) Put(obj client.Object) {
	if was := a.stored(obj); was != nil {
		obj.SetGeneration(generation(was, obj))
		a.store(was, obj)
		return
	}
	a.create(obj)
}

// Remove deletes an object by the hand of a person or a controller, with its own grace.
func (a *API) Remove(obj client.Object) {
	if was := a.stored(obj); was != nil {
		a.delete(was, nil)
	}
}

func (a *API) stored(obj client.Object) client.Object {
	return a.shelf(kindOf(obj)).get(client.ObjectKeyFromObject(obj))
}

// create gives the object all that an API server gives it. Its UID tells which of its name it is, so that it is the same
// in every run.
func (a *API) create(obj client.Object) {
	id := kindOf(obj) + "/" + obj.GetNamespace() + "/" + obj.GetName()
	a.born[id]++
	obj.SetUID(types.UID(id + "#" + strconv.Itoa(a.born[id])))
	obj.SetCreationTimestamp(a.second())
	obj.SetGeneration(1)
	obj.SetDeletionTimestamp(nil)
	if pod, ok := obj.(*corev1.Pod); ok {
		pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
	}
	a.store(nil, obj)
}

// second is the time as it is in an object.
func (a *API) second() metav1.Time { return metav1.NewTime(a.Line.Now().Truncate(time.Second)) }

// store makes obj the object of its name. It belongs to the API server from now on.
func (a *API) store(was, obj client.Object) {
	a.version++
	obj.SetResourceVersion(strconv.FormatInt(a.version, 10))
	a.past[obj.GetResourceVersion()] = obj
	a.shelf(kindOf(obj)).put(client.ObjectKeyFromObject(obj), obj)
	a.tell(was, obj)
	if obj.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0 && kindOf(obj) != "Pod" {
		a.drop(obj)
	}
}

// drop takes an object away, and later what it owned.
func (a *API) drop(was client.Object) {
	a.version++
	a.shelf(kindOf(was)).put(client.ObjectKeyFromObject(was), nil)
	a.tell(was, nil)
	a.Line.After(collectAfter, func() { a.collect(was.GetUID()) })
}

// collectAfter is how long the garbage collector takes to notice that an owner is gone.
const collectAfter = 150 * time.Millisecond

// collect deletes what an owner that is gone has left.
func (a *API) collect(owner types.UID) {
	for _, kind := range []string{"ConfigMap", "Pod", "PodDisruptionBudget", "Secret", "Service", "ValkeyNode"} {
		for _, obj := range slices.Clone(a.shelf(kind).objects) {
			if c := metav1.GetControllerOf(obj); c != nil && c.UID == owner {
				a.delete(obj, nil)
			}
		}
	}
}

func (a *API) tell(was, is client.Object) {
	for _, c := range a.caches {
		c.hear(was, is)
	}
	a.Changed(was, is)
}

// delete begins the end of an object. A Pod that runs has its grace, which a second delete can only shorten.
func (a *API) delete(was client.Object, grace *int64) {
	pod, is := was.(*corev1.Pod)
	switch {
	case is && graceOf(pod, grace) == 0:
		a.drop(was)
	case is:
		a.deletePod(pod, graceOf(pod, grace))
	case len(was.GetFinalizers()) == 0:
		a.drop(was)
	case was.GetDeletionTimestamp() == nil:
		ending := copyOf(was)
		now := a.second()
		ending.SetDeletionTimestamp(&now)
		a.store(was, ending)
	}
}

func (a *API) deletePod(was *corev1.Pod, grace int64) {
	if had := was.DeletionGracePeriodSeconds; had != nil && *had <= grace {
		return
	}
	ending := was.DeepCopy()
	ends := metav1.NewTime(a.Line.Now().Add(time.Duration(grace) * time.Second).Truncate(time.Second))
	ending.DeletionTimestamp, ending.DeletionGracePeriodSeconds = &ends, &grace
	a.store(was, ending)
}

// graceOf is how long a Pod has: none if no machine has it yet or its container has ended.
func graceOf(pod *corev1.Pod, asked *int64) int64 {
	switch {
	case asked != nil && *asked == 0, pod.Spec.NodeName == "", pod.Status.Phase == corev1.PodFailed, pod.Status.Phase == corev1.PodSucceeded:
		return 0
	case asked != nil:
		return *asked
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		return *pod.Spec.TerminationGracePeriodSeconds
	default:
		return corev1.DefaultTerminationGracePeriodSeconds
	}
}

func copyOf(obj client.Object) client.Object {
	return obj.DeepCopyObject().(client.Object)
}
