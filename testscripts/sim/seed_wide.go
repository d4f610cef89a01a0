package sim

import (
	"fmt"
	"strings"
)

// wideFrom is the first of the seeds that draw from nearly all words: what people do by hand, drains, pauses, mistakes in
// specs. Seeds below it make up what they always have, so that one that was written down stays what it was.
const wideFrom = 1_000_000

// anyEdit is an edit of those that the seed draws from.
func (d *draft) anyEdit() {
	if d.wide && d.one(2) == 0 {
		d.wideEdit()
		return
	}
	d.edit()
}

// anyFault is a fault of those that the seed draws from.
func (d *draft) anyFault() {
	if d.wide && d.one(2) == 0 {
		d.wideFault()
		return
	}
	d.fault()
}

// at is somebody by the id that stands for in a command by hand.
func (d *draft) at(whom string) string { return "@" + strings.ReplaceAll(whom, " ", "/") }

// wideEdit is an edit of other fields than those that edit knows.
func (d *draft) wideEdit() {
	d.tag++
	switch d.one(9) {
	case 0:
		d.paused()
	case 1:
		d.mistaken()
	case 2:
		d.line("edit passwords=p%d", d.tag)
	case 3:
		d.line("edit annotation=a%d", d.tag)
	case 4:
		d.line("edit reads=%s", []string{"reader", "writer"}[d.one(2)])
	case 5:
		d.line("edit hz=%s", []string{"-", "17"}[d.one(2)])
	case 6:
		d.line("edit maxmemory-policy=%s", []string{"noeviction", "allkeys-lfu"}[d.one(2)])
	case 7:
		d.line("edit tag=9.1.0 annotation=a%d", d.tag) // often back to where it came from
	case 8:
		d.replicas = d.one(3)
		d.line("edit replicas=%d passwords=p%d", d.replicas, d.tag)
	}
}

// paused is a pause in which something happens or not.
func (d *draft) paused() {
	d.line("edit paused=true")
	d.wait()
	if d.one(2) == 0 {
		d.anyFault()
		d.wait()
	}
	d.line("edit paused=false")
}

// mistaken is a mistake in the specs, and with it or during it another edit, until it is mended.
func (d *draft) mistaken() {
	d.line("edit reads=nobody")
	d.wait()
	if d.one(2) == 0 {
		d.anyEdit()
		d.wait()
	}
	d.line("edit reads=reader")
}

// wideFault is what people do to a cluster by hand, or what befalls machines and operators slowly.
func (d *draft) wideFault() {
	switch d.one(13) {
	case 0:
		d.line("cordon on %s", d.whom())
	case 1, 2:
		d.line("drain %s", d.whom())
	case 3:
		d.line("by-hand replica %d CLUSTER FAILOVER", d.one(d.shards))
	case 4:
		d.line("by-hand replica %d CLUSTER REPLICATE @primary/%d", d.one(d.shards), d.one(d.shards))
	case 5:
		from := d.one(16384 - 100)
		d.line("by-hand primary %d CLUSTER MIGRATESLOTS SLOTSRANGE %d %d NODE @primary/%d", d.one(d.shards), from, from+d.one(100), d.one(d.shards))
	case 6:
		d.line("by-hand %s CONFIG SET %s", d.whom(), []string{"maxmemory-policy noeviction", "cluster-node-timeout 500", "hz 50"}[d.one(3)])
	case 7:
		d.line("by-hand %s CLUSTER FORGET %s", d.whom(), d.at(d.whom()))
	case 8, 9:
		d.line("remove %s", d.object())
	case 10:
		d.line("slow operator-%d %dms", d.operators, 100+d.one(4000))
	case 11:
		whom := d.whom()
		d.line("hang %s", whom)
		d.wait()
		d.line("resume %s", whom)
	case 12:
		machine := fmt.Sprintf("machine-%d", d.one(machines))
		d.line("power off %s", machine)
		d.wait()
		d.line("power on %s", machine)
	}
}

// object is one that the operator keeps.
func (d *draft) object() string {
	return []string{
		"service", "budget", "users", "secret", "secret by force", "guard", "conf " + d.whom(), "node " + d.whom(),
	}[d.one(8)]
}
