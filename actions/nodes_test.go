package actions_test

import (
	"errors"
	"fmt"
	"regexp"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
)

// creating makes n nodes of shard 0 on the sight of the nodes seen.
func creating(n int, seen ...string) *actions.CreateNodes {
	return &actions.CreateNodes{Nodes: make([]engine.NewNode, n), Seen: seen}
}

func TestCreateNodes(t *testing.T) {
	w := newWorld(t, cluster())
	w.run(t, &actions.CreateNodes{Nodes: []engine.NewNode{{ShardIndex: 0}, {ShardIndex: 2, Join: engine.JoinReplica}}})
	nodes := w.names(t, &v1alpha1.ValkeyNodeList{})
	same(t, "pods", w.names(t, &corev1.PodList{}), nodes)
	if len(nodes) != 2 {
		t.Fatalf("nodes = %q", nodes)
	}
	for _, name := range nodes {
		if !regexp.MustCompile(`^cart-[0-9a-f]{5}$`).MatchString(name) {
			t.Errorf("a node is called %s", name)
		}
		config := &corev1.ConfigMap{}
		if !w.get(t, objects.ConfigName(name), config) || config.Data["valkey.conf"] != w.Desired.Conf {
			t.Errorf("the configuration of %s is %q", name, config.Data)
		}
	}
}

func TestCreateNodesDoesNothingWhenTheCacheWasBehind(t *testing.T) {
	c := cluster()
	w := newWorld(t, c, node(c, "cart-00001"))
	w.changesNothing(t, creating(2))
	w.changesNothing(t, creating(2, "cart-00001", "cart-00002"))
	w.changesNothing(t, creating(2, "cart-00002"))
	w.run(t, creating(1, "cart-00001"))
	if nodes := w.names(t, &v1alpha1.ValkeyNodeList{}); len(nodes) != 2 {
		t.Errorf("nodes = %q", nodes)
	}
}

func TestCreateNodesDoesNothingForAClusterThatIsBeingDeleted(t *testing.T) {
	newWorld(t, deletingCluster()).changesNothing(t, creating(2))
}

func TestCreateNodesNeedsAConfiguration(t *testing.T) {
	w := newWorld(t, cluster())
	w.Desired = engine.Desired{Problem: `ValkeyConfig "small" not found`}
	w.fails(t, creating(2), "no working member records")
	same(t, "nodes", w.names(t, &v1alpha1.ValkeyNodeList{}), nil)
}

func TestProvisionNodes(t *testing.T) {
	c := cluster()
	of := func(change ...func(*v1alpha1.ValkeyNode)) *v1alpha1.ValkeyNode {
		return node(c, "cart-00001", change...)
	}
	known := func(n *v1alpha1.ValkeyNode) { n.Status.NodeID = "id-1" }
	older := func(n *v1alpha1.ValkeyNode) { n.Spec.ValkeySettings = map[string]string{"maxmemory": "1mb"} }
	cases := map[string]struct {
		node *v1alpha1.ValkeyNode
		also []client.Object
		conf string
		pods []string
	}{
		"a node with nothing":                     {node: of(), conf: "maxmemory \"96mb\"\n", pods: []string{"cart-00001"}},
		"a node of older specs":                   {node: of(older), conf: "map[maxmemory:1mb]", pods: []string{"cart-00001"}},
		"a node whose server was known":           {node: of(known), conf: "maxmemory \"96mb\"\n"},
		"a node that lost only its configuration": {node: of(known), also: []client.Object{pod(t, of())}, conf: "maxmemory \"96mb\"\n", pods: []string{"cart-00001"}},
		"another cluster's node":                  {node: of(func(n *v1alpha1.ValkeyNode) { n.OwnerReferences[0].UID = "another" })},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c, append(tc.also, tc.node)...)
			w.run(t, &actions.ProvisionNodes{Nodes: []string{"cart-00001", "cart-gone"}})
			config := &corev1.ConfigMap{}
			w.get(t, "cart-00001-config", config)
			if config.Data["valkey.conf"] != tc.conf {
				t.Errorf("configuration = %q, want %q", config.Data["valkey.conf"], tc.conf)
			}
			same(t, "pods", w.names(t, &corev1.PodList{}), tc.pods)
			w.run(t, &actions.ProvisionNodes{Nodes: []string{"cart-00001"}})
			same(t, "pods after a second time", w.names(t, &corev1.PodList{}), tc.pods)
		})
	}
}

