package engine

// Desired is what a cluster's specs ask for, derived and not yet compared.
type Desired struct {
	// Problem is why the specs do not resolve or are not accepted, "" when they are.
	// With a Problem every other field may be empty.
	Problem string
	// Reason is the CamelCase reason of Problem for conditions: ConfigNotFound, ImageNotFound, …
	Reason string
	// Warnings are said to the user and stop nothing, sorted.
	Warnings []Warning

	Topology Topology
	// Node is what every node's spec should be, its shard index and lifecycle aside.
	Node NodeSpec
	// Version is the image's declared Valkey version, major.minor.patch.
	Version string
	// Settings are the forced and configured directives a server should have live.
	// They equal Node.Settings; Conf is their rendering.
	Conf string
	// ACLFile is users.acl. Its revision is ACLRevision, 64 hex characters.
	ACLFile, ACLRevision string
	// OpenDefault says that the default user is open to everyone.
	OpenDefault    bool
	PodAnnotations map[string]string
	// FormingNodeTimeout is cluster-node-timeout while a cluster forms, in ms as text.
	FormingNodeTimeout string
	// Objects are the owned objects to keep, Pods and ValkeyNodes and their ConfigMaps aside.
	Objects []Object
}

// A Warning is one thing a user should know about the specs.
type Warning struct {
	Reason, Message string
}
