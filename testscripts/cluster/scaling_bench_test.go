package cluster

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/valkey-io/valkey-go"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"valkey.gomomento.com/operator/cue/api/v1alpha1"
	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/replies"
	"valkey.gomomento.com/operator/testscripts/traffic"
)

const (
	// bulkMegabytes is what the shards hold together.
	bulkMegabytes = 500
	// bulkLimit bounds each step: a scale-out takes some ten seconds.
	bulkLimit = 3 * time.Minute
	// bulkInterval is how often the end of a bare move is looked for.
	bulkInterval = 5 * time.Millisecond
)

// BenchmarkScaleOut adds a fourth shard to three that hold 500 MB. While the operator is paused the same slots then move
// back and forth once more, by one bare CLUSTER MIGRATESLOTS for each of the old shards, all at once.
func BenchmarkScaleOut(b *testing.B) {
	menu(b, "bulk", "500m", "1Gi")
	c := newCluster(namespace(b), "bulk", "bulk", 3, 1)
	key := client.ObjectKeyFromObject(c)
	create(b, c)
	check(b, shared.waitAvailable(b.Context(), bulkLimit, key))
	access, err := shared.access(b.Context(), key, "", "")
	check(b, err)
	_, err = traffic.Fill(b.Context(), traffic.FillOptions{Access: access, Name: "bulk", Megabytes: bulkMegabytes})
	check(b, err)
	var scaled, bare time.Duration
	for b.Loop() {
		scaled += scale(b, key, 4)
		pause(b, key, true)
		bare += moveBare(b, key)
		pause(b, key, false)
		scale(b, key, 3)
	}
	b.ReportMetric(scaled.Seconds()/float64(b.N), "s/scale-out")
	b.ReportMetric(bare.Seconds()/float64(b.N), "s/bare-move")
	b.ReportMetric(scaled.Seconds()/bare.Seconds(), "times-bare")
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// change edits the cluster's spec.
func change(t testing.TB, key client.ObjectKey, edit func(*v1alpha1.ValkeyClusterSpec)) {
	t.Helper()
	var c v1alpha1.ValkeyCluster
	check(t, shared.kube.Get(t.Context(), key, &c))
	before := c.DeepCopy()
	edit(&c.Spec)
	check(t, shared.kube.Patch(t.Context(), &c, client.MergeFrom(before)))
}

func pause(t testing.TB, key client.ObjectKey, paused bool) {
	t.Helper()
	change(t, key, func(spec *v1alpha1.ValkeyClusterSpec) { spec.Paused = paused })
}

// scale returns how long it took until the shards were balanced and nothing was left to do.
func scale(t testing.TB, key client.ObjectKey, shards int32) time.Duration {
	t.Helper()
	start := time.Now()
	change(t, key, func(spec *v1alpha1.ValkeyClusterSpec) { spec.Shards = shards })
	since, err := shared.waitSettled(t.Context(), bulkLimit, key)
	check(t, err)
	return since.Sub(start)
}

// An owner is a primary with the slots it says it has, and a connection to it.
type owner struct {
	id     string
	shard  string
	slots  []engine.SlotRange
	client valkey.Client
}

// moveBare moves the slots of the last shard to the others and back, and returns how long the way back took.
func moveBare(t testing.TB, key client.ObjectKey) time.Duration {
	t.Helper()
	all := owners(t, key)
	last, others := all[len(all)-1], all[:len(all)-1]
	// Whose they were the last shard does not tell: each of its ranges goes to one of the others.
	for i, slots := range last.slots {
		last.migrate(t, slots, others[i%len(others)])
		last.await(t, len(last.slots)-i-1)
	}
	start := time.Now()
	for i, slots := range last.slots {
		others[i%len(others)].migrate(t, slots, last)
	}
	last.await(t, len(last.slots))
	return time.Since(start)
}

// owners are the primaries in the order of their shards.
func owners(t testing.TB, key client.ObjectKey) []owner {
	t.Helper()
	password, err := shared.operatorPassword(t.Context(), key)
	check(t, err)
	var all []owner
	for shard := 0; ; shard++ {
		pod, err := shared.find(t.Context(), key, "primary", fmt.Sprint(shard))
		if err != nil {
			break
		}
		c, err := asOperator(pod, password, nil)
		check(t, err)
		t.Cleanup(c.Close)
		o := owner{shard: fmt.Sprint(shard), client: c}
		o.id, o.slots = o.ask(t)
		all = append(all, o)
	}
	return all
}

// ask is who the primary is and which ranges of slots it has.
func (o owner) ask(t testing.TB) (id string, slots []engine.SlotRange) {
	t.Helper()
	text, err := o.client.Do(context.Background(), o.client.B().Arbitrary("CLUSTER", "NODES").Build()).ToString()
	check(t, err)
	peers, _, err := replies.Nodes(text)
	check(t, err)
	self := myself(peers)
	if self.ID == "" {
		t.Fatalf("shard %s does not know itself:\n%s", o.shard, text)
	}
	return self.ID, self.Slots
}

func (o owner) migrate(t testing.TB, slots engine.SlotRange, to owner) {
	t.Helper()
	words := []string{"CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", strconv.Itoa(slots.From), strconv.Itoa(slots.To), "NODE", to.id}
	check(t, o.client.Do(context.Background(), o.client.B().Arbitrary(words...).Build()).Error())
}

// await waits until the primary has so many ranges of slots.
func (o owner) await(t testing.TB, ranges int) {
	t.Helper()
	for end := time.Now().Add(bulkLimit); ; time.Sleep(bulkInterval) {
		_, slots := o.ask(t)
		if len(slots) == ranges {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("shard %s has %v, want %d ranges", o.shard, slots, ranges)
		}
	}
}
