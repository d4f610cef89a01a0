package valkey

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	valkeygo "github.com/valkey-io/valkey-go"
)

// replicationUser is the user that servers log in to each other as.
const replicationUser = "_momento_repl"

// askReplication asks for the password that a server logs in to others with, by the name that every release has for it:
// primaryauth came with Valkey 8.0.
var askReplication = []string{"CONFIG", "GET", "masterauth"}

// replication reads the reply to askReplication. Only the password's hash is kept.
func replication(r valkeygo.ValkeyResult) (string, error) {
	reply, err := r.AsStrMap()
	if forbidden(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read CONFIG GET masterauth: %w", err)
	}
	password := reply["masterauth"]
	if password == "" {
		return "", nil
	}
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:]), nil
}

// passwords reads the reply to ACL GETUSER: the hashes of the user's passwords, sorted. There are none of a user that
// does not exist.
func passwords(r valkeygo.ValkeyResult) ([]string, error) {
	user, err := r.AsMap()
	if valkeygo.IsValkeyNil(err) || forbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read ACL GETUSER: %w", err)
	}
	listed := user["passwords"]
	hashes, err := listed.AsStrSlice()
	if err != nil {
		return nil, fmt.Errorf("read ACL GETUSER: %w", err)
	}
	slices.Sort(hashes)
	return hashes, nil
}
