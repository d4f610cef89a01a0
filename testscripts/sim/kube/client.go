package kube

import (
	"context"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A Gate is the way of one operator to the API server: it lasts as long as the request takes, and may lose the request or
// the reply to it.
type Gate interface {
	// Pass waits until the request has arrived. An error says that it has not.
	Pass(ctx context.Context, verb, what string) error
	// Return says whether the reply arrives; the world is held.
	Return(verb, what string) error
}

// A Client writes to the API server, and reads from a cache or, without one, from the API server.
type Client struct {
	// What the operator never calls is nil.
	client.Client
	API   *API
	Cache *Cache
	Gate  Gate
	// Wrote is told of every write that was asked for; the world is held.
	Wrote func(verb, what string, obj client.Object)
}

var (
	_ client.Client = &Client{}
	_ client.Reader = &Client{}
)

// known is the object's kind and name or, of one that is made up at random and does not exist, only its kind: the chance that
// a request has must be the same in every run.
func (c *Client) known(kind string, key types.NamespacedName) string {
	if kind == "ValkeyNode" || kind == "Pod" {
		c.API.Line.Hold()
		defer c.API.Line.LetGo()
		if c.API.shelf(kind).get(key) == nil && c.API.shelf("ValkeyNode").get(key) == nil {
			return kind
		}
	}
	return kind + "/" + key.Name
}

func notFound(kind, name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: kind}, name)
}

func conflict(obj client.Object) error {
	return apierrors.NewConflict(schema.GroupResource{Resource: kindOf(obj)}, obj.GetName(), fmt.Errorf("another version is stored"))
}

// hold takes hold of the world to read from a shelf.
func (c *Client) hold(ctx context.Context, verb, what string) (shelves func(kind string) *shelf, letGo func(), err error) {
	if c.Cache != nil {
		c.API.Line.Hold()
		return c.Cache.shelf, c.API.Line.LetGo, nil
	}
	if err := c.Gate.Pass(ctx, verb, what); err != nil {
		return nil, nil, err
	}
	c.API.Line.Hold()
	if err := c.Gate.Return(verb, what); err != nil {
		c.API.Line.LetGo()
		return nil, nil, err
	}
	return c.API.shelf, c.API.Line.LetGo, nil
}

// Get implements client.Reader.
func (c *Client) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	var o client.GetOptions
	o.ApplyOptions(opts)
	kind := kindOf(into)
	what := kind
	if c.Cache == nil {
		what = c.known(kind, key)
	}
	shelves, letGo, err := c.hold(ctx, "get", what)
	if err != nil {
		return err
	}
	defer letGo()
	found := shelves(kind).get(key)
	if found == nil {
		return notFound(kind, key.Name)
	}
	if shared(o.UnsafeDisableDeepCopy) {
		assign(into, found)
	} else {
		assign(into, copyOf(found))
	}
	return nil
}

// shared says that the caller will not change what it gets.
func shared(option *bool) bool { return option != nil && *option }

// List implements client.Reader, by namespace, labels and the two indexes that the operator makes.
func (c *Client) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	kind := kindOf(into)
	shelves, letGo, err := c.hold(ctx, "list", kind)
	if err != nil {
		return err
	}
	defer letGo()
	if shared(o.UnsafeDisableDeepCopy) {
		return shelves(kind).share(into, &o)
	}
	var found []runtime.Object
	for _, obj := range shelves(kind).objects {
		if selected(obj, &o) {
			found = append(found, copyOf(obj))
		}
	}
	return meta.SetList(into, found)
}

// share fills a list with the objects themselves. To copy them into one again, pass after pass, costs more than to find them.
func (s *shelf) share(into client.ObjectList, o *client.ListOptions) error {
	what := fmt.Sprint(o.Namespace, "?", o.LabelSelector, "?", o.FieldSelector)
	items := reflect.ValueOf(into).Elem().FieldByName("Items")
	if had, known := s.lists[what]; known {
		items.Set(had)
		return nil
	}
	var found []runtime.Object
	for _, obj := range s.objects {
		if selected(obj, o) {
			found = append(found, obj)
		}
	}
	if err := meta.SetList(into, found); err != nil {
		return err
	}
	if s.lists == nil {
		s.lists = map[string]reflect.Value{}
	}
	s.lists[what] = reflect.ValueOf(items.Interface())
	return nil
}

