package valkey_test

import (
	"context"
	"testing"

	"valkey.gomomento.com/operator/operator/valkey"
	"valkey.gomomento.com/operator/operator/valkey/valkeytest"
)

// rotated is a server that accepts a second password, behind a proxy that counts connections.
func rotated(t *testing.T) (*valkey.Pool, map[string]valkey.Target, *proxy) {
	t.Helper()
	s := valkeytest.Start(t, "9.1")
	between := newProxy(t, s.Address())
	pool, _, _ := newPool(t)
	to := map[string]valkey.Target{"a": target(between.address)}
	eventually(t, pool, to["a"], access, "")
	do(t, pool.Servers(to, access), "a", words("ACL SETUSER _momento_operator >second"))
	return pool, to, between
}

func TestAConnectionOutlivesTheOrderOfItsPasswords(t *testing.T) {
	pool, to, between := rotated(t)
	for _, a := range []valkey.Access{
		{Password: valkeytest.Password, Others: []string{"second"}},
		{Password: "second", Others: []string{valkeytest.Password}},
		{Password: "second", Others: []string{valkeytest.Password}, LastResort: "another"},
	} {
		if _, err := pool.Ask(context.Background(), to["a"], a, nil); err != nil {
			t.Errorf("%v: %v", a.Others, err)
		}
	}
	if n := between.connections.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestAPasswordThatIsNotGoodAnyMoreIsNotUsedOn(t *testing.T) {
	pool, to, between := rotated(t)
	eventually(t, pool, to["a"], valkey.Access{Password: "second", LastResort: valkeytest.Password}, "")
	if n, last := between.connections.Load(), pool.Accepted(cluster); n != 2 || last != "second" {
		t.Errorf("%d connections, the last with %q", n, last)
	}
}

func TestPasswordsAreTriedInTurn(t *testing.T) {
	pool, to, _ := rotated(t)
	pool.Keep(cluster)
	eventually(t, pool, to["a"], valkey.Access{Password: "wrong", Others: []string{"", "wrong too", "second"}}, "")
	pool.Keep(cluster)
	eventually(t, pool, to["a"], valkey.Access{LastResort: "second"}, "")
	eventually(t, pool, to["a"], valkey.Access{Password: "wrong", LastResort: "wrong too"}, valkey.SilenceUnauthenticated)
}

func TestWhatServersAcceptedIsRememberedUntilTheClusterIsGone(t *testing.T) {
	pool, to, _ := rotated(t)
	eventually(t, pool, to["a"], valkey.Access{Password: "second"}, "")
	eventually(t, pool, to["a"], valkey.Access{Password: "wrong"}, valkey.SilenceUnauthenticated)
	pool.Keep(cluster)
	if last := pool.Accepted(cluster); last != "second" {
		t.Errorf("remembers %q", last)
	}
	pool.Forget(cluster)
	if last := pool.Accepted(cluster); last != "" {
		t.Errorf("remembers %q", last)
	}
}
