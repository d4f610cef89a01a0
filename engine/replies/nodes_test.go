package replies_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/replies"
	"valkey.gomomento.com/operator/engine/topology"
)

// captures are real replies to CLUSTER NODES by release: of three primaries of which the first has a replica, a slot on
// the move and met an address where nobody is; then one primary dies, then a second.
func captures(t testing.TB, name string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, version := range []string{"9.1", "8.1", "8.0"} {
		text, err := os.ReadFile(filepath.Join("testdata", version, name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		texts[version] = string(text)
	}
	return texts
}

// byIP are the peers with the last number of their address, ids left out since every capture has others.
func byIP(peers []engine.Peer) map[string]engine.Peer {
	number := map[string]string{}
	for _, p := range peers {
		number[p.ID] = p.IP[strings.LastIndexByte(p.IP, '.')+1:]
	}
	found := map[string]engine.Peer{}
	for _, p := range peers {
		key := number[p.ID]
		p.ID, p.IP, p.PrimaryID = "", "", number[p.PrimaryID]
		found[key] = p
	}
	return found
}

func TestRealRepliesToClusterNodesAreRead(t *testing.T) {
	want := map[string]map[string]engine.Peer{
		"nodes-primary": {
			"1": {Myself: true, Role: engine.Primary, Epoch: 1, Linked: true, Slots: []engine.SlotRange{{From: 0, To: 5460}, {From: 16383, To: 16383}}},
			"2": {Role: engine.Primary, Epoch: 2, Linked: true, Slots: []engine.SlotRange{{From: 5461, To: 10922}}},
			"3": {Role: engine.Primary, Epoch: 3, Linked: true, Slots: []engine.SlotRange{{From: 10923, To: 16382}}},
			"4": {Role: engine.Replica, PrimaryID: "1", Epoch: 1, Linked: true},
		},
		"nodes-failed": {
			"1":   {Myself: true, Role: engine.Primary, Epoch: 1, Linked: true, Slots: []engine.SlotRange{{From: 0, To: 5460}, {From: 16383, To: 16383}}},
			"2":   {Role: engine.Primary, Epoch: 2, Linked: true, Slots: []engine.SlotRange{{From: 5461, To: 10922}}},
			"3":   {Role: engine.Primary, Epoch: 3, Failed: true, Slots: []engine.SlotRange{{From: 10923, To: 16382}}},
			"4":   {Role: engine.Replica, PrimaryID: "1", Epoch: 1, Linked: true},
			"250": {Handshake: true},
		},
		"nodes-minority": {
			"1": {Myself: true, Role: engine.Primary, Epoch: 1, Linked: true, Slots: []engine.SlotRange{{From: 0, To: 5460}, {From: 16383, To: 16383}}},
			"2": {Role: engine.Primary, Epoch: 2, Suspected: true, Slots: []engine.SlotRange{{From: 5461, To: 10922}}},
			"3": {Role: engine.Primary, Epoch: 3, Failed: true, Slots: []engine.SlotRange{{From: 10923, To: 16382}}},
			"4": {Role: engine.Replica, PrimaryID: "1", Epoch: 1, Linked: true},
		},
	}
	for name, peers := range want {
		for version, text := range captures(t, name) {
			got, _, err := replies.Nodes(text)
			if err != nil {
				t.Errorf("%s %s: %v", version, name, err)
				continue
			}
			if diff := cmp.Diff(peers, byIP(got)); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", version, name, diff)
			}
		}
	}
}

const (
	idA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	idB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

func TestLinesOfClusterNodesThatAreSeldomSeen(t *testing.T) {
	cases := map[string]struct {
		line string
		want engine.Peer
	}{
		"an IPv6 address, with all that may follow it": {
			line: idA + " fd00:10::7:6379@16379,c-1.c.ns.svc,shard-id=69bc080733d1355567173199cff4a6a039a2f024,availability-zone=z myself,slave " + idB + " 0 0 7 connected",
			want: engine.Peer{ID: idA, IP: "fd00:10::7", Myself: true, Role: engine.Replica, PrimaryID: idB, Epoch: 7, Linked: true},
		},
		"an empty hostname": {
			line: idA + " 10.0.0.1:6379@16379,,tls-port=6379 master - 0 0 2 connected",
			want: engine.Peer{ID: idA, IP: "10.0.0.1", Role: engine.Primary, Epoch: 2, Linked: true},
		},
		"a server that does not know its own address yet": {
			line: idA + " :6379@16379 myself,master - 0 0 0 connected",
			want: engine.Peer{ID: idA, Myself: true, Role: engine.Primary, Linked: true},
		},
		"a member without an address": {
			line: idA + " 10.0.0.9:0@0 master,fail,noaddr - 1 1 3 disconnected",
			want: engine.Peer{ID: idA, Role: engine.Primary, Failed: true, Epoch: 3},
		},
		"no flags": {
			line: idA + " 10.0.0.1:6379@16379 noflags - 0 0 0 disconnected",
			want: engine.Peer{ID: idA, IP: "10.0.0.1"},
		},
		"a flag of a release to come": {
			line: idA + " 10.0.0.1:6379@16379 master,nofailover,tired - 0 0 4 connected 5",
			want: engine.Peer{ID: idA, IP: "10.0.0.1", Role: engine.Primary, Epoch: 4, Linked: true, Slots: []engine.SlotRange{{From: 5, To: 5}}},
		},
		"slots on the move are still their holder's": {
			line: idA + " 10.0.0.1:6379@16379 master - 0 0 4 connected 0-92 93 [93->-" + idB + "] [77-<-" + idB + "]",
			want: engine.Peer{ID: idA, IP: "10.0.0.1", Role: engine.Primary, Epoch: 4, Linked: true, Slots: []engine.SlotRange{{From: 0, To: 92}, {From: 93, To: 93}}},
		},
	}
	for name, c := range cases {
		got, _, err := replies.Nodes(c.line + "\n")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff([]engine.Peer{c.want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestWhatIsNotUnderstoodIsAnError(t *testing.T) {
	for name, line := range map[string]string{
		"too few fields":       idA + " 10.0.0.1:6379@16379 master - 0 0 1",
		"an epoch of letters":  idA + " 10.0.0.1:6379@16379 master - 0 0 one connected",
		"a slot of letters":    idA + " 10.0.0.1:6379@16379 master - 0 0 1 connected five",
		"a slot too many":      idA + " 10.0.0.1:6379@16379 master - 0 0 1 connected 0-16384",
		"a range that is none": idA + " 10.0.0.1:6379@16379 master - 0 0 1 connected 9-3",
		"a negative slot":      idA + " 10.0.0.1:6379@16379 master - 0 0 1 connected -1",
		"a mark without an id": idA + " 10.0.0.1:6379@16379 myself,master - 0 0 1 connected [93->-]",
		"a mark with no arrow": idA + " 10.0.0.1:6379@16379 myself,master - 0 0 1 connected [93]",
		"a mark of no slot":    idA + " 10.0.0.1:6379@16379 myself,master - 0 0 1 connected [x->-" + idB + "]",
	} {
		if peers, _, err := replies.Nodes(line); err == nil {
			t.Errorf("%s: read as %v", name, peers)
		}
	}
}

func FuzzClusterNodes(f *testing.F) {
	for _, name := range []string{"nodes-primary", "nodes-replica", "nodes-failed", "nodes-minority"} {
		for _, text := range captures(f, name) {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		peers, _, err := replies.Nodes(text)
		if err != nil {
			return
		}
		if !slices.IsSortedFunc(peers, func(a, b engine.Peer) int { return strings.Compare(a.ID, b.ID) }) {
			t.Errorf("not sorted: %v", peers)
		}
		for _, p := range peers {
			for _, r := range p.Slots {
				if r.From < 0 || r.To < r.From || r.To >= topology.SlotCount {
					t.Errorf("%s holds %v", p.ID, r)
				}
			}
		}
	})
}
