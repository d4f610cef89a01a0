package cluster

import (
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdAPIServer keeps the API server from answering, by stopping its process with its connections left open: nothing
// tells a client that it is gone. It goes on at the end of the scenario at the latest. Only localkube can do that.
func cmdAPIServer(ts *testscript.TestScript, _ bool, args []string) {
	s := in(ts)
	switch {
	case len(args) == 1 && args[0] == "stop":
		s.disturbed = time.Now()
		s.stopAPIServer(ts)
	case len(args) == 1 && args[0] == "resume":
		s.disturbed = time.Now()
		ts.Check(s.signalAPIServer("CONT"))
	default:
		ts.Fatalf("apiserver: stop, then resume")
	}
}

func (s *suite) stopAPIServer(ts *testscript.TestScript) {
	ts.Check(s.signalAPIServer("STOP"))
	ts.Defer(func() { ts.Check(s.signalAPIServer("CONT")) })
}

func (s *suite) signalAPIServer(signal string) error {
	return s.localkube("exec-node", "control-plane", "--", "busybox", "sh", "-c", "kill -"+signal+" $(busybox pidof kube-apiserver)")
}
