package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/testscripts/sim/kube"
	"valkey.gomomento.com/operator/testscripts/sim/model"
)

// A verb is one word of the scripts. It must hold the world itself if it needs to.
type verb struct {
	usage string
	do    func(w *World, args []string) error
}

// verbs are the vocabulary. Whoever is done something to is named by its Pod, or as "primary 0" or "replica 1", which are
// those of the shard at that moment, the first by name.
func verbs() map[string]verb {
	return map[string]verb{
		"seed":     {"NUMBER: what all chance comes from, the first line if it is there", func(*World, []string) error { return nil }},
		"cluster":  {"SHARDS REPLICAS: a cluster is asked for, and an operator starts", (*World).doCluster},
		"tick":     {"DURATION: time passes", (*World).doTick},
		"settle":   {"[DURATION]: time passes until nobody has anything to do, at most so long; then all must be well", (*World).doSettle},
		"rest":     {"time passes until nobody has anything to do", (*World).doRest},
		"kill":     {"WHO: the process ends at once", onServer((*model.Server).Kill, true)},
		"hang":     {"WHO: the process stops executing", onServer((*model.Server).Hang, true)},
		"resume":   {"WHO: a process that hangs goes on", onServer((*model.Server).Resume, false)},
		"delete":   {"WHO: the Pod is deleted by hand", (*World).doDelete},
		"lag":      {"WHO DURATION: replication to it lags by so much", (*World).doLag},
		"power":    {"off|on WHO|HOST: its machine loses power or boots", (*World).doPower},
		"cordon":   {"on|off WHO|HOST: its machine takes no new Pods", (*World).doCordon},
		"cut":      {"WHO,… : nothing gets through between these and all others; operator-0, api and client are names too", (*World).doCut},
		"mute":     {"WHO,… : nothing gets out from these", (*World).doMute},
		"heal":     {"all faults end", (*World).doHeal},
		"edit":     {"shards=N replicas=N tag=T memory=Q DIRECTIVE=VALUE: the specs change", (*World).doEdit},
		"stale":    {"DURATION: what operators hear of Kubernetes is so old", (*World).doStale},
		"flaky":    {"PERCENT: so many requests and replies are lost", (*World).doFlaky},
		"operator": {"kill|start NAME: an operator ends or starts; a second one may run beside the first", (*World).doOperator},
		"order":    {"WHO WHO COMMAND…: a command that no rule has decided, as by an operator gone wrong; @primary/0 stands for an id", (*World).doOrder},
		"fired":    {"RULE…: these rules have decided something", (*World).doFired},
		"never":    {"RULE…: these rules have decided nothing", (*World).doNever},
		"writes":   {"LOST: at most so many acknowledged writes are lost", (*World).doWrites},
	}
}

// run carries out a script. It returns the first line that cannot be carried out; what must not happen is with the judge.
func (w *World) run(script string) error {
	words := verbs()
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		v, known := words[fields[0]]
		if !known {
			return fmt.Errorf("%q: there is no such verb", line)
		}
		w.line.Hold()
		w.judge.tell("# %s", line)
		w.line.LetGo()
		if err := v.do(w, fields[1:]); err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
	}
	return nil
}

// seedOf is the seed that a script names in its first line that is no comment, 1 when it names none.
func seedOf(script string) uint64 {
	for line := range strings.Lines(script) {
		if number, named := strings.CutPrefix(strings.TrimSpace(line), "seed "); named {
			if n, err := strconv.ParseUint(number, 10, 64); err == nil {
				return n
			}
		}
	}
	return 1
}

// end stops all operators and waits for them.
func (w *World) end() {
	w.line.Hold()
	for _, o := range w.operators {
		o.kill()
	}
	w.line.LetGo()
	for _, o := range w.operators {
		<-o.done
	}
}

// pass lets time pass, event by event, until it is over or stop says so.
func (w *World) pass(d time.Duration, stop func() bool) bool {
	for end := time.Now().Add(d); ; {
		next := w.line.Next()
		if next.IsZero() || next.After(end) {
			next = end
		}
		time.Sleep(time.Until(next))
		w.line.Hold()
		stopped := stop()
		w.line.LetGo()
		if stopped || !time.Now().Before(end) {
			return stopped
		}
	}
}

// held does something to the world.
func (w *World) held(do func() error) error {
	w.line.Hold()
	defer w.line.LetGo()
	return do()
}

func (w *World) doCluster(args []string) error {
	shards, replicas, err := twoNumbers(args)
	if err != nil {
		return err
	}
	w.line.Hold()
	w.make(shards, replicas)
	w.line.LetGo()
	w.startOperator("operator-0")
	return nil
}