func TestProvisionNodesTellsWhatIsInTheWay(t *testing.T) {
	c := cluster()
	users := &corev1.Pod{}
	users.Namespace, users.Name = "shop", "cart-00001"
	w := newWorld(t, c, node(c, "cart-00001"), users)
	w.fails(t, &actions.ProvisionNodes{Nodes: []string{"cart-00001"}}, `Pod "cart-00001" exists`)

	w = newWorld(t, c, node(c, "cart-00002"))
	w.Desired.Conf = ""
	w.Conf = func(map[string]string) (string, error) { return "", errors.New("no such directive") }
	w.fails(t, &actions.ProvisionNodes{Nodes: []string{"cart-00002"}}, "configuration of cart-00002: no such directive")
}

func TestDeleteNodes(t *testing.T) {
	c := cluster()
	active := func(n *v1alpha1.ValkeyNode) { n.Spec.Lifecycle = v1alpha1.LifecycleActive }
	leaving := func(n *v1alpha1.ValkeyNode) { n.Spec.Lifecycle = v1alpha1.LifecycleLeaving }
	phase := func(phase corev1.PodPhase) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.Phase = phase }
	}
	member := &server{id: "id-1", lines: []string{
		line("id-1", "myself,master", "-", 1, "connected"), line("id-2", "master", "-", 2, "connected"),
	}}
	owner := &server{id: "id-1", lines: []string{line("id-1", "myself,master", "-", 1, "connected", "0-5460")}}
	n := func(change ...func(*v1alpha1.ValkeyNode)) *v1alpha1.ValkeyNode {
		return node(c, "cart-00001", change...)
	}
	cases := map[string]struct {
		node   *v1alpha1.ValkeyNode
		pod    *corev1.Pod
		server *server
		// others are the flags that the other primaries give it, "" when nobody is heard.
		others string
		host   corev1.ConditionStatus
		kept   bool
		// waits says that the node stays until its Pod is gone.
		waits bool
	}{
		"an active node without a Pod":                                  {node: n(active)},
		"an active node whose container has ended":                      {node: n(active), pod: pod(t, n(), phase(corev1.PodFailed))},
		"an active node whose Pod runs":                                 {node: n(active), pod: pod(t, n()), kept: true},
		"a node that is leaving":                                        {node: n(leaving), pod: pod(t, n()), server: member},
		"a joining node whose Pod never ran":                            {node: n(), pod: pod(t, n(), phase(corev1.PodPending))},
		"a joining node whose server does not answer":                   {node: n(), pod: pod(t, n())},
		"a joining node that knows nobody":                              {node: n(), pod: pod(t, n()), server: fresh("id-1")},
		"a joining node that has met others":                            {node: n(), pod: pod(t, n()), server: member, kept: true},
		"a joining node that holds slots":                               {node: n(), pod: pod(t, n()), server: owner, kept: true},
		"a Pod that takes its time":                                     {node: n(leaving), pod: pod(t, n(), stuck), waits: true},
		"a Pod on a machine that is gone":                               {node: n(leaving), pod: pod(t, n(), stuck), host: corev1.ConditionUnknown},
		"an active node on a machine that is gone, as others know":      {node: n(active), pod: pod(t, n()), others: "master,fail", host: corev1.ConditionUnknown},
		"an active node on a machine that is gone, and others reach it": {node: n(active), pod: pod(t, n()), others: "master", host: corev1.ConditionUnknown, kept: true},
		"an active node on a machine that is gone, and others doubt":    {node: n(active), pod: pod(t, n()), others: "master,fail?", host: corev1.ConditionUnknown, kept: true},
		"an active node on a machine that is gone, and nobody is heard": {node: n(active), pod: pod(t, n()), host: corev1.ConditionUnknown, kept: true},
		"an active node on a machine that is ready, and others lost it": {node: n(active), pod: pod(t, n()), others: "master,fail", kept: true},
		"a Pod that should have ended long ago":                         {node: n(active), pod: pod(t, n(), deleted(11*time.Second))},
		"a Pod that was deleted just now":                               {node: n(active), pod: pod(t, n(), deleted(time.Second)), waits: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			host := machine("machine-1", corev1.ConditionTrue)
			if tc.host != "" {
				host = machine("machine-1", tc.host)
			}
			objs := []client.Object{tc.node, objects.NodeConfig(tc.node, "conf"), host}
			if tc.pod != nil {
				objs = append(objs, tc.pod.DeepCopy())
			}
			w := newWorld(t, c, objs...)
			if tc.server != nil {
				w.servers["cart-00001"] = tc.server
			}
			if tc.others != "" {
				w.employOthers(tc.others)
			}
			w.run(t, &actions.DeleteNodes{Nodes: []string{"cart-00001", "cart-gone"}})
			live := &v1alpha1.ValkeyNode{}
			exists := w.get(t, "cart-00001", live)
			if kept := exists && live.DeletionTimestamp.IsZero(); kept != tc.kept {
				t.Errorf("kept = %v", kept)
			}
			if exists != (tc.kept || tc.waits) {
				t.Errorf("exists = %v", exists)
			}
			if tc.kept && w.writes.count > 0 {
				t.Error("something was written")
			}
			w.run(t, &actions.DeleteNodes{Nodes: []string{"cart-00001"}})
		})
	}
}

