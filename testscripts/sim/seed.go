package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// A draft is the script of a seed in the making.
type draft struct {
	strings.Builder
	rand             *rand.Rand
	shards, replicas int
	tag              int
	operators        int  // made so far; the last one runs
	wide             bool // draws from nearly all words
}

// scriptOf is the script of a seed: a cluster of so many shards, some rounds of edits and faults at any moment of what they
// bring about, and after each the end of all faults, when all must become well again.
func scriptOf(seed uint64, shards int) string {
	d := &draft{rand: rand.New(rand.NewPCG(seed, 1)), shards: shards, replicas: 1 + int(seed%2), wide: seed >= wideFrom}
	d.line("seed %d", seed)
	d.line("cluster %d %d", d.shards, d.replicas)
	if d.one(8) > 0 {
		d.line("rest")
	}
	for range d.one(2) {
		d.round()
		d.line("heal")
		d.line("rest")
	}
	d.round()
	if d.wide && d.one(12) == 0 {
		d.line("remove cluster")
		d.line("heal")
		d.line("gone")
		return d.String()
	}
	d.line("heal")
	d.line("settle")
	return d.String()
}

func (d *draft) line(format string, args ...any) { fmt.Fprintf(d, format+"\n", args...) }

// one is a number from 0 on and below n.
func (d *draft) one(n int) int { return d.rand.IntN(n) }

// wait lets time pass, mostly little: what a fault may come into the middle of takes milliseconds or seconds.
func (d *draft) wait() {
	longest := []time.Duration{30 * time.Millisecond, 300 * time.Millisecond, 3 * time.Second, 12 * time.Second}[d.one(4)]
	d.line("tick %s", time.Duration(d.rand.Int64N(int64(longest))).Truncate(time.Millisecond)+time.Millisecond)
}

// round is some edits and faults.
func (d *draft) round() {
	if d.one(3) > 0 {
		d.anyEdit()
		d.wait()
	}
	for range 1 + d.one(4) {
		d.anyFault()
		d.wait()
	}
}

func (d *draft) edit() {
	switch d.one(6) {
	case 0:
		d.tag++
		d.line("edit tag=9.1.%d", d.tag)
	case 1:
		d.shards = max(1, d.shards-1+2*d.one(2))
		d.line("edit shards=%d", d.shards)
	case 2:
		d.replicas = 1 + d.one(2)
		d.line("edit replicas=%d", d.replicas)
	case 3:
		d.line("edit hz=%d", 10+d.one(5))
	case 4:
		d.line("edit memory=%dMi", 256+64*d.one(3))
	case 5:
		d.shards = max(1, d.shards-1+2*d.one(2))
		d.tag++
		d.line("edit shards=%d tag=9.1.%d", d.shards, d.tag)
	}
}

// whom is somebody to do something to.
func (d *draft) whom() string {
	return []string{"primary", "primary", "replica"}[d.one(3)] + fmt.Sprintf(" %d", d.one(d.shards))
}

func (d *draft) fault() {
	switch d.one(14) {
	case 0, 1, 2:
		d.line("kill %s", d.whom())
	case 3:
		d.line("hang %s", d.whom())
	case 4:
		d.line("delete %s", d.whom())
	case 5:
		d.line("power off %s", d.whom())
	case 6:
		d.line("cut %s", d.whom())
	case 7:
		d.line("cut %s,%s,operator-%d,api", d.whom(), d.whom(), d.operators)
	case 8:
		d.line("mute %s", d.whom())
	case 9:
		d.line("lag %s %dms", d.whom(), 50+d.one(700))
	case 10:
		d.line("stale %dms", 50+d.one(3000))
	case 11:
		d.line("flaky %d", 5+d.one(30))
	case 12:
		d.line("operator kill operator-%d", d.operators)
		d.wait()
		d.operators++
		d.line("operator start operator-%d", d.operators)
	case 13:
		d.operators++
		d.line("operator start operator-%d", d.operators)
		d.wait()
		d.line("operator kill operator-%d", d.operators-1)
	}
}
