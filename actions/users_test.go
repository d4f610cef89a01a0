package actions_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/derivation"
	"valkey.gomomento.com/operator/operator/valkey"
	"valkey.gomomento.com/operator/operator/valkey/valkeytest"
)

const (
	// replPassword is that of _momento_repl, once the servers have the users of a real cluster.
	replPassword = "of replicas"
	// shopper is a user who may do everything, as a team's own may.
	shopper, shopperPassword = "shopper", "of the shopper"
)

// takeUsers gives all servers the system users as they are derived for a cluster
// of the version, with no right more, and one user for the data.
func (f *formation) takeUsers(t *testing.T, version string) {
	t.Helper()
	file := usersOf(t, version)
	for _, name := range f.names {
		f.do(t, name, "CONFIG", "SET", "primaryuser", valkey.ReplUsername, "primaryauth", replPassword)
		f.do(t, name, "ACL", "SETUSER", shopper, "on", ">"+shopperPassword, "~*", "&*", "+@all")
		for line := range strings.Lines(file) {
			if words := strings.Fields(line); strings.HasPrefix(words[1], "_momento_") {
				f.do(t, name, append([]string{"ACL", "SETUSER", words[1], "reset"}, words[2:]...)...)
			}
		}
	}
	shopping := f.access
	shopping.User, shopping.Password = shopper, shopperPassword
	f.data = f.pool.Servers(f.targets, shopping)
	f.Carrier = f.pool.Servers(f.targets, f.access).Carrier(replPassword)
}

// usersOf is users.acl of a cluster of the version.
func usersOf(t *testing.T, version string) string {
	t.Helper()
	d, err := derivation.Load(os.DirFS("../cue"), nil)
	if err != nil {
		t.Fatal(err)
	}
	config := derivation.NamedConfig{Name: "small", Spec: v1alpha1.ValkeyConfigSpec{ImageRef: "valkey"}}
	var got engine.Desired
	got, _, err = d.Derive(derivation.Input{
		Name: "cart", Namespace: "shop", Cluster: v1alpha1.ValkeyClusterSpec{ConfigRef: "small", Shards: 3, ReplicasPerShard: 1},
		Chain:          derivation.Chain{Configs: []derivation.NamedConfig{config}},
		Images:         map[string]v1alpha1.ValkeyImageSpec{"valkey": {Repository: "valkey", Tag: version, Version: version + ".1"}},
		OperatorHashes: []string{hashOf(valkeytest.Password)}, ReplHashes: []string{hashOf(replPassword)},
	})
	if err != nil || got.Problem != "" {
		t.Fatalf("problem %q, error %v", got.Problem, err)
	}
	return got.ACLFile
}

func hashOf(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}