func TestRemoveStrays(t *testing.T) {
	c := cluster()
	gone, alive := node(c, "cart-00001"), node(c, "cart-00002")
	reborn := node(c, "cart-00003", func(n *v1alpha1.ValkeyNode) { n.UID = "a later one" })
	users := &corev1.ConfigMap{}
	users.Namespace, users.Name = "shop", "settings"
	w := newWorld(t, c, alive, reborn, users, machine("machine-1", corev1.ConditionTrue),
		objects.NodeConfig(gone, "conf"), pod(t, gone), objects.NodeConfig(alive, "conf"), pod(t, alive),
		objects.NodeConfig(node(c, "cart-00003"), "conf"))
	all := &actions.RemoveStrays{Objects: []string{
		"ConfigMap/cart-00001-config", "Pod/cart-00001", "ConfigMap/cart-00002-config", "Pod/cart-00002",
		"ConfigMap/cart-00003-config", "ConfigMap/settings",
	}}
	w.run(t, all)
	same(t, "pods", w.names(t, &corev1.PodList{}), []string{"cart-00002"})
	same(t, "config maps", w.names(t, &corev1.ConfigMapList{}), []string{"cart-00002-config", "settings"})
	w.changesNothing(t, all)
	w.fails(t, &actions.RemoveStrays{Objects: []string{"Secret/x"}}, "Secret/x")
}

func TestAnnotatePods(t *testing.T) {
	c := cluster()
	n := node(c, "cart-00001")
	w := newWorld(t, c, n, pod(t, n, func(p *corev1.Pod) {
		p.Annotations = map[string]string{"team": "old", "someone/else": "x"}
	}))
	all := &actions.AnnotatePods{Nodes: []string{"cart-00001", "cart-gone"}}
	w.run(t, all)
	p := &corev1.Pod{}
	w.get(t, "cart-00001", p)
	if p.Annotations["team"] != "cart" || p.Annotations["someone/else"] != "x" {
		t.Errorf("annotations = %v", p.Annotations)
	}
	w.changesNothing(t, all)
}

