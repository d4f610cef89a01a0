package engine

import (
	"time"

	"valkey.gomomento.com/operator/engine/topology"
)

// A Snapshot is what was seen of one cluster at one moment. It holds sightings
// only; what they mean is for Diff to say.
type Snapshot struct {
	At      time.Time
	Cluster Cluster
	// Auth is the Secret with the system passwords; nil when there is none.
	Auth *Auth
	// Certificate is the cluster's certificate; nil without TLS.
	Certificate *Certificate
	// NextAuth is the Secret beside it, which exists only while Auth is replaced; nil when there is none.
	NextAuth *NextAuth
	// KnownHash is the SHA-256 of the password by which servers have last let the operator in, looked for only while Auth
	// is gone or damaged: what the running operator remembers.
	KnownHash string
	// Objects are the owned objects found by name, Pods and ValkeyNodes aside.
	Objects []Object
	// Budget is how many Pods the PodDisruptionBudget keeps from eviction; nil when there is none, or one that somebody
	// has changed otherwise.
	Budget *int
	// Nodes are the cluster's ValkeyNodes, sorted by name.
	Nodes []Node
	// Strays are owned Pods and ConfigMaps whose ValkeyNode is gone, as "Kind/name", sorted.
	Strays []string
	// RollHeld is why a roll that has not begun may not begin, for the sake of
	// the other clusters; "" when it may.
	RollHeld string
}

// A Cluster is the ValkeyCluster object as it was read.
type Cluster struct {
	Namespace, Name, UID string
	Generation           int64
	Deleting             bool
	Paused               bool
	// Finalizer says that the operator's finalizer is on the object.
	Finalizer bool
	// State is status.state: "", Creating, Active, Updating or Invalid.
	State string
	// Target is status.targetSpec's topology: what a bootstrap in progress builds. Nil when there is none.
	Target *Topology
	// Kept is the topology of the last spec that was accepted, nil before there was one.
	Kept *Topology
	// Rotation is the value of the annotation that asks for new system passwords, "" without it; Rotated is the last
	// value that was carried out.
	Rotation, Rotated string
}

// A Topology is how many servers a cluster has.
type Topology struct {
	Shards, ReplicasPerShard int
}

// Nodes is how many servers the topology asks for.
func (t Topology) Nodes() int { return t.Shards * (1 + t.ReplicasPerShard) }

// An Object is one owned Kubernetes object, or the wish for one.
type Object struct {
	Kind, Name string
	// Content is the canonical form of every field the operator manages: two
	// objects of one kind and name are alike when their contents are equal.
	Content string
}

// A Lifecycle is how far a node is in its life.
type Lifecycle string

// The lifecycles, as the ValkeyNode API spells them.
const (
	Joining Lifecycle = "Joining"
	Active  Lifecycle = "Active"
	Leaving Lifecycle = "Leaving"
)

// A Node is one ValkeyNode with all that was seen of its Pod and server.
type Node struct {
	Name, UID  string
	Created    time.Time
	Deleting   bool
	Spec       NodeSpec
	Lifecycle  Lifecycle
	ShardIndex int
	// LastID is the Valkey node id that status recorded, "" if its server never answered.
	LastID string
	// Spellings are what its server made of values that it took and gives back otherwise, by directive.
	Spellings map[string]Spelling
	// HasConfig says that the node's ConfigMap exists.
	HasConfig bool
	Pod       *Pod
	// Certificate is what is known of the certificate its server serves.
	Certificate NodeCertificate
	// Server is what the node's server said; nil when it did not answer.
	Server *Server
	// Silence says why Server is nil: "refused", "timeout", "unauthenticated",
	// another error's text, or "" when nobody asked (no Pod with an address).
	Silence string
}

// A NodeSpec is the part of a node that makes it outdated when it differs.
//
// TLSSecret is the Secret that the spec named when the node was made, and outdates nothing: Pods mount the operator's copy.
type NodeSpec struct {
	Image       string
	CPU, Memory string
	Settings    map[string]string
	TLSSecret   string
	Placement   Placement
}

// A Spelling is what a server gives back for a value that it was told.
type Spelling struct {
	Written, Read string
}

// A Placement says where Pods may run.
type Placement struct {
	Zones        []string // sorted
	ZoneSpread   string   // bestEffort or required
	NodeSelector map[string]string
}

