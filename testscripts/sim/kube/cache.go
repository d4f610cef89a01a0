package kube

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/operator/observe"
)

// A Cache is what one operator's watches have told it so far. Each kind lags by itself, and none goes back in time.
type Cache struct {
	// Lag is how long a change of a kind is on its way.
	Lag func(kind string) time.Duration
	// Told is told of each change when it arrives, as the handlers of a watch are.
	Told func(was, is client.Object)

	// Blocked says that nothing comes through now.
	Blocked func() bool

	api    *API
	kinds  map[string]*shelf
	coming map[string][]change
}

// A change is one that is on its way; of an object that is gone only the key is left.
type change struct {
	at  time.Time
	key types.NamespacedName
	is  client.Object
}

// rewatch is how often a watch that is blocked is tried again.
const rewatch = 500 * time.Millisecond

// NewCache is a cache that has just been filled.
func (a *API) NewCache() *Cache {
	c := &Cache{
		Lag: func(string) time.Duration { return 0 }, Told: func(_, _ client.Object) {}, Blocked: func() bool { return false },
		api: a, kinds: map[string]*shelf{}, coming: map[string][]change{},
	}
	for kind, s := range a.kinds {
		c.kinds[kind] = &shelf{objects: append([]client.Object(nil), s.objects...)}
	}
	a.caches = append(a.caches, c)
	return c
}

// Close ends the watches.
func (c *Cache) Close() {
	for i, other := range c.api.caches {
		if other == c {
			c.api.caches = append(c.api.caches[:i:i], c.api.caches[i+1:]...)
			return
		}
	}
}

func (c *Cache) shelf(kind string) *shelf {
	if c.kinds[kind] == nil {
		c.kinds[kind] = &shelf{}
	}
	return c.kinds[kind]
}

// hear lets a change arrive in its time.
func (c *Cache) hear(was, is client.Object) {
	obj := is
	if obj == nil {
		obj = was
	}
	kind := kindOf(obj)
	at := c.api.Line.Now().Add(c.Lag(kind))
	if waiting := c.coming[kind]; len(waiting) > 0 && at.Before(waiting[len(waiting)-1].at) {
		at = waiting[len(waiting)-1].at
	}
	c.coming[kind] = append(c.coming[kind], change{at: at, key: client.ObjectKeyFromObject(obj), is: is})
	c.api.Line.At(at, func() { c.arrive(kind) })
}

// arrive takes in what is due of a kind.
func (c *Cache) arrive(kind string) {
	if c.Blocked() {
		c.api.Line.After(rewatch, func() { c.arrive(kind) })
		return
	}
	for len(c.coming[kind]) > 0 && !c.coming[kind][0].at.After(c.api.Line.Now()) {
		next := c.coming[kind][0]
		c.coming[kind] = c.coming[kind][1:]
		had := c.shelf(kind).get(next.key)
		c.shelf(kind).put(next.key, next.is)
		c.Told(had, next.is)
	}
}

// indexed is the value of an object under one of the operator's indexes.
func indexed(obj client.Object, index string) string {
	if index == observe.ClusterIndex {
		return obj.GetLabels()[objects.LabelInstance]
	}
	return hostOf(obj)
}