func TestLoadACL(t *testing.T) {
	c := cluster()
	n := node(c, "cart-00001")
	revision := desired().ACLRevision
	cases := map[string]struct {
		file    string
		loaded  string
		refuses map[string]string
		err     string
		touched bool
		told    []string
	}{
		"the file has arrived": {
			file: desired().ACLFile, loaded: "flags\noff\npasswords\n" + revision,
			told: []string{"cart-00001: ACL LOAD", "cart-00001: ACL GETUSER _momento_revision"},
		},
		"the file has not arrived": {
			file: desired().ACLFile, loaded: "flags\noff\npasswords\nolder", touched: true,
			told: []string{"cart-00001: ACL LOAD", "cart-00001: ACL GETUSER _momento_revision"},
		},
		"the server refuses the file that is there": {
			file: desired().ACLFile, refuses: map[string]string{"ACL LOAD": "ERR users.acl:3"}, touched: true,
			err:  "cart-00001: ACL LOAD: ERR users.acl:3",
			told: []string{"cart-00001: ACL LOAD", "cart-00001: ACL GETUSER _momento_revision"},
		},
		"the ConfigMap is older": {file: "user default on\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			acl := objects.Owned(c, engine.Desired{ACLFile: tc.file})[1]
			w := newWorld(t, c, n.DeepCopy(), pod(t, n), acl)
			w.servers["cart-00001"] = fresh("id-1")
			w.servers["cart-00001"].says = map[string]string{"ACL GETUSER _momento_revision": tc.loaded}
			w.servers["cart-00001"].refuses = tc.refuses
			w.Desired.ACLFile = desired().ACLFile
			load := &actions.LoadACL{Nodes: []string{"cart-00001"}}
			if tc.err != "" {
				w.fails(t, load, tc.err)
			} else {
				w.run(t, load)
			}
			p := &corev1.Pod{}
			w.get(t, "cart-00001", p)
			if touched := p.Annotations[objects.RevisionAnnotation] == revision; touched != tc.touched {
				t.Errorf("touched = %v", touched)
			}
			same(t, "told", w.servers.told(), tc.told)
			before := w.writes.count
			if err := load.Execute(t.Context(), w.Env); (err != nil) != (tc.err != "") || w.writes.count != before {
				t.Errorf("a second time: %v, %d writes", err, w.writes.count-before)
			}
		})
	}
}

// TestLoadACLSparesReleasesThatCrash: a replica of these ends on ACL LOAD.
func TestLoadACLSparesReleasesThatCrash(t *testing.T) {
	c := cluster()
	w := newWorld(t, c)
	w.Desired.ACLFile = "user default off\nuser ada on #12 ~a* (+get ~b*)\n"
	w.run(t, &actions.ApplyObjects{Objects: []string{"ConfigMap/cart-acl"}})
	w.servers["a"] = fresh("id-1")
	w.servers["a"].says = map[string]string{
		"INFO server": "# Server\r\nvalkey_version:8.0.1\r\n",
		"ACL LIST":    "user default on nopass ~* &* +@all\nuser ada off\nuser eve on #34 ~* +@all",
	}
	w.run(t, &actions.LoadACL{Nodes: []string{"a"}})
	same(t, "told", w.servers.told(), []string{
		"a: ACL SETUSER default reset off", "a: ACL SETUSER ada reset on #12 ~a* (+get ~b*)", "a: ACL SETUSER eve reset",
	})
}

// employOthers adds two primaries that hold all slots and give these flags to the server of cart-00001.
func (w *world) employOthers(flags string) {
	at := func(name, id string) engine.Node {
		return engine.Node{Name: name, LastID: id, Pod: &engine.Pod{IP: "10.0.0.1", Phase: "Running"}}
	}
	w.Snapshot.Nodes = []engine.Node{at("cart-00001", "id-1"), at("cart-00002", "id-2"), at("cart-00003", "id-3")}
	for i, slots := range []string{"0-8191", "8192-16383"} {
		id, other := fmt.Sprintf("id-%d", i+2), fmt.Sprintf("id-%d", 3-i)
		otherSlots := []string{"8192-16383", "0-8191"}[i]
		w.servers[fmt.Sprintf("cart-0000%d", i+2)] = &server{id: id, lines: []string{
			line(id, "myself,master", "-", 2+i, "connected", slots), line(other, "master", "-", 3-i, "connected", otherSlots),
			line("id-1", flags, "-", 1, "connected"),
		}, says: map[string]string{"INFO server": ""}}
	}
}
