package derivation

import (
	"encoding/binary"
	"testing"
)

func TestMemoKeepsWhatIsAskedForAndForgetsTheRest(t *testing.T) {
	var m memo
	key := func(i int) (k [32]byte) {
		binary.BigEndian.PutUint64(k[:], uint64(i))
		return k
	}
	for i := range 10 * memoGeneration {
		m.keep(key(i), result{})
		if _, ok := m.find(key(0)); !ok {
			t.Fatalf("forgot a result in use after %d others", i)
		}
	}
	if kept := len(m.young) + len(m.old); kept > 2*memoGeneration {
		t.Errorf("keeps %d results, want at most %d", kept, 2*memoGeneration)
	}
	if _, ok := m.find(key(1)); ok {
		t.Error("keeps a result nobody asked for")
	}
}