// A Pod is a node's Pod.
type Pod struct {
	UID      string
	Phase    string // Pending, Running, Succeeded, Failed, Unknown
	IP       string
	HostNode string // the Kubernetes node, "" while unscheduled
	Zone     string // the zone of HostNode, "" when unknown
	// Cordoned says that HostNode takes no new Pods, and would not take this one.
	Cordoned bool
	// HostLost says that HostNode is not ready, or is gone: nobody there reports what becomes of the Pod.
	HostLost bool
	Deleting bool
	// Started is when the container was last seen to start; zero before that.
	Started time.Time
	// Trouble is why the Pod does not run, in the kubelet's or the scheduler's
	// words ("ErrImagePull: …", "Unschedulable: …", "OOMKilled"); "" when nothing is wrong.
	Trouble     string
	Annotations map[string]string
}

// Ended says that the container has stopped for good: with restartPolicy Never
// it does not come back.
func (p *Pod) Ended() bool { return p.Phase == "Failed" || p.Phase == "Succeeded" }

// A Role is a server's role in replication.
type Role string

// The roles, in Valkey's words since 8.0 (a primary reports "master" on the wire).
const (
	Primary Role = "primary"
	Replica Role = "replica"
)

// A Server is what one Valkey server said of itself and of its peers.
type Server struct {
	ID      string // 40 hex characters
	Version string // as INFO's valkey_version, "9.1.2"
	Role    Role
	// PrimaryID is the id of the primary a replica follows, "" on a primary.
	PrimaryID string
	// ClusterOK is cluster_state:ok of CLUSTER INFO.
	ClusterOK bool
	// CurrentEpoch is the cluster's epoch as this server knows it.
	CurrentEpoch int64
	// Loading says that it loads its data set and answers little else.
	Loading bool
	// LinkUp says that a replica's link to its primary stands and no sync runs.
	LinkUp bool
	// FullSyncs is how often replicas have begun to take the whole data from it since it started.
	FullSyncs int64
	// Offset is the replication offset, bytes.
	Offset int64
	// Uptime is how long the process runs, whole seconds.
	Uptime time.Duration
	// Keys is the number of keys held.
	Keys int64
	// FieldTTLs is the number of keys with fields that have a time to live of their own (Valkey 9.0).
	FieldTTLs int64
	// UsedMemory and MaxMemory are in bytes; MaxMemory 0 is no limit.
	UsedMemory, MaxMemory int64
	// Peers is its CLUSTER NODES, itself included, sorted by id.
	Peers []Peer
	// Settings are the live values of the directives that were asked for.
	Settings map[string]string
	// Revision is the ACL revision it has loaded, "" when it has none.
	Revision string
	// Users is a hash of the users it has, as it lists them; "" when it does not tell.
	Users string
	// ReplHash is the SHA-256 of the password that it logs in to a primary with, "" when it has none or does not tell.
	ReplHash string
	// ReplAccepts are the SHA-256 of the passwords by which it lets others in to replicate from it, sorted.
	ReplAccepts []string
	// Migrations are the slot migration jobs it takes part in and that have not
	// ended, and the last one of its exports that failed (CLUSTER
	// GETSLOTMIGRATIONS, Valkey 9.0); nil on a server that has no such jobs.
	Migrations []SlotMigration
	// Marks are the slots it has marked as on the move (CLUSTER SETSLOT
	// MIGRATING and IMPORTING, the only way before Valkey 9.0).
	Marks []SlotMark
}

// A SlotMigration is one job of CLUSTER MIGRATESLOTS as one of its two ends reports it.
type SlotMigration struct {
	Name               string // 40 hex characters
	Export             bool   // the reporting server is the source
	Slots              []SlotRange
	SourceID, TargetID string
	// State is Valkey's word: connecting, snapshotting, replicating, … and at last success, failed or cancelled.
	State   string
	Message string
	// Updated is when the state last changed, whole seconds.
	Updated time.Time
}

// Open says that the job has not ended.
func (m SlotMigration) Open() bool {
	return m.State != "success" && m.State != "failed" && m.State != "cancelled"
}

// A SlotMark is one slot that a server has marked as on the move.
type SlotMark struct {
	Slot int
	// Importing is false for MIGRATING.
	Importing bool
	// PeerID is the server at the other end.
	PeerID string
}

// A Peer is one line of a server's CLUSTER NODES.
type Peer struct {
	ID        string
	IP        string // "" when the server knows no address
	Myself    bool
	Role      Role
	PrimaryID string
	Epoch     int64
	// Suspected is Valkey's PFAIL, Failed its FAIL.
	Suspected, Failed bool
	// Handshake says that the peer's identity is not yet known; its ID is then a made-up one.
	Handshake bool
	// Linked says that the bus link to the peer is connected.
	Linked bool
	Slots  []SlotRange
}

// A SlotRange is the slots From to To, both included.
type SlotRange = topology.Range
