package valkeytest

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	valkeygo "github.com/valkey-io/valkey-go"
)

// formTimeout bounds the forming of a cluster: two seconds on an idle machine.
const formTimeout = 60 * time.Second

// A Node is a server of a cluster, with a connection to it.
type Node struct {
	*Server
	ID     string
	client valkeygo.Client
}

// FormCluster starts a cluster: first the primaries, in the order of their slots, then one replica of each, then
// another of each. Node timeout and directives are the same for all.
func FormCluster(t testing.TB, version string, shards, replicas int, directives ...string) []*Node {
	t.Helper()
	nodes := make([]*Node, shards*(1+replicas))
	for i := range nodes {
		nodes[i] = startMember(t, version, i+1, directives)
	}
	for i, n := range nodes[:shards] {
		n.Do(t, fmt.Sprintf("CLUSTER ADDSLOTSRANGE %d %d", i*16384/shards, (i+1)*16384/shards-1))
	}
	for i, n := range nodes {
		for _, other := range nodes[i+1:] {
			n.Do(t, "CLUSTER MEET "+other.IP+" "+port)
		}
	}
	for i, replica := range nodes[shards:] {
		Eventually(t, "follow its primary", func() error {
			_, err := replica.Try("CLUSTER REPLICATE " + nodes[i%shards].ID)
			return err
		})
	}
	for _, n := range nodes {
		Eventually(t, "see a whole cluster", func() error { return n.whole(t, len(nodes)) })
	}
	return nodes
}

// Join starts one more server, a primary without slots, and waits until all know each other.
func Join(t testing.TB, version string, nodes []*Node, directives ...string) *Node {
	t.Helper()
	n := startMember(t, version, len(nodes)+1, directives)
	n.Do(t, "CLUSTER MEET "+nodes[0].IP+" "+port)
	all := append(slices.Clone(nodes), n)
	for _, each := range all {
		Eventually(t, "see the server that joined", func() error { return each.whole(t, len(all)) })
	}
	return n
}

// startMember starts a server that is still alone, with an epoch of its own.
func startMember(t testing.TB, version string, epoch int, directives []string) *Node {
	t.Helper()
	usual := []string{"--cluster-node-timeout", "2000", "--cluster-require-full-coverage", "no", "--save", ""}
	n := &Node{Server: Start(t, version, append(usual, directives...)...)}
	n.connect(t)
	n.Do(t, fmt.Sprintf("CLUSTER SET-CONFIG-EPOCH %d", epoch))
	return n
}

func (n *Node) connect(t testing.TB) {
	t.Helper()
	client, err := valkeygo.NewClient(valkeygo.ClientOption{
		InitAddress: []string{net.JoinHostPort(n.IP, port)}, Username: "_momento_operator", Password: Password,
		ForceSingleClient: true, DisableCache: true, DisableRetry: true, AlwaysRESP2: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	n.client = client
	n.ID = n.Do(t, "CLUSTER MYID")
}

// Try sends a command, its words apart by spaces, and returns the reply as text.
func (n *Node) Try(command string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	reply, err := n.client.Do(ctx, n.client.B().Arbitrary(strings.Fields(command)...).Build()).ToAny()
	return fmt.Sprint(reply), err
}

// Do is Try where an error ends the test.
func (n *Node) Do(t testing.TB, command string) string {
	t.Helper()
	text, err := n.Try(command)
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return text
}

// whole returns nil when the server sees a whole cluster of so many members and, as a replica, is in sync.
func (n *Node) whole(t testing.TB, members int) error {
	t.Helper()
	state, nodes, link := n.Do(t, "CLUSTER INFO"), n.Do(t, "CLUSTER NODES"), n.Do(t, "INFO replication")
	switch {
	case !strings.Contains(state, "cluster_state:ok"), !strings.Contains(state, "cluster_slots_assigned:16384"):
		return fmt.Errorf("cluster info:\n%s", state)
	case strings.Count(nodes, " connected") != members, strings.Contains(nodes, "handshake"):
		return fmt.Errorf("cluster nodes:\n%s", nodes)
	case strings.Contains(link, "master_link_status:down"):
		return fmt.Errorf("replication:\n%s", link)
	}
	return nil
}

// AwaitPrimary waits until the server calls itself a primary.
func (n *Node) AwaitPrimary(t testing.TB) {
	t.Helper()
	Eventually(t, "become a primary", func() error {
		if role := n.Do(t, "INFO replication"); !strings.Contains(role, "role:master") {
			return fmt.Errorf("replication:\n%s", role)
		}
		return nil
	})
}

// Eventually asks until it gets no error, and ends the test when that takes too long.
func Eventually(t testing.TB, what string, ask func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(formTimeout); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if err = ask(); err == nil {
			return
		}
	}
	t.Fatalf("does not %s: %v", what, err)
}
