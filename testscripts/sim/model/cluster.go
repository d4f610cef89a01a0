// Package model is a model of servers of Valkey Cluster, as exact as the operator can tell: gossip, epochs, failure
// reports, elections, replication with its lag, slot migration jobs, and the words in which a server answers.
//
// It has no sockets, no keys but a few that a verifying client writes, and no time but that of its timeline.Line. The rules
// are those of valkey/src/cluster_legacy.c; where one is left out, since nothing the operator does depends on it, a comment
// says so.
package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"valkey.gomomento.com/operator/testscripts/sim/timeline"
)

// tick is how often servers look after their peers (clusterCron).
const tick = 100 * time.Millisecond

// A Cluster is all servers there are, and the network between them. Make it with New.
type Cluster struct {
	Line *timeline.Line
	Net  Net
	// Ended is told when a server's process ends by itself or by a signal.
	Ended func(s *Server, code int32)
	// Broke is told when connections to a server break where its machine still answers.
	Broke func(s *Server)
	// Ordered is told of every command that changes something, BEFORE it is carried out.
	Ordered func(operator string, s *Server, command []string)
	// Succeeded is told of every replica that is about to be elected; agreed if its primary has let writes wait for it.
	Succeeded func(s *Server, agreed bool)
	// Keys are what the verifying client writes.
	Keys []*Key

	servers []*Server // sorted by id
	ids     map[string]*Server
	lag     time.Duration
	// spoilt is until when what the shards took in may be lost, by shard id: somebody's hands had put a server in the way.
	spoilt map[string]time.Time
}

// New is a cluster without servers, whose replicas lag by so much.
func New(line *timeline.Line, lag time.Duration) *Cluster {
	c := &Cluster{Line: line, lag: lag, ids: map[string]*Server{}, spoilt: map[string]time.Time{}}
	line.After(tick, c.tick)
	return c
}

// A Process is what a server is started with.
type Process struct {
	Name, IP, Host string
	UID            types.UID
	Version        string
	Settings       map[string]string
	// Users is users.acl as it is mounted; it may change.
	Users func() string
	// Password is the one to log in to primaries with.
	Password string
}

// A Server is one process of Valkey.
type Server struct {
	Process
	// ID is the node id.
	ID string
	// Born is when it started.
	Born time.Time
	// Lag is by how much it lags behind its primary.
	Lag time.Duration

	cluster       *Cluster
	n             int // how many servers were before it
	alive, hung   bool
	plugged       bool // its address exists
	dark          bool // its machine has no power
	users         string
	accepted      accepted
	listed        listed
	current       int64
	epoch         int64
	voted         int64
	primary       string
	shard         string  // the shard id: its own id, or that of the first primary that it has followed
	peers         []*peer // sorted by id
	byNumber      []*peer // the same, by the number of the server
	meeting       []meeting
	slots         table
	version       int // counts what others may learn of it
	owners        []holding
	ownersAt      int // the version of owners
	patience      time.Duration
	passwordHash  string
	banned        map[string]time.Time
	ok            bool
	minorityUntil time.Time
	election      *election
	pausedUntil   time.Time
	jobs          []*job
	copy          replica
	// struck are the times in which a fault was on the server, the last one perhaps without an end.
	struck []strike
	// attached says that somebody has attached it to a primary by hand.
	attached bool
}

// A meeting is a handshake under way.
type meeting struct {
	ip    string
	until time.Time
}

// Start starts a server.
func (c *Cluster) Start(p Process) *Server {
	sum := sha256.Sum256([]byte(p.UID))
	s := &Server{
		Process: p, ID: hex.EncodeToString(sum[:20]), Born: c.Line.Now(), Lag: c.lag,
		cluster: c, n: len(c.servers), version: 1, alive: true, plugged: true, users: p.Users(), banned: map[string]time.Time{},
	}
	settings := map[string]string{"loglevel": "notice"}
	for name, value := range p.Settings {
		settings[name] = value
	}
	s.Settings, s.shard = settings, s.ID
	s.copy.stream = &stream{of: s}
	s.patience, s.passwordHash = s.readTimeout(), sha(p.Password)
	c.ids[s.ID] = s
	at, _ := slices.BinarySearchFunc(c.servers, s.ID, byServerID)
	c.servers = slices.Insert(c.servers, at, s)
	return s
}

func byServerID(s *Server, id string) int { return strings.Compare(s.ID, id) }

