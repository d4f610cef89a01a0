// Package decide holds the pure scenarios: what the operator would do next,
// and why, in a cluster on paper. Each .txtar reads as a page of documentation;
// the verbs it may use are listed in commands below.
package decide

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"valkey.gomomento.com/operator/actions"
	cuefiles "valkey.gomomento.com/operator/cue"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/ruleset"
)

var (
	update   = flag.Bool("update", false, "rewrite the want/ sections of the scenarios")
	rulesDir = flag.String("rules", "", "a copy of the CUE module whose rules are asked in place of the operator's, for its mutants")
)

// TestDecide runs the scenarios, and fails when one of the rules decides in none.
func TestDecide(t *testing.T) {
	rules := loadRules(t)
	told := &decided{rules: map[string]bool{}}
	t.Cleanup(func() {
		for _, r := range rules {
			if !told.rules[r.Name] && !t.Failed() {
				t.Errorf("rule %s decides in no scenario", r.Name)
			}
		}
	})
	testscript.Run(t, testscript.Params{
		Dir: ".", Cmds: commands,
		RequireExplicitExec: true, RequireUniqueNames: true, UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			e.Values[benchKey{}] = &bench{rules: slices.Clone(rules), told: told}
			return nil
		},
	})
}

func loadRules(t testing.TB) []engine.Rule {
	t.Helper()
	var files fs.FS = cuefiles.FS
	if *rulesDir != "" {
		files = os.DirFS(*rulesDir)
	}
	rules, err := ruleset.Load(files, actions.New)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// A bench is one scenario: its world and the rules asked of it.
type bench struct {
	rules []engine.Rule
	world *world
	told  *decided
}

// decided are the rules that the scenarios have shown to decide.
type decided struct {
	mu    sync.Mutex
	rules map[string]bool
}

func (d *decided) note(rule string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rules[rule] = true
}

type benchKey struct{}

func at(ts *testscript.TestScript) *bench { return ts.Value(benchKey{}).(*bench) }

// commands is the vocabulary of the scenarios.
var commands = map[string]func(*testscript.TestScript, bool, []string){
	"cluster":   cmdCluster,   // cluster SHARDSxREPLICAS [formed]: a new ValkeyCluster, or one that is Active
	"edit":      cmdEdit,      // edit FIELD VALUE: change the cluster's spec or object
	"drift":     cmdDrift,     // drift NODE DIRECTIVE VALUE: somebody changes a setting on a running server
	"pods":      cmdPods,      // pods running|pending|failed|deleted NODE|new [TROUBLE]: what became of Pods
	"gain":      cmdGain,      // gain node SHARD | stray KIND/NAME | server|link|news NODE | job|failed|slots FROM TO SLOTS | mark FROM TO SLOT: something is there
	"lose":      cmdLose,      // lose pod|node|record|server|link|news|sight|host|[next-]secret|memory|object|budget [NODE|HOST] [WHY|OWNER|OTHER]: something vanishes; a node begins to, its record is gone; a server hears no news, and not what an owner holds, or does not reach another one
	"elect":     cmdElect,     // elect NODE: the primaries elect a replica without being asked
	"servers":   cmdServers,   // servers version|used|offset|room|keys|fieldttls NODE|all VALUE: what servers report
	"zone":      cmdZone,      // zone NODE ZONE [HOST]: where the node's Pod runs
	"offer":     cmdOffer,     // offer SECRET REVISION|none: the spec names this TLS Secret, which holds this
	"cordon":    cmdCordon,    // cordon HOST: the Kubernetes node takes no new Pods
	"uncordon":  cmdUncordon,  // uncordon HOST: it takes Pods again
	"evictable": cmdEvictable, // evictable COUNT: so many Pods may be evicted now
	"stuck":     cmdStuck,     // stuck [NODE...]: whose kubelet brings no new certificate
	"tick":      cmdTick,      // tick DURATION: time passes
	"decide":    cmdDecide,    // decide [asked]: print the decision, if asked with all the rules that were asked before
	"act":       cmdAct,       // act: carry out the last decision on paper
	"settle":    cmdSettle,    // settle: decide and act until it holds or has nothing to do; print each step
}

func cmdCluster(ts *testscript.TestScript, _ bool, args []string) {
	b := at(ts)
	b.world = newWorld(*topologyOf(ts, args[0]))
	if len(args) > 1 {
		ts.Check(b.form())
	}
}

// topologyOf reads SHARDSxREPLICAS.
func topologyOf(ts *testscript.TestScript, text string) *engine.Topology {
	var t engine.Topology
	_, err := fmt.Sscanf(text, "%dx%d", &t.Shards, &t.ReplicasPerShard)
	ts.Check(err)
	return &t
}

// form lets the rules bring the cluster up, with every Pod running as soon as it is made.
func (b *bench) form() error {
	for range 50 {
		d := b.step()
		if d.Idle() {
			return nil
		}
		for i := range b.world.Nodes {
			if n := &b.world.Nodes[i]; n.Server == nil {
				b.world.run(n)
			}
		}
		if !d.Acts() {
			continue
		}
		if err := b.world.act(); err != nil {
			return err
		}
	}
	return fmt.Errorf("the cluster did not form: %v", b.world.last)
}

func cmdEdit(ts *testscript.TestScript, _ bool, args []string) {
	w, value := at(ts).world, strings.Join(args[1:], " ")
	switch args[0] {
	case "paused", "deleting", "kept", "rotation":
		w.editCluster(ts, args[0], value)
	case "fleet":
		w.RollHeld = value
	case "failing": // what the rule asks for is refused, and the next one is asked
		w.failures = []engine.Failure{{Rule: value, Err: errors.New("refused")}}
	case "unnoticed":
		w.unnoticed, w.doubted = value == "true" || value == "doubted", value == "doubted"
	case "users":
		w.users = value
	case "secret":
		w.editSecret(ts, value)
	case "mounted":
		w.mounted = value
	case "annotation":
		w.desired.PodAnnotations = map[string]string{"team": value}
	case "setting":
		w.editSetting(args[1], args[2:])
	case "service":
		w.Objects = []engine.Object{{Kind: "Service", Name: "cart", Content: value}}
	case "primary", "leaving", "evict", "acl":
		w.editNode(w.node(args[1]), args)
	default:
		w.editDesired(ts, args[0], value)
	}
}

// editCluster changes what the ValkeyCluster says of itself.
func (w *world) editCluster(ts *testscript.TestScript, field, value string) {
	switch field {
	case "paused":
		w.Cluster.Paused = value == "true"
	case "deleting":
		w.Cluster.Deleting = true
	case "kept":
		w.Cluster.Kept = topologyOf(ts, value)
	case "rotation":
		w.Cluster.Rotation = value
	}
}

// editNode changes what is seen of a node.
func (w *world) editNode(n *engine.Node, args []string) {
	switch args[0] {
	case "primary": // somebody lets its server follow another
		w.follow(n.Server, id(args[2]))
	case "leaving":
		n.Lifecycle = engine.Leaving
	case "evict":
		n.Pod.Annotations = map[string]string{engine.EvictAnnotation: args[2]}
	case "acl": // somebody edits its users
		n.Server.Users = args[2]
	}
}

// editDesired changes what the specs derive to.
func (w *world) editDesired(ts *testscript.TestScript, field, value string) {
	switch field {
	case "memory":
		w.desired.Node.Memory = value
	case "image":
		w.desired.Node.Image, w.desired.Version = value, strings.TrimPrefix(value, "valkey:")
	case "problem":
		w.desired.Problem = value
	case "topology":
		w.desired.Topology = *topologyOf(ts, value)
	default:
		ts.Fatalf("edit: no field %s", field)
	}
}

func cmdPods(ts *testscript.TestScript, _ bool, args []string) {
	w := at(ts).world
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if args[1] != n.Name && (args[1] != "new" || n.Server != nil || n.Pod == nil) {
			continue
		}
		switch args[0] {
		case "running":
			w.run(n)
		case "deleted":
			n.Pod.Deleting = true
		case "failed":
			n.Pod.Phase, n.Pod.Trouble, n.Server = "Failed", strings.Join(args[2:], " "), nil
		case "pending":
			w.hold(n, strings.Join(args[2:], " "))
		default:
			ts.Fatalf("pods: no state %s", args[0])
		}
	}
}

