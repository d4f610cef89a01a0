package sim

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage pile up: worlds are small and many, and collecting costs more than they do.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
