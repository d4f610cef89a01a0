package derivation

import (
	"crypto/sha256"
	"sync"

	"valkey.gomomento.com/operator/engine"
)

// result is what one derivation gave.
type result struct {
	desired engine.Desired
	extras  Extras
}

// memoGeneration bounds how many results are kept: one generation in use and
// the one before, so at most twice as many. A fleet larger than that derives
// its idle clusters anew now and then, which costs time and changes nothing.
const memoGeneration = 2048

// memo remembers results by input. Results not asked for through a whole generation go.
type memo struct {
	mu         sync.Mutex
	young, old map[[sha256.Size]byte]result
}

func (m *memo) find(key [sha256.Size]byte) (result, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.young[key]; ok {
		return r, true
	}
	r, ok := m.old[key]
	if ok {
		m.put(key, r)
	}
	return r, ok
}

func (m *memo) keep(key [sha256.Size]byte, r result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(key, r)
}

func (m *memo) put(key [sha256.Size]byte, r result) {
	if m.young == nil || len(m.young) >= memoGeneration {
		m.old, m.young = m.young, make(map[[sha256.Size]byte]result)
	}
	m.young[key] = r
}
