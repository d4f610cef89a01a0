package model

import (
	"fmt"
	"slices"
	"time"

	"valkey.gomomento.com/operator/engine"
)

// A job is one slot migration job (CLUSTER MIGRATESLOTS), as both its ends have it.
type job struct {
	name           string
	source, target *Server
	ranges         []engine.SlotRange
	state, message string
	begun, updated time.Time
	ends           time.Time
	stalled        time.Time
}

func (j *job) open() bool { return j.state == "replicating" }

func (j *job) ended(state, message string) {
	j.state, j.message, j.updated = state, message, j.source.cluster.Line.Now()
}

// export begins a job.
func (s *Server) export(target *Server, ranges []engine.SlotRange) {
	now := s.cluster.Line.Now()
	j := &job{
		name: fmt.Sprintf("%040x", now.UnixNano()), source: s, target: target, ranges: ranges,
		state: "replicating", begun: now, updated: now,
		ends: now.Add(s.cluster.Line.Between(80*time.Millisecond, 900*time.Millisecond, "job", s.ID)),
	}
	s.jobs = append(s.jobs, j)
	if target.runs() {
		target.jobs = append(target.jobs, j)
	}
	s.cluster.Line.At(j.ends, j.advance)
}

// migrate moves all jobs on by a tick.
func (c *Cluster) migrate() {
	for _, s := range c.servers {
		if !s.runs() {
			continue
		}
		for _, j := range s.jobs {
			if j.source == s {
				j.advance()
			} else {
				j.orphan()
			}
		}
	}
}

// advance ends a job that is done or cannot be.
func (j *job) advance() {
	switch {
	case !j.open() || !j.source.runs():
	case j.source.primary != "":
		j.ended("failed", "Slots are no longer owned by myself.")
	case j.target.refuses():
		j.ended("failed", "Connection lost to target")
	case !j.source.talksTo(j.target):
		j.stall()
	case j.target.primary != "" || !slices.Contains(j.target.jobs, j):
		j.ended("failed", "A failover occurred during slot import")
	case !j.source.ok: // Who was among a minority may have been replaced.
	case !j.source.cluster.Line.Now().Before(j.ends):
		j.finish()
	default:
		j.stalled = time.Time{}
	}
}

// stall waits for the other end, and gives up in the end.
func (j *job) stall() {
	now := j.source.cluster.Line.Now()
	if j.stalled.IsZero() {
		j.stalled = now
	} else if now.Sub(j.stalled) > replTimeout {
		j.ended("failed", "Timed out after too long with no interaction")
	}
}

// orphan ends a job at its target whose source has ended: at once where the machine says so.
func (j *job) orphan() {
	switch {
	case !j.open() || j.source.alive:
	case j.target.cutShort(j.source):
		j.ended("failed", "Connection lost to source")
	default:
		j.stall()
	}
}

// finish makes the target the owner, with all keys of the slots.
func (j *job) finish() {
	for _, r := range j.ranges {
		for _, part := range j.source.slots.within(r) {
			if part.id != j.source.ID {
				j.ended("failed", "Slots are no longer owned by myself.")
				return
			}
		}
	}
	for _, key := range j.source.cluster.Keys {
		if !slices.ContainsFunc(j.ranges, func(r engine.SlotRange) bool { return r.From <= key.Slot && key.Slot <= r.To }) {
			continue
		}
		head := j.source.copy.data[key]
		delete(j.source.copy.data, key)
		if head != nil {
			head.moved(j.target)
			from := j.source.copy.stream
			from.log = append(from.log, write{at: j.source.cluster.Line.Now(), key: key})
			j.target.copy.put(j.target, key, head)
		}
	}
	j.ended("success", "")
	j.target.bumpEpoch()
	j.target.give(j.target.ID, j.ranges...)
	j.target.broadcast()
}

// cancel ends all exports of the server, and says whether there were any.
func (s *Server) cancel() bool {
	any := false
	for _, j := range s.jobs {
		if j.source == s && j.open() {
			j.ended("cancelled", "")
			any = true
		}
	}
	return any
}

// newestFirst are the jobs as the server lists them.
func (s *Server) newestFirst() []*job {
	jobs := slices.Clone(s.jobs)
	slices.Reverse(jobs)
	return jobs
}

func (j *job) operation(s *Server) string {
	if j.source == s {
		return "EXPORT"
	}
	return "IMPORT"
}
