package sim

import (
	"fmt"
	"strconv"
	"strings"

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
		"until":    {"N: time passes until operators have decided so much more, or a minute is over", (*World).doUntil},
		"heal":     {"all faults end", (*World).doHeal},
		"remove":   {"cluster|service|budget|users|guard|secret [by force]|node WHO|conf WHO: somebody deletes an object", (*World).doRemove},
		"by-hand":  {"WHO WHO COMMAND…: somebody sends a command to a server; @primary/0 stands for an id", orderedBy(somebody)},
		"drain":    {"WHO|HOST: its machine is cordoned, and what is on it evicted as far as the budget grants it", (*World).doDrain},
		"gone":     {"time passes until nothing is left of a cluster that was removed", (*World).doGone},
		"edit":     {"shards=N replicas=N tag=T memory=Q paused=BOOL passwords=V annotation=V reads=ROLE DIRECTIVE=VALUE: the specs change; - takes a directive out", (*World).doEdit},
		"stale":    {"DURATION: what operators hear of Kubernetes is so old", (*World).doStale},
		"flaky":    {"PERCENT: so many requests and replies are lost", (*World).doFlaky},
		"operator": {"kill|start NAME: an operator ends or starts; a second one may run beside the first", (*World).doOperator},
		"slow":     {"NAME DURATION: an operator takes so long between a decision and what it does", (*World).doSlow},
		"order":    {"WHO WHO COMMAND…: a command that no rule has decided, as by an operator gone wrong; @primary/0 stands for an id", orderedBy("operator-0")},
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
		w.judge.before = w.judge.decisions
		w.line.LetGo()
		if err := v.do(w, fields[1:]); err != nil {
			return fmt.Errorf("%q: %w; it is %s %s", line, err, fields[0], v.usage)
		}
		if w.over() {
			break
		}
	}
	return nil
}

// over says that nobody needs to see more.
func (w *World) over() bool {
	w.line.Hold()
	defer w.line.LetGo()
	return w.hasty && len(w.judge.faults) > 0
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
