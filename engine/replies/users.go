package replies

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Users is a hash of the reply to ACL LIST, a user a line: another one after any change of a user.
func Users(list string) string {
	sum := sha256.Sum256([]byte(strings.TrimSpace(list)))
	return hex.EncodeToString(sum[:])
}
