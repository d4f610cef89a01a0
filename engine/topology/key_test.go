package topology_test

import (
	"testing"

	"valkey.gomomento.com/operator/engine/topology"
)

func TestSlotOf(t *testing.T) {
	for key, want := range map[string]int{
		"123456789":           12739, // the check value of the checksum, 0x31C3
		"foo":                 12182,
		"{foo}bar":            12182,
		"a{foo}{bar}":         12182,
		"":                    0,
		"{user1000}.follower": topology.SlotOf("user1000"),
	} {
		if got := topology.SlotOf(key); got != want {
			t.Errorf("the slot of %q is %d, want %d", key, got, want)
		}
	}
	if topology.SlotOf("foo{}{bar}") == topology.SlotOf("bar") {
		t.Error("an empty pair of braces does not end the search: the whole key counts")
	}
}
