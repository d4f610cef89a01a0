package engine

import (
	"strconv"
	"strings"
)

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
	// Live are the directives that servers take by CONFIG SET and that the
	// operator keeps that way, by the versions that take them. Every other
	// directive needs a new node.
	Live map[string]Span
	// ACLFile is users.acl. Its revision is ACLRevision, 64 hex characters.
	ACLFile, ACLRevision string
	// OpenDefault says that the default user is open to everyone.
	OpenDefault    bool
	PodAnnotations map[string]string
	// FormingNodeTimeout is cluster-node-timeout while a cluster forms, in ms as text.
	FormingNodeTimeout string
	// Objects are the owned objects to keep; Pods, ValkeyNodes and their ConfigMaps aside, and the PodDisruptionBudget,
	// which follows what is seen.
	Objects []Object
}

// A Warning is one thing a user should know about the specs.
type Warning struct {
	Reason, Message string
}

// A Span is the versions of Valkey from Since on and before Until, each as
// major*100+minor. Without an end Until is 0.
type Span struct {
	Since int `json:"since"`
	Until int `json:"until,omitempty"`
}

// Since9 is the versions that know what Valkey 9.0 brought: slot migration jobs, times to live of fields, a safe SHUTDOWN.
var Since9 = Span{Since: 900}

// Holds says that the version, major.minor.patch, lies in the span. What is no
// version lies in none.
func (s Span) Holds(version string) bool {
	first, rest, found := strings.Cut(version, ".")
	if !found {
		return false
	}
	second, _, _ := strings.Cut(rest, ".")
	major, err := strconv.Atoi(first)
	if err != nil {
		return false
	}
	minor, err := strconv.Atoi(second)
	v := major*100 + minor
	return err == nil && v >= s.Since && (s.Until == 0 || v < s.Until)
}
