package valkey_test

import (
	"context"
	"testing"

	"valkey.gomomento.com/operator/operator/valkey"
	"valkey.gomomento.com/operator/operator/valkey/valkeytest"
)

// TestACarrierIsAnotherUserOnAConnectionOfItsOwn: neither takes the other's place, and both are closed with the server.
func TestACarrierIsAnotherUserOnAConnectionOfItsOwn(t *testing.T) {
	s := valkeytest.Start(t, "8.1", "--cluster-node-timeout", "500")
	pool, _, _ := newPool(t)
	eventually(t, pool, target(s.Address()), access, "")
	to := map[string]valkey.Target{"n": target(s.Address())}
	servers := pool.Servers(to, access)
	do(t, servers, "n", words("CLUSTER ADDSLOTSRANGE 0 16383"),
		words("ACL SETUSER %s on >secret ~* +memory|usage", valkey.ReplUsername))
	until(t, "it serves", func() bool {
		replies, err := servers.Do(context.Background(), "n", []string{"SET", "there", "x"})
		return err == nil && replies[0].Err == nil
	})
	carrier := servers.Carrier("secret")
	until(t, "the carrier is connected", func() bool {
		_, err := carrier.Sizes(context.Background(), "n", []string{"there"})
		return err == nil
	})
	sizes, err := carrier.Sizes(context.Background(), "n", []string{"there", "gone"})
	if err != nil || sizes[0] <= 0 || sizes[1] != 0 {
		t.Errorf("sizes %v, error %v", sizes, err)
	}
	do(t, servers, "n", words("ACL SETUSER %s -@all", valkey.ReplUsername))
	if sizes, err = carrier.Sizes(context.Background(), "n", []string{"there"}); err != nil || sizes[0] != -1 {
		t.Errorf("without the right: sizes %v, error %v", sizes, err)
	}
	other := target(s.Address())
	other.Cluster.Name, other.PodUID = "other", "third"
	eventually(t, pool, other, access, "")
	awaitClients(t, pool, other, 3)
	pool.Keep(cluster, to["n"])
	awaitClients(t, pool, other, 3)
	pool.Keep(cluster)
	awaitClients(t, pool, other, 1)
}
