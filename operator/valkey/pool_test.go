package valkey_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/operator/valkey"
	"valkey.gomomento.com/operator/operator/valkey/valkeytest"
)

var (
	cluster = types.NamespacedName{Namespace: "ns", Name: "c"}
	access  = valkey.Access{Password: valkeytest.Password}
)

// patience is how long a test waits for what must come; it comes in milliseconds on an idle machine.
const patience = 20 * time.Second

// short is a time that nothing takes that does not wait for an answer, on a busy machine too.
const short = 100 * time.Millisecond

func target(address string) valkey.Target {
	return valkey.Target{Cluster: cluster, PodUID: "uid", Address: address, Hostname: "c-1.c.ns.svc.cluster.local"}
}

// newPool is a pool whose hooks fill channels.
func newPool(t *testing.T) (pool *valkey.Pool, broken, connected chan types.NamespacedName) {
	t.Helper()
	broken, connected = make(chan types.NamespacedName, 100), make(chan types.NamespacedName, 100)
	pool = &valkey.Pool{
		OnBreak:   func(c types.NamespacedName) { broken <- c },
		OnConnect: func(c types.NamespacedName) { connected <- c },
	}
	t.Cleanup(pool.Close)
	return pool, broken, connected
}

func await(t *testing.T, hook chan types.NamespacedName) {
	t.Helper()
	select {
	case c := <-hook:
		if c != cluster {
			t.Fatalf("the hook names %s", c)
		}
	case <-time.After(patience):
		t.Fatal("the hook is not called")
	}
}

func silent(t *testing.T, hook chan types.NamespacedName) {
	t.Helper()
	select {
	case <-hook:
		t.Error("the hook is called")
	case <-time.After(short):
	}
}

// eventually asks until the answer has the silence wanted: a busy machine may need more than one pass to connect.
func eventually(t *testing.T, pool *valkey.Pool, to valkey.Target, a valkey.Access, want string) *engine.Server {
	t.Helper()
	var got string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		server, err := pool.Ask(context.Background(), to, a, nil)
		if got = valkey.Silence(err); got == want {
			return server
		}
	}
	t.Fatalf("silence is %q, want %q", got, want)
	return nil
}

func TestAServerIsAskedInOneRoundTrip(t *testing.T) {
	s := valkeytest.Start(t, "9.1")
	between := newProxy(t, s.Address())
	pool, _, _ := newPool(t)
	eventually(t, pool, target(between.address), access, "")
	before := between.requests.Load()
	if _, err := pool.Ask(context.Background(), target(between.address), access, []string{"save", "maxmemory"}); err != nil {
		t.Fatal(err)
	}
	if sent := between.requests.Load() - before; sent != 1 {
		t.Errorf("%d packets sent", sent)
	}
	if n := between.connections.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestARefusedConnectionIsSaidAndTriedAgainAtOnce(t *testing.T) {
	s := valkeytest.Start(t, "9.1")
	s.Kill()
	pool, _, _ := newPool(t)
	eventually(t, pool, target(s.Address()), access, valkey.SilenceRefused)
	s.Run(t, "9.1")
	eventually(t, pool, target(s.Address()), access, "")
}

func TestAWrongPasswordIsSaidAndTheRightOneReconnects(t *testing.T) {
	s := valkeytest.Start(t, "9.1")
	pool, broken, _ := newPool(t)
	eventually(t, pool, target(s.Address()), valkey.Access{Password: "wrong"}, valkey.SilenceUnauthenticated)
	eventually(t, pool, target(s.Address()), valkey.Access{}, valkey.SilenceUnauthenticated)
	eventually(t, pool, target(s.Address()), access, "")
	eventually(t, pool, target(s.Address()), valkey.Access{Password: "wrong"}, valkey.SilenceUnauthenticated)
	silent(t, broken)
}

// A listener that accepts and says nothing is a black hole from the greeting on; so is a server that hangs.
func TestABlackHoleCostsAPassItsPatienceAndTheNextNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	pool, _, _ := newPool(t)
	to := target(l.Addr().String())
	ask := func() time.Duration {
		began := time.Now()
		_, err := pool.Ask(context.Background(), to, access, nil)
		if valkey.Silence(err) != valkey.SilenceTimeout {
			t.Fatalf("error is %v", err)
		}
		return time.Since(began)
	}
	if took := ask(); took > 400*time.Millisecond {
		t.Errorf("the first pass took %s", took)
	}
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if took := ask(); took > short {
			t.Errorf("a pass beside the attempt, or soon after, took %s", took)
		}
	}
}