func cmdLose(ts *testscript.TestScript, _ bool, args []string) {
	w := at(ts).world
	switch args[0] {
	case "server":
		n := w.node(args[1])
		w.away[n.Name], n.Server, n.Silence = n.Server, nil, "timeout"
		if len(args) > 2 {
			n.Silence = args[2]
		}
	case "node":
		w.node(args[1]).Deleting = true
	case "host":
		w.loseHost(args[1])
	case "record":
		w.Nodes = slices.DeleteFunc(w.Nodes, func(n engine.Node) bool { return n.Name == args[1] })
	case "link":
		w.node(args[1]).Server.LinkUp = false
	case "sight":
		w.loseSight(args[1], args[2])
	case "news":
		w.deaf = append(w.deaf, args[1])
		for _, owner := range args[2:] {
			w.node(args[1]).Server.Peer(w.node(owner).Server.ID).Slots = nil
		}
	case "pod":
		n := w.node(args[1])
		n.Server, n.Pod = nil, nil
	default:
		loseOwned(ts, w, args[0])
	}
}

// loseOwned takes away what belongs to the cluster and to no node.
func loseOwned(ts *testscript.TestScript, w *world, what string) {
	switch what {
	case "secret":
		w.Auth = nil
	case "next-secret":
		w.NextAuth = nil
	case "memory":
		w.remembered = ""
	case "object":
		w.Objects = nil
	case "budget":
		w.Budget = nil
	default:
		ts.Fatalf("lose: what is a %s?", what)
	}
}

