package cluster

import (
	"context"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// dataDirectory is where a server writes what it writes to a disk.
const dataDirectory = "/var/lib/valkey"

// cmdFillDisk leaves a server no room on its disk until its Pod ends. Only localkube can do that.
func cmdFillDisk(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	if len(args) != 3 {
		ts.Fatalf("fill-disk: CLUSTER primary|replica SHARD")
	}
	pod, err := s.find(context.Background(), s.key(args[0]), args[1], args[2])
	ts.Check(err)
	s.disturbed = time.Now()
	ts.Check(s.localkube("full-disk", pod.Namespace+"/"+pod.Name, dataDirectory))
	ts.Logf("the disk of %s is full", pod.Name)
}