func twoNumbers(args []string) (int, int, error) {
	if len(args) != 2 {
		return 0, 0, fmt.Errorf("%d words instead of 2", len(args))
	}
	a, err := strconv.Atoi(args[0])
	if err != nil {
		return 0, 0, err
	}
	b, err := strconv.Atoi(args[1])
	return a, b, err
}

func (w *World) doTick(args []string) error {
	d, err := time.ParseDuration(args[0])
	if err == nil {
		w.pass(d, func() bool { return false })
	}
	return err
}

// settleLimit is in how much time a world without faults must come to rest.
const settleLimit = 4 * time.Minute

// quiet is how long a world at rest is watched for decisions and writes to the API server. It is longer than a minute, which
// primaries wait for without new servers before they spread over zones; spreads is how often they may.
const (
	quiet   = 70 * time.Second
	spreads = 4
)

func (w *World) doRest([]string) error {
	if !w.pass(settleLimit, w.atRest) {
		w.line.Hold()
		defer w.line.LetGo()
		w.judge.accuse("not at rest after %s: %s", settleLimit, w.unrest())
	}
	return nil
}

func (w *World) doSettle(args []string) error {
	limit := settleLimit
	if len(args) > 0 {
		var err error
		if limit, err = time.ParseDuration(args[0]); err != nil {
			return err
		}
	}
	if !w.pass(limit, w.atRest) {
		w.line.Hold()
		defer w.line.LetGo()
		w.judge.accuse("not at rest after %s: %s", limit, w.unrest())
		return nil
	}
	calm := false
	for range spreads {
		if calm = w.calm(); calm {
			break
		}
	}
	w.line.Hold()
	defer w.line.LetGo()
	if !calm {
		w.judge.accuse("something is written to the API server or decided time and again, with nothing to do: %s", w.unrest())
	}
	w.judge.settled()
	return nil
}

// calm lets time pass and says whether operators have decided and written nothing meanwhile.
func (w *World) calm() bool {
	count := func() (n int) {
		w.line.Hold()
		defer w.line.LetGo()
		for _, times := range w.judge.fired {
			n += times
		}
		return n + w.judge.writes
	}
	before := count()
	w.pass(quiet, func() bool { return false })
	return count() == before
}

// atRest says that for a second now no operator has had anything to do: what it did last has come back by every watch.
func (w *World) atRest() bool {
	if !w.idle() {
		w.restless = w.line.Now()
	}
	return w.line.Now().Sub(w.restless) > time.Second+w.stale
}

// idle says that no operator has anything to do, and that nobody waits for anything.
func (w *World) idle() bool {
	for _, o := range w.operators {
		if !o.dead && !o.idle {
			return false
		}
	}
	spec := w.cluster()
	return spec.Status.State == v1alpha1.Active && spec.Status.ObservedGeneration == spec.Generation &&
		!slices.ContainsFunc(w.nodes(), func(n *v1alpha1.ValkeyNode) bool { return n.DeletionTimestamp != nil })
}

func (w *World) unrest() string {
	text := w.cluster().Status.Message
	for _, o := range w.operators {
		if !o.dead {
			text += fmt.Sprintf("; %s: last %q, error %v", o.name, o.last, o.err)
		}
	}
	return text
}

// who is the server that words name.
func (w *World) who(args []string) (*model.Server, error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("nobody is named")
	}
	servers := w.servers.Servers()
	slices.SortFunc(servers, func(a, b *model.Server) int { return strings.Compare(a.Name, b.Name) })
	for _, s := range servers {
		is := s.Name == args[0]
		if len(args) > 1 {
			leads := s.IsPrimary() && s.Slots() > 0
			is = shardOf(s) == args[1] && (args[0] == "primary" && leads || args[0] == "replica" && !s.IsPrimary())
		}
		if is {
			return s, nil
		}
	}
	return nil, nil
}

// onServer does it to a server, if there is such a one; struck says that it is a fault.
func onServer(do func(*model.Server), struck bool) func(*World, []string) error {
	return func(w *World, args []string) error {
		return w.held(func() error {
			s, err := w.who(args)
			if err != nil || s == nil {
				return err
			}
			w.judge.disturbed = true
			if struck {
				s.Struck()
			}
			do(s)
			return nil
		})
	}
}

func (w *World) doDelete(args []string) error {
	return w.held(func() error {
		s, err := w.who(args)
		if err != nil || s == nil {
			return err
		}
		w.judge.disturbed = true
		s.Deleted()
		if pod := w.pod(s.Name); pod != nil {
			w.api.Remove(pod)
		}
		return nil
	})
}

