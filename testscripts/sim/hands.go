package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/testscripts/sim/kube"
	"valkey.gomomento.com/operator/testscripts/sim/model"
)

// What people do to a cluster by hand, past the specs.

// objectOf is the object that a word of a script names, nil when there is none. It must be copied before it is changed.
func (w *World) objectOf(args []string) (client.Object, error) {
	switch args[0] {
	case "cluster":
		return orNil(w.cluster()), nil
	case "config":
		return orNil(kube.Get[v1alpha1.ValkeyConfig](w.api, "", configName)), nil
	case "service":
		return orNil(kube.Get[corev1.Service](w.api, namespace, objects.ServiceName(clusterName))), nil
	case "budget":
		return orNil(kube.Get[policyv1.PodDisruptionBudget](w.api, namespace, objects.ServiceName(clusterName))), nil
	case "users":
		return orNil(kube.Get[corev1.ConfigMap](w.api, namespace, objects.ACLName(clusterName))), nil
	case "secret", "guard":
		return orNil(kube.Get[corev1.Secret](w.api, namespace, objects.AuthName(clusterName))), nil
	case "node", "conf":
		s, err := w.who(args[1:])
		if err != nil || s == nil {
			return nil, err
		}
		if args[0] == "conf" {
			return orNil(kube.Get[corev1.ConfigMap](w.api, namespace, objects.ConfigName(s.Name))), nil
		}
		return orNil(kube.Get[v1alpha1.ValkeyNode](w.api, namespace, s.Name)), nil
	}
	return nil, fmt.Errorf("no object is called %q here", args[0])
}

// orNil makes no object of a pointer to none.
func orNil[T any, P interface {
	*T
	client.Object
}](obj P) client.Object {
	if obj == nil {
		return nil
	}
	return obj
}

// doRemove deletes an object that the operator has made, or the cluster.
func (w *World) doRemove(args []string) error {
	return w.held(func() error {
		obj, err := w.objectOf(args)
		if err != nil || obj == nil {
			return err
		}
		if s := w.servers.FindByName(obj.GetName()); s != nil {
			s.Deleted()
		}
		w.judge.disturbed = true
		if args[0] == "guard" || len(args) > 2 && args[1] == "by" {
			obj = w.unguard(obj)
		}
		if args[0] == "guard" {
			return nil
		}
		if args[0] == "cluster" {
			w.judge.removed = w.judge.now()
		}
		w.api.Remove(obj)
		return nil
	})
}

// unguard takes off an object what keeps it from being edited or from vanishing.
func (w *World) unguard(obj client.Object) client.Object {
	open, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return obj
	}
	if secret, is := open.(*corev1.Secret); is {
		secret.Immutable = nil
	}
	open.SetFinalizers(nil)
	w.api.Put(open)
	return open
}

// somebody is who gives commands by hand: not an operator, but one who has a server's password.
const somebody = "somebody"

// orderedBy sends a command to a server in the name of an operator or of somebody.
func orderedBy(whom string) func(*World, []string) error {
	return func(w *World, args []string) error {
		if len(args) < 4 {
			return fmt.Errorf("%d words instead of 4 or more", len(args))
		}
		return w.held(func() error {
			s, err := w.who(args[:2])
			if err != nil || s == nil {
				return err
			}
			err = s.Order(whom, w.withIDs(args[2:]))
			if err != nil {
				w.judge.tell("refused: %v", err)
			}
			if whom == somebody {
				w.judge.byHand(s, args[3], err)
			}
			return nil
		})
	}
}

// byHand notes what somebody has done to a server.
func (j *judge) byHand(s *model.Server, word string, err error) {
	j.disturbed = true
	switch {
	case err != nil:
	case word == "REPLICATE":
		s.Attached() // its copy is thrown away
	case word == "FORGET":
		j.forgot = j.now()
	case word == "FAILOVER":
		j.promoted = j.now()
	}
}

// withIDs puts ids in the place of words such as @primary/0.
func (w *World) withIDs(command []string) []string {
	command = slices.Clone(command)
	for i, word := range command {
		if named, is := strings.CutPrefix(word, "@"); is {
			if other, err := w.who(strings.Split(named, "/")); err == nil && other != nil {
				command[i] = other.ID
			}
		}
	}
	return command
}

// doSlow lets an operator be slow: it acts on what was so when it looked.
func (w *World) doSlow(args []string) error {
	return w.held(func() error {
		d, err := time.ParseDuration(args[1])
		if o := w.operator(args[0]); o != nil {
			o.slow = d
		}
		return err
	})
}

const (
	// drainRetry is how often `kubectl drain` asks again for an eviction that is refused.
	drainRetry = 5 * time.Second
	drainTries = 40
)

// doDrain cordons a machine and evicts what is on it, again and again until the disruption budget lets each Pod go.
func (w *World) doDrain(args []string) error {
	return w.held(func() error {
		host, err := w.host(args)
		if err != nil || host == "" {
			return err
		}
		w.judge.disturbed = true
		w.machines.Cordon(host, true)
		w.evict(host, drainTries)
		return nil
	})
}

func (w *World) evict(host string, tries int) {
	left := w.machines.Evict(host, func(pod *corev1.Pod) {
		if s := w.servers.Find(pod.UID); s != nil {
			w.judge.tell("%s is evicted", s.Name)
			w.judge.evicted(s)
			s.Deleted()
		}
	})
	if left && tries > 0 {
		w.line.After(drainRetry, func() { w.evict(host, tries-1) })
	}
}

// evicted judges an eviction that the budget has granted: the shard must have another copy.
func (j *judge) evicted(s *model.Server) {
	spec := j.w.cluster()
	if spec == nil || spec.DeletionTimestamp != nil || spec.Spec.ReplicasPerShard == 0 || !s.Runs() {
		return
	}
	head := s
	if p := s.Primary(); p != nil {
		head = p
	}
	if head.Slots() == 0 || j.excused(s) || j.justPromoted() {
		return
	}
	another := func(r *model.Server) bool { return r != s && (r == head || r.InSync() && r.Primary() == head) }
	if !slices.ContainsFunc(j.w.servers.Servers(), another) {
		j.accuse("the eviction of %s is granted, and its shard has no other copy", s.Name)
	}
}

// justPromoted says that somebody has just let a replica take over by hand: the others sync again, and no budget can have
// known of it.
func (j *judge) justPromoted() bool { return j.promoted > 0 && j.now() < j.promoted+race }

// doGone waits for the end of a cluster that has been removed: nothing of it may be left.
func (w *World) doGone([]string) error {
	gone := func() bool { return w.cluster() == nil && len(w.nodes()) == 0 && len(kube.All[corev1.Pod](w.api)) == 0 }
	ok := w.pass(goneLimit, gone)
	w.pass(2*time.Second, func() bool { return false })
	w.line.Hold()
	defer w.line.LetGo()
	if !ok {
		w.judge.accuse("the cluster is not gone after %s", goneLimit)
		return nil
	}
	for _, left := range w.api.Everything("ConfigMap", "Pod", "PodDisruptionBudget", "Secret", "Service", "ValkeyNode", "ValkeyCluster") {
		w.judge.accuse("%s %s is left", left.GetObjectKind().GroupVersionKind().Kind, left.GetName())
	}
	for _, s := range w.servers.Servers() {
		w.judge.accuse("%s still runs", s.Name)
	}
	return nil
}

// goneLimit is in how much time a cluster that is deleted must be gone, which SPEC gives 30 s with kubelets that are there.
const goneLimit = 30 * time.Second