// Create implements client.Writer.
func (c *Client) Create(ctx context.Context, obj client.Object, _ ...client.CreateOption) error {
	return c.write(ctx, "create", obj, func(was client.Object) error {
		if was != nil {
			return apierrors.NewAlreadyExists(schema.GroupResource{Resource: kindOf(obj)}, obj.GetName())
		}
		made := copyOf(obj)
		c.API.Admit(made)
		if c.API.stored(made) != nil {
			return apierrors.NewAlreadyExists(schema.GroupResource{Resource: kindOf(obj)}, made.GetName())
		}
		c.API.create(made)
		assign(obj, copyOf(made))
		return nil
	})
}

// Delete implements client.Writer.
func (c *Client) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	var o client.DeleteOptions
	o.ApplyOptions(opts)
	return c.write(ctx, "delete", obj, func(was client.Object) error {
		switch {
		case was == nil:
			return notFound(kindOf(obj), obj.GetName())
		case o.Preconditions != nil && o.Preconditions.UID != nil && *o.Preconditions.UID != was.GetUID():
			return conflict(obj)
		}
		c.API.delete(was, o.GracePeriodSeconds)
		return nil
	})
}

// Update implements client.Writer.
func (c *Client) Update(ctx context.Context, obj client.Object, _ ...client.UpdateOption) error {
	return c.write(ctx, "update", obj, func(was client.Object) error {
		switch {
		case was == nil:
			return notFound(kindOf(obj), obj.GetName())
		case obj.GetResourceVersion() != "" && obj.GetResourceVersion() != was.GetResourceVersion():
			return conflict(obj)
		}
		c.change(was, keep(was, copyOf(obj), false), obj, false)
		return nil
	})
}

// Patch implements client.Writer.
func (c *Client) Patch(ctx context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	return c.patch(ctx, obj, patch, false)
}

func (c *Client) patch(ctx context.Context, obj client.Object, patch client.Patch, status bool) error {
	verb := "patch"
	if status {
		verb = "patch status of"
	}
	return c.write(ctx, verb, obj, func(was client.Object) error {
		if was == nil {
			return notFound(kindOf(obj), obj.GetName())
		}
		is, lost, err := c.API.patched(was, obj, patch)
		if err != nil {
			return err
		}
		if lost {
			return conflict(obj)
		}
		c.change(was, keep(was, is, status), obj, status)
		return nil
	})
}

// change stores the object, unless it is as it was, and gives it back to the caller.
func (c *Client) change(was, is, caller client.Object, status bool) {
	if same(was, is, status) {
		is = was
	} else {
		c.API.store(was, is)
	}
	assign(caller, copyOf(is))
}

func (c *Client) write(ctx context.Context, verb string, obj client.Object, do func(was client.Object) error) error {
	what := c.known(kindOf(obj), client.ObjectKeyFromObject(obj))
	if err := c.Gate.Pass(ctx, verb, what); err != nil {
		return err
	}
	c.API.Line.Hold()
	defer c.API.Line.LetGo()
	was := c.API.stored(obj)
	c.Wrote(verb, what, was)
	if err := do(was); err != nil {
		return err
	}
	return c.Gate.Return(verb, what)
}

// Status implements client.StatusClient.
func (c *Client) Status() client.SubResourceWriter { return statusWriter{c: c} }

// A statusWriter writes status only.
type statusWriter struct {
	client.SubResourceWriter
	c *Client
}

// Patch implements client.SubResourceWriter.
func (w statusWriter) Patch(ctx context.Context, obj client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	return w.c.patch(ctx, obj, patch, true)
}

// selected says that a list with these options has the object.
func selected(obj client.Object, o *client.ListOptions) bool {
	if o.Namespace != "" && obj.GetNamespace() != o.Namespace {
		return false
	}
	if o.LabelSelector != nil && !o.LabelSelector.Matches(labelsOf(obj)) {
		return false
	}
	if o.FieldSelector == nil {
		return true
	}
	for _, r := range o.FieldSelector.Requirements() {
		if indexed(obj, r.Field) != r.Value {
			return false
		}
	}
	return true
}

// A labelSet is an object's labels as selectors ask for them.
type labelSet map[string]string

func labelsOf(obj client.Object) labelSet { return obj.GetLabels() }

// Has implements labels.Labels.
func (l labelSet) Has(name string) bool { _, has := l[name]; return has }

// Get implements labels.Labels.
func (l labelSet) Get(name string) string { return l[name] }

// Lookup implements labels.Labels.
func (l labelSet) Lookup(name string) (string, bool) { value, has := l[name]; return value, has }

// Key is the key of an object in the namespace of the cluster.
func Key(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func hostOf(obj client.Object) string {
	if pod, ok := obj.(*corev1.Pod); ok {
		return pod.Spec.NodeName
	}
	return ""
}
