// Package objects builds the Kubernetes objects of a cluster: what they are
// called, what they are labelled, who owns them and what is in them.
//
// It is pure: specs in, objects out. It must not talk to an API server or a
// Valkey server, nor decide whether an object is due.
package objects

// Finalizers of the operator.
const (
	// ClusterFinalizer keeps a ValkeyCluster until all it owns is gone.
	ClusterFinalizer = "valkey.gomomento.com/cleanup"
	// NodeFinalizer keeps a ValkeyNode until its Pod is gone.
	NodeFinalizer = "valkey.gomomento.com/node-cleanup"
	// SecretFinalizer keeps the system passwords readable until the operator has seen that they are deleted.
	SecretFinalizer = "valkey.gomomento.com/passwords"
)

// Labels of the objects here.
const (
	LabelName      = "app.kubernetes.io/name"
	LabelInstance  = "app.kubernetes.io/instance"
	LabelManagedBy = "app.kubernetes.io/managed-by"
	LabelShard     = "valkey.gomomento.com/shard-index"
	LabelJoinType  = "valkey.gomomento.com/join-type"
)

// Values of LabelName and LabelManagedBy.
const (
	Application = "valkey"
	Manager     = "valkey-operator"
)

// RevisionAnnotation on a Pod is the ACL revision its volumes were last
// refreshed for.
const RevisionAnnotation = "valkey.gomomento.com/acl-revision"

// Annotations about the system passwords.
const (
	// RotationAnnotation on a ValkeyCluster asks for new ones whenever its value is new; on the Secret with the new ones it
	// says which value that was.
	RotationAnnotation = "valkey.gomomento.com/rotate-system-passwords"
	// AdoptedAnnotation on the Secret beside the main one says that its passwords are the ones to use.
	AdoptedAnnotation = "valkey.gomomento.com/adopted"
)

// Keys of the ConfigMaps and of the Secret.
const (
	ConfKey             = "valkey.conf"
	ACLKey              = "users.acl"
	OperatorPasswordKey = "operator-password"
	ReplPasswordKey     = "repl-password"
	PrimaryAuthKey      = "primaryauth.conf"
	// previousPrefix begins the keys of the passwords that a rotation replaces.
	previousPrefix = "previous-"
)

// Ports of every server: clients' and the cluster bus's, which is always 10000 above.
const (
	ClientPort = 6379
	BusPort    = 16379
)

// ServiceName is the headless Service that gives every Pod its DNS name. It is
// also the name of the cluster's PodDisruptionBudget.
func ServiceName(cluster string) string { return cluster }

// ACLName is the ConfigMap with users.acl.
func ACLName(cluster string) string { return cluster + "-acl" }

// AuthName is the Secret with the system passwords.
func AuthName(cluster string) string { return cluster + "-operator-auth" }

// NextAuthName is the Secret that is there while the one with the system passwords is replaced.
func NextAuthName(cluster string) string { return AuthName(cluster) + "-next" }

// ConfigName is the ConfigMap with a node's valkey.conf.
func ConfigName(node string) string { return node + "-config" }

// Hostname is the DNS name of a node's Pod, which its TLS certificate must cover.
func Hostname(node, cluster, namespace, clusterDomain string) string {
	return node + "." + ServiceName(cluster) + "." + namespace + ".svc." + clusterDomain
}
