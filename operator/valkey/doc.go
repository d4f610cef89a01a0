// Package valkey speaks to Valkey servers: it keeps one connection to each,
// asks a server in one round trip for all that a Snapshot holds of it, and sends
// it the commands of actions.
//
// It remembers connections, and the password by which the servers of a cluster
// last let it in. It must not judge what a server says, try again what failed, or
// log: a server that does not answer is an error to the caller, who tries again on
// its next pass.
package valkey