func (w *World) doLag(args []string) error {
	return w.held(func() error {
		d, err := time.ParseDuration(args[len(args)-1])
		if err != nil {
			return err
		}
		if s, err := w.who(args[:len(args)-1]); err != nil || s == nil {
			return err
		} else {
			s.Lag = d
		}
		return nil
	})
}

// host is the machine that words name, or that of the server they name.
func (w *World) host(args []string) (string, error) {
	if slices.Contains(w.machines.Hosts(), args[0]) {
		return args[0], nil
	}
	s, err := w.who(args)
	if err != nil || s == nil {
		return "", err
	}
	return s.Host, nil
}

func (w *World) doPower(args []string) error {
	return w.held(func() error {
		host, err := w.host(args[1:])
		if err != nil || host == "" {
			return err
		}
		w.judge.disturbed = true
		if args[0] == "off" {
			w.machines.Fail(host)
		} else {
			w.machines.Recover(host)
		}
		return nil
	})
}

func (w *World) doCordon(args []string) error {
	return w.held(func() error {
		host, err := w.host(args[1:])
		if err == nil && host != "" {
			w.machines.Cordon(host, args[0] == "on")
		}
		return err
	})
}

// group are the names in a list such as "primary 0,operator-0,api".
func (w *World) group(args []string) ([]string, error) {
	var names []string
	for _, one := range strings.Split(strings.Join(args, " "), ",") {
		words := strings.Fields(one)
		s, err := w.who(words)
		if err != nil {
			return nil, err
		}
		if s != nil {
			s.Struck()
			names = append(names, s.Name)
		} else {
			names = append(names, words[0])
		}
	}
	w.judge.disturbed = true
	return names, nil
}

func (w *World) doCut(args []string) error {
	return w.held(func() error {
		names, err := w.group(args)
		w.servers.Net.Split(names)
		return err
	})
}

func (w *World) doMute(args []string) error {
	return w.held(func() error {
		names, err := w.group(args)
		w.servers.Net.Mute(names)
		return err
	})
}

func (w *World) doHeal([]string) error {
	return w.held(func() error {
		w.servers.Net.Heal()
		w.stale, w.broken = 0, 0
		for _, host := range w.machines.Hosts() {
			w.machines.Recover(host)
			if n := kube.Get[corev1.Node](w.api, "", host); n != nil && n.Spec.Unschedulable {
				w.machines.Cordon(host, false)
			}
		}
		for _, s := range w.servers.All() {
			s.Resume()
			s.Lag = replicationLag
			s.Recovered()
		}
		return nil
	})
}

func (w *World) doStale(args []string) error {
	return w.held(func() (err error) {
		w.stale, err = time.ParseDuration(args[0])
		return err
	})
}

func (w *World) doFlaky(args []string) error {
	return w.held(func() error {
		percent, err := strconv.Atoi(args[0])
		w.broken = float64(percent) / 100
		w.judge.disturbed = true
		return err
	})
}

func (w *World) doOperator(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("%d words instead of 2", len(args))
	}
	w.line.Hold()
	w.judge.disturbed = true
	o := w.operator(args[1])
	if args[0] == "kill" && o != nil {
		o.kill()
	}
	w.line.LetGo()
	if args[0] == "start" && o == nil {
		w.startOperator(args[1])
	}
	return nil
}

func (w *World) doOrder(args []string) error {
	return w.held(func() error {
		s, err := w.who(args[:2])
		if err != nil || s == nil {
			return err
		}
		command := args[2:]
		for i, word := range command {
			if named, is := strings.CutPrefix(word, "@"); is {
				if other, err := w.who(strings.Split(named, "/")); err == nil && other != nil {
					command[i] = other.ID
				}
			}
		}
		if err := s.Order("operator-0", command); err != nil {
			w.judge.tell("refused: %v", err)
		}
		return nil
	})
}

func (w *World) doFired(rules []string) error {
	return w.held(func() error {
		for _, r := range rules {
			if w.judge.fired[r] == 0 {
				w.judge.accuse("rule %s has not decided anything", r)
			}
		}
		return nil
	})
}

func (w *World) doNever(rules []string) error {
	return w.held(func() error {
		for _, r := range rules {
			if n := w.judge.fired[r]; n > 0 {
				w.judge.accuse("rule %s has decided something %d times", r, n)
			}
		}
		return nil
	})
}

func (w *World) doWrites(args []string) error {
	return w.held(func() error {
		most, err := strconv.Atoi(args[0])
		if acked, lost := w.servers.Writes(); lost > most {
			w.judge.accuse("%d of %d acknowledged writes are lost", lost, acked)
		}
		return err
	})
}
