package objects_test

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"valkey.gomomento.com/operator/actions/objects"
	"valkey.gomomento.com/operator/operator/valkey/valkeytest"
)

// A probe runs a Pod's liveness command against a server, and says whether the
// kubelet would count it as life.
func probe(t *testing.T, s *valkeytest.Server, version string) bool {
	t.Helper()
	liveness := podOf(t, nil, objects.PodDefaults{}).Spec.Containers[0].LivenessProbe
	command := liveness.Exec.Command
	// In a Pod the server has loopback for itself; here it has an address of its own.
	script := strings.Replace(command[2], "valkey-cli", valkeyCLI(t, version)+" -h "+s.IP, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(liveness.TimeoutSeconds)*time.Second)
	defer cancel()
	run := exec.CommandContext(ctx, command[0], command[1], script)
	run.WaitDelay = time.Second
	err := run.Run()
	if ctx.Err() != nil || errors.Is(err, exec.ErrWaitDelay) {
		t.Error("the probe does not end by itself")
	}
	return err == nil
}

// valkeyCLI is beside the server that localkube unpacked.
func valkeyCLI(t *testing.T, version string) string {
	t.Helper()
	cache := os.Getenv("LOCALKUBE_CACHE")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(user, "valkey-operator", "localkube")
	}
	return filepath.Join(cache, "bin", "valkey", version, "valkey-cli")
}

// TestOnlySilenceKills: whatever a server answers, its Pod lives on.
func TestOnlySilenceKills(t *testing.T) {
	for _, version := range valkeytest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := valkeytest.Start(t, version, "--maxclients", "33")
			if !probe(t, s, version) {
				t.Error("NOAUTH kills")
			}
			crowd(t, s, 40)
			if !probe(t, s, version) {
				t.Error("too many clients kill")
			}
			s.Stop(t)
			if probe(t, s, version) {
				t.Error("a server that hangs lives for ever")
			}
			s.Continue(t)
			if !probe(t, s, version) {
				t.Error("a server that went on is dead")
			}
		})
	}
}

// crowd opens connections until the test's end.
func crowd(t *testing.T, s *valkeytest.Server, n int) {
	t.Helper()
	for range n {
		conn, err := net.Dial("tcp", s.Address())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := conn.Close(); err != nil {
				t.Log(err)
			}
		})
	}
}