func cmdGain(ts *testscript.TestScript, _ bool, args []string) {
	w := at(ts).world
	switch args[0] {
	case "node":
		shard, err := strconv.Atoi(args[1])
		ts.Check(err)
		w.addNode(shard)
	case "server":
		w.node(args[1]).Server = w.away[args[1]]
	case "link":
		w.node(args[1]).Server.LinkUp = true
	case "news":
		w.deaf = slices.DeleteFunc(w.deaf, func(n string) bool { return n == args[1] })
	case "stray":
		w.Strays = append(w.Strays, args[1])
	case "job":
		ts.Check(w.addJob(args[1], args[2], args[3], "replicating", ""))
	case "failed":
		ts.Check(w.addJob(args[1], args[2], args[3], "failed", "Connection lost to target"))
	case "slots":
		ts.Check(w.divert(args[1], args[2], args[3]))
	case "mark":
		slot, err := strconv.Atoi(args[3])
		ts.Check(err)
		w.mark(args[1], args[2], slot)
	default:
		ts.Fatalf("gain: what is a %s?", args[0])
	}
}

func cmdServers(ts *testscript.TestScript, _ bool, args []string) {
	w := at(ts).world
	for i := range w.Nodes {
		s := w.Nodes[i].Server
		if s == nil || args[1] != "all" && args[1] != w.Nodes[i].Name {
			continue
		}
		number, err := strconv.ParseInt(args[2], 10, 64)
		switch args[0] {
		case "version":
			s.Version, err = args[2], nil
		case "used":
			s.UsedMemory = number
		case "offset":
			s.Offset = number
		case "room":
			s.MaxMemory = number
		case "keys":
			s.Keys = number
		case "fieldttls":
			s.FieldTTLs = number
		default:
			ts.Fatalf("servers: what is %s?", args[0])
		}
		ts.Check(err)
	}
}

func cmdZone(ts *testscript.TestScript, _ bool, args []string) {
	pod := at(ts).world.node(args[0]).Pod
	pod.Zone = args[1]
	if len(args) > 2 {
		pod.HostNode = args[2]
	}
}

func cmdTick(ts *testscript.TestScript, _ bool, args []string) {
	d, err := time.ParseDuration(args[0])
	ts.Check(err)
	at(ts).world.At = at(ts).world.At.Add(d)
}

// step lets gossip do its part, then decides.
func (b *bench) step() engine.Decision {
	b.world.gossip()
	b.world.revise()
	b.world.last = engine.Decide(engine.Diff(b.world.Snapshot, b.world.desired), b.rules, b.world.failures...)
	return b.world.last
}

// stepIn is a step of a scenario, in which no rule may care for a cluster that nobody may touch.
func (b *bench) stepIn(ts *testscript.TestScript) engine.Decision {
	d := b.step()
	if rule := b.meddler(); rule != "" {
		ts.Fatalf("rule %s would hold here in a cluster that is paused, deleted or not guarded", rule)
	}
	return d
}

// meddler is a rule that would care for the cluster although it were paused, being deleted or without its finalizer.
func (b *bench) meddler() string {
	for _, touch := range []func(*engine.Cluster){
		func(c *engine.Cluster) { c.Paused = true }, func(c *engine.Cluster) { c.Deleting = true }, func(c *engine.Cluster) { c.Finalizer = false },
	} {
		snapshot := b.world.Snapshot
		touch(&snapshot.Cluster)
		facts := engine.Diff(snapshot, b.world.desired)
		for i := range b.rules {
			if held, err := b.rules[i].When.Holds(facts); b.rules[i].Phase != "lifecycle" && (held || err != nil) {
				return b.rules[i].Name
			}
		}
	}
	return ""
}

func cmdDecide(ts *testscript.TestScript, _ bool, args []string) {
	d := at(ts).stepIn(ts)
	if len(args) == 0 {
		d.Asked = nil
	}
	at(ts).told.note(d.Rule)
	_, err := fmt.Fprint(ts.Stdout(), d)
	ts.Check(err)
}

func cmdAct(ts *testscript.TestScript, _ bool, _ []string) { ts.Check(at(ts).world.act()) }

func cmdSettle(ts *testscript.TestScript, _ bool, _ []string) {
	b := at(ts)
	for range 50 {
		d := b.stepIn(ts)
		b.told.note(d.Rule)
		_, err := fmt.Fprintln(ts.Stdout(), headline(d))
		ts.Check(err)
		if !d.Acts() {
			return
		}
		ts.Check(b.world.act())
	}
	ts.Fatalf("it never came to rest")
}

func headline(d engine.Decision) string {
	line, _, _ := strings.Cut(d.String(), "\n")
	if d.Waiting != "" {
		line += ": " + d.Waiting
	}
	return line
}
