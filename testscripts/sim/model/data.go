package model

import (
	"slices"
	"time"
)

// A Key is one key that the verifying client appends to, over and over.
type Key struct {
	Slot int

	writes int
	acked  []*entry
	// believed is the id of the server that the client thinks has it.
	believed string
}

// An entry is one write and all before it, at one server and those that have copied it from there.
type entry struct {
	n       int
	at      time.Time
	by      *Server
	prev    *entry
	holders []*Server
}

// held notes that a server has the entry and all before it.
func (e *entry) held(s *Server) {
	for ; e != nil && !slices.Contains(e.holders, s); e = e.prev {
		e.holders = append(e.holders, s)
	}
}

// moved notes that a server has the entry and all before it, and that those who had it have thrown it away.
func (e *entry) moved(s *Server) {
	for ; e != nil; e = e.prev {
		e.holders = []*Server{s}
	}
}

// A stream is what a primary sends to its replicas from its promotion on.
type stream struct {
	of  *Server
	log []write
}

type write struct {
	at   time.Time
	key  *Key
	head *entry // nil when the key has gone to another shard
}

// writeSize is what a write adds to the replication offset, in bytes.
const writeSize = 64

// A replica is a server's copy of the data, and where in its primary's stream it is; a primary's is its own.
type replica struct {
	data   map[*Key]*entry
	offset int64
	stream *stream
	next   int // in the stream's log
	// up says that the link to the primary stands and no sync runs.
	up bool
	// synced is when the sync under way is done, zero when there is none; stalled since when nothing came.
	synced, stalled time.Time
	// flows is when the primary begins to send what was written after the sync: once it has read an acknowledgement, and a
	// replica acknowledges once a second (replicaStartCommandStream and replicationCron).
	flows time.Time
}

// put makes the entry the key's, and sends it on if the server is a primary.
func (r *replica) put(s *Server, key *Key, head *entry) {
	if r.data == nil {
		r.data = map[*Key]*entry{}
	}
	r.data[key] = head
	r.offset += writeSize
	if s.primary == "" {
		r.stream.log = append(r.stream.log, write{at: s.cluster.Line.Now(), key: key, head: head})
	}
}

// lead begins a stream of its own.
func (r *replica) lead(s *Server) { r.stream, r.up, r.synced = &stream{of: s}, false, time.Time{} }

// lose ends the link to the primary.
func (r *replica) lose() { r.up, r.synced, r.stalled = false, time.Time{}, time.Time{} }

// drain takes in all that the primary has sent.
func (r *replica) drain(s *Server) { r.take(s, s.cluster.Line.Now()) }

// take takes in what the primary had sent by then.
func (r *replica) take(s *Server, until time.Time) {
	if s.cluster.Line.Now().Before(r.flows) {
		return
	}
	for ; r.next < len(r.stream.log) && !r.stream.log[r.next].at.After(until); r.next++ {
		w := r.stream.log[r.next]
		if w.head == nil {
			r.drop(s, w.key)
			continue
		}
		r.put(s, w.key, w.head)
		w.head.held(s)
	}
}

// drop takes out a key whose slot has gone to another shard.
func (r *replica) drop(s *Server, key *Key) {
	for e := r.data[key]; e != nil; e = e.prev {
		e.holders = slices.DeleteFunc(e.holders, func(h *Server) bool { return h == s })
	}
	delete(r.data, key)
}

// replTimeout is after how long without a word a link is given up (repl-timeout).
const replTimeout = 60 * time.Second

// replicate moves all replicas on by a tick.
func (c *Cluster) replicate() {
	for _, s := range c.servers {
		if s.runs() && s.primary != "" {
			s.copy.advance(s, c.byID(s.primary))
		}
	}
}

func (r *replica) advance(s, from *Server) {
	switch {
	case from == nil || from.primary != "":
		r.lose()
	case r.up:
		r.keepUp(s, from)
	case !s.talksTo(from), !slices.Contains(from.accepts("_momento_repl"), s.passwordHash):
		r.synced = time.Time{}
	case r.synced.IsZero():
		r.synced = s.cluster.Line.Now().Add(s.cluster.Line.Between(150*time.Millisecond, 600*time.Millisecond, "sync", s.ID))
	case !s.cluster.Line.Now().Before(r.synced):
		r.sync(s, from)
	}
}

// keepUp moves on a replica whose link stands.
func (r *replica) keepUp(s, from *Server) {
	now := s.cluster.Line.Now()
	switch {
	case s.cutShort(from) || r.stream != from.copy.stream:
		r.lose()
	case s.talksTo(from):
		r.stalled = time.Time{}
		r.take(s, now.Add(-s.Lag))
	case r.stalled.IsZero():
		r.stalled = now
	case now.Sub(r.stalled) > replTimeout:
		r.lose()
	}
}

// cutShort says that the other's machine has closed the link.
func (s *Server) cutShort(from *Server) bool {
	return from.refuses() && !s.cluster.Net.Cut(from.Name, s.Name)
}

// sync makes the copy that of the primary.
func (r *replica) sync(s, from *Server) {
	r.data = make(map[*Key]*entry, len(from.copy.data))
	for key, head := range from.copy.data {
		r.data[key] = head
		head.held(s)
	}
	r.offset, r.stream, r.next = from.copy.offset, from.copy.stream, len(from.copy.stream.log)
	r.up, r.synced = true, time.Time{}
	r.flows = s.cluster.Line.Now().Add(s.lateness())
}

// ackPeriod is how often a replica acknowledges what it has.
const ackPeriod = time.Second

// lateness is how long the server gets nothing after a sync: about every second time the acknowledgement that ends the sync
// comes too early to count, and the next one does.
func (s *Server) lateness() time.Duration {
	return max(0, s.cluster.Line.Between(-ackPeriod, ackPeriod, "stream", s.ID))
}

// write lets the client append to each key once.
func (c *Cluster) write() {
	for _, key := range c.Keys {
		s := c.byID(key.believed)
		if s == nil || !c.answersClient(s) {
			c.ask(key)
			continue
		}
		if owner := s.slots.owner(key.Slot); owner != s.ID || s.primary != "" {
			key.believed = owner
			continue
		}
		if s.ok && !c.Line.Now().Before(s.pausedUntil) {
			key.append(s)
		}
	}
}

func (key *Key) append(s *Server) {
	key.writes++
	e := &entry{n: key.writes, at: s.cluster.Line.Now(), by: s, prev: s.copy.data[key], holders: []*Server{s}}
	s.copy.put(s, key, e)
	key.acked = append(key.acked, e)
}

func (c *Cluster) answersClient(s *Server) bool {
	return s.runs() && s.plugged && !c.Net.Cut(clientName, s.Name) && !c.Net.Cut(s.Name, clientName)
}

// clientName is the client's in the network.
const clientName = "client"

// ask lets the client ask some server whose the key is.
func (c *Cluster) ask(key *Key) {
	var some []*Server
	for _, s := range c.servers {
		if c.answersClient(s) {
			some = append(some, s)
		}
	}
	if len(some) == 0 {
		return
	}
	s := some[int(c.Line.Chance("client")*float64(len(some)))]
	key.believed = s.slots.owner(key.Slot)
}