// Servers are all servers whose process runs, sorted by id.
func (c *Cluster) Servers() []*Server {
	return slices.DeleteFunc(slices.Clone(c.servers), func(s *Server) bool { return !s.alive })
}

// Find is the server of the Pod, nil when there is none.
func (c *Cluster) Find(uid types.UID) *Server {
	return c.find(func(s *Server) bool { return s.UID == uid })
}

// FindByName is the server of that name, nil when there is none.
func (c *Cluster) FindByName(name string) *Server {
	return c.find(func(s *Server) bool { return s.Name == name })
}

func (c *Cluster) find(match func(*Server) bool) *Server {
	if i := slices.IndexFunc(c.servers, match); i >= 0 {
		return c.servers[i]
	}
	return nil
}

// byID is the server that bears the id, alive or not.
func (c *Cluster) byID(id string) *Server { return c.ids[id] }

// at is the server at an address, nil when the address is nobody's.
func (c *Cluster) at(ip string) *Server {
	return c.find(func(s *Server) bool { return s.IP == ip && s.plugged && !s.dark })
}

// tick is one turn of the cron of all servers.
func (c *Cluster) tick() {
	for _, s := range c.servers {
		if s.runs() {
			s.tend()
		}
	}
	c.replicate()
	c.migrate()
	c.write()
	c.Line.After(tick, c.tick)
}

// runs says that the process executes.
func (s *Server) runs() bool { return s.alive && !s.hung }

// Alive says that the process is there, hung or not.
func (s *Server) Alive() bool { return s.alive }

// reaches says that what s sends is read by the other.
func (s *Server) reaches(other *Server) bool {
	return other.runs() && other.plugged && !s.cluster.Net.Cut(s.Name, other.Name)
}

// talksTo says that the two hear each other.
func (s *Server) talksTo(other *Server) bool { return s.reaches(other) && other.reaches(s) }

// refuses says that somebody with a way to the address learns at once that nobody listens there.
func (s *Server) refuses() bool { return !s.alive && s.plugged && !s.dark }

// timeout is the server's cluster-node-timeout.
func (s *Server) timeout() time.Duration { return s.patience }

func (s *Server) readTimeout() time.Duration {
	d, err := time.ParseDuration(s.Settings["cluster-node-timeout"] + "ms")
	if err != nil {
		return 15 * time.Second
	}
	return d
}

// Slots are the slots that the server itself says it serves.
func (s *Server) Slots() int { return s.slots.count(s.ID) }

// IsPrimary is by the server's own word.
func (s *Server) IsPrimary() bool { return s.primary == "" }

// Primary is the server that it follows, nil for a primary.
func (s *Server) Primary() *Server {
	if s.primary == "" {
		return nil
	}
	return s.cluster.byID(s.primary)
}

// InSync says that the server is a replica whose link to its primary stands.
func (s *Server) InSync() bool { return s.primary != "" && s.copy.up }

// Loaded is the ACL file that the server has loaded.
func (s *Server) Loaded() string { return s.users }

// Runs says that the process executes.
func (s *Server) Runs() bool { return s.runs() }

// TalksTo says that the two hear each other.
func (s *Server) TalksTo(other *Server) bool { return s.talksTo(other) }

// Serves says that the server serves clients, by its own word.
func (s *Server) Serves() bool { return s.ok }

// ByID is the server that bears the id, alive or not; nil when nobody ever has.
func (c *Cluster) ByID(id string) *Server { return c.byID(id) }

// All are all servers that ever were, sorted by id.
func (c *Cluster) All() []*Server { return c.servers }

// Voters are the servers whom the server believes to have slots, in the order of their ids.
func (s *Server) Voters() []*Server {
	var all []*Server
	for _, v := range s.voters() {
		all = append(all, v.of)
	}
	return all
}

// Replicas counts the servers that follow this one and are in sync.
func (s *Server) Replicas() int {
	n := 0
	for _, r := range s.cluster.servers {
		if r.runs() && r.primary == s.ID && r.copy.up {
			n++
		}
	}
	return n
}

// View is who owns which slots and whom the server knows, as one text.
func (s *Server) View() string {
	var b strings.Builder
	for _, seg := range s.slots {
		fmt.Fprintf(&b, "%d-%d %s ", seg.From, seg.To, seg.id[:min(8, len(seg.id))])
	}
	known := []string{s.ID[:8]}
	for _, p := range s.peers {
		known = append(known, p.id[:8])
	}
	slices.Sort(known)
	return b.String() + "of " + strings.Join(known, " ")
}
