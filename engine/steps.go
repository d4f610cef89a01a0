package engine

// The types below are parts of steps that Diff plans and actions carry out:
// facts hold them ready-made, so that a rule only has to name them.

// A JoinType says why a node joins a cluster that exists, as its label spells it.
type JoinType string

// The join types; a node of a bootstrap has none.
const (
	JoinReplica JoinType = "replica" // a replacement or an added replica
	JoinPrimary JoinType = "primary" // replaces a dead primary that had no replica
	JoinShard   JoinType = "shard"   // belongs to a shard that is being added
)

// A NewNode is a node to create.
type NewNode struct {
	ShardIndex int
	Join       JoinType
}

// A Preparation readies one server that has met nobody: it gets an epoch of its
// own, BEFORE it meets anyone since Valkey refuses it afterwards, and the slots
// nobody holds.
type Preparation struct {
	Node string
	// ID is the server the plan was made for; another id there means: do nothing.
	ID string
	// Epoch is the config epoch to set, 0 to leave it.
	Epoch int64
	// Slots are the slots to take, none for a replica to be.
	Slots []SlotRange
	// Settings are set live before anything else.
	Settings map[string]string
}

// An Introduction lets one server meet others.
type Introduction struct {
	Node, ID string
	Meets    []Acquaintance
}

// An Acquaintance is a server to meet: the id is checked at the address before.
type Acquaintance struct {
	Node, ID, IP string
}

// An Attachment makes a server without slots the replica of a primary.
type Attachment struct {
	Node, ID, PrimaryID string
}

// A SettingChange sets directives of one server live.
type SettingChange struct {
	Node     string
	Settings map[string]string
}

// An Oblivion removes a departed member from the memory of every server that answers.
type Oblivion struct {
	ID string
	// By are the nodes whose servers still know it, sorted.
	By []string
}

// A Move hands slots from one primary to another.
type Move struct {
	From, FromID string
	To, ToID     string
	Slots        []SlotRange
}

// A Recall cancels every slot migration job that a server exports.
type Recall struct {
	Node, ID string
}

// An Unmarking takes the marks of slots on the move off a server.
type Unmarking struct {
	Node, ID string
	Slots    []int
}

// A Succession makes a replica the primary of its shard.
type Succession struct {
	// Node is the replica, ID its server.
	Node, ID string
	// Primary is the node to succeed, "" when it is gone; PrimaryID its server.
	Primary, PrimaryID string
}

// A Retirement takes a member that holds no slots out of the cluster, for good.
type Retirement struct {
	Node, ID string
	// By are the nodes whose servers must forget it, sorted.
	By []string
}
