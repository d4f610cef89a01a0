package v1alpha1

// Words of the API that Go code decides by. TestWordsAreTheSchemas holds them to the CUE enums.
const (
	// Allow and Deny are what a role says of a command or a category.
	Allow Access = "allow"
	Deny  Access = "deny"

	// ReadWrite is the access of a key pattern that names none.
	ReadWrite KeyAccess = "readwrite"
	Read      KeyAccess = "read"
	Write     KeyAccess = "write"

	// BestEffort and Required are how hard pods are spread over zones.
	BestEffort ZoneSpread = "bestEffort"
	Required   ZoneSpread = "required"

	// Creating is the state of a cluster without one; Updating is kept for readers of older releases.
	Creating ClusterState = "Creating"
	Active   ClusterState = "Active"
	Updating ClusterState = "Updating"
	Invalid  ClusterState = "Invalid"

	// Primary and Replica are what a server says it is.
	Primary NodeRole = "primary"
	Replica NodeRole = "replica"

	// LifecycleActive is the lifecycle of a node that names none.
	LifecycleActive  Lifecycle = "Active"
	LifecycleJoining Lifecycle = "Joining"
	LifecycleLeaving Lifecycle = "Leaving"
)