func TestAConnectionThatNobodyWaitedForWakesTheLoop(t *testing.T) {
	s := valkeytest.Start(t, "9.1")
	between := newProxy(t, s.Address())
	pool, _, connected := newPool(t)
	between.deaf.Lock()
	if _, err := pool.Ask(context.Background(), target(between.address), access, nil); valkey.Silence(err) != valkey.SilenceTimeout {
		t.Fatalf("error is %v", err)
	}
	between.deaf.Unlock()
	await(t, connected)
	eventually(t, pool, target(between.address), access, "")
}

func TestABrokenConnectionWakesTheLoop(t *testing.T) {
	s := valkeytest.Start(t, "9.1")
	between := newProxy(t, s.Address())
	pool, broken, _ := newPool(t)
	for name, breaks := range map[string]func(){
		"the peer's host closes it": func() { between.cut(t) },
		"its server is killed":      func() { s.Kill(); s.Run(t, "9.1") },
	} {
		t.Run(name, func(t *testing.T) {
			eventually(t, pool, target(between.address), access, "")
			breaks()
			await(t, broken)
			eventually(t, pool, target(between.address), access, "")
			silent(t, broken)
		})
	}
}

func TestAServerThatHangsIsSilentUntilItGoesOn(t *testing.T) {
	s := valkeytest.Start(t, "9.1")
	pool, _, _ := newPool(t)
	eventually(t, pool, target(s.Address()), access, "")
	s.Stop(t)
	began := time.Now()
	_, err := pool.Ask(context.Background(), target(s.Address()), access, nil)
	if took := time.Since(began); valkey.Silence(err) != valkey.SilenceTimeout || took > 1500*time.Millisecond {
		t.Errorf("after %s: %v", took, err)
	}
	began = time.Now()
	_, err = pool.Ask(context.Background(), target(s.Address()), access, nil)
	if took := time.Since(began); valkey.Silence(err) != valkey.SilenceTimeout || took > short {
		t.Errorf("after %s: %v", took, err)
	}
	s.Continue(t)
	eventually(t, pool, target(s.Address()), access, "")
}

func TestAPassThatIsCancelledKeepsTheConnection(t *testing.T) {
	s := valkeytest.Start(t, "9.1")
	between := newProxy(t, s.Address())
	pool, _, _ := newPool(t)
	eventually(t, pool, target(between.address), access, "")
	between.deaf.Lock()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := pool.Ask(ctx, target(between.address), access, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
	between.deaf.Unlock()
	eventually(t, pool, target(between.address), access, "")
	if n := between.connections.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestConnectionsAreClosedWithTheirServerAndNobodyIsWoken(t *testing.T) {
	s := valkeytest.Start(t, "9.1")
	pool, broken, _ := newPool(t)
	old, fresh := target(s.Address()), target(s.Address())
	fresh.PodUID = "another"
	other := target(s.Address())
	other.Cluster.Name, other.PodUID = "other", "third"
	for _, to := range []valkey.Target{old, fresh, other} {
		eventually(t, pool, to, access, "")
	}
	pool.Keep(cluster, fresh)
	awaitClients(t, pool, fresh, 2)
	pool.Keep(cluster)
	awaitClients(t, pool, other, 1)
	silent(t, broken)
}

// awaitClients waits until the server has so many clients.
func awaitClients(t *testing.T, pool *valkey.Pool, by valkey.Target, want int) {
	t.Helper()
	servers, got := pool.Servers(map[string]valkey.Target{"n": by}, access), 0
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		replies, err := servers.Do(context.Background(), "n", []string{"CLIENT", "LIST"})
		if err != nil {
			t.Fatal(err)
		}
		if got = strings.Count(replies[0].Text, "addr=") / 2; got == want { // addr= and laddr=
			return
		}
	}
	t.Fatalf("%d clients, want %d", got, want)
}
