package decide

import (
	"slices"

	"github.com/rogpeppe/go-internal/testscript"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/engine"
)

// none is how a scenario writes a TLS Secret that cannot be used.
const none = "none"

func cmdOffer(ts *testscript.TestScript, _ bool, args []string) { at(ts).world.offer(args[0], args[1]) }

func cmdStuck(ts *testscript.TestScript, _ bool, args []string) { at(ts).world.stuck = args }

// offer lets the spec name the Secret, which holds the revision.
func (w *world) offer(secret, revision string) {
	if w.Certificate == nil {
		w.Certificate = &engine.Certificate{}
	}
	w.Certificate.Secret, w.Certificate.Offered = secret, revision
	if revision == none {
		w.Certificate.Offered = ""
	}
}

func (w *world) copyCertificate(a *actions.CopyCertificate) {
	w.Certificate.Copied, w.Certificate.CopiedFrom = a.Revision, a.Secret
}

// loadCertificate reaches the servers, but those whose kubelet does not bring it.
func (w *world) loadCertificate(a *actions.LoadCertificate) {
	for _, name := range a.Nodes {
		known := &w.node(name).Certificate
		if !slices.Contains(w.stuck, name) {
			known.Proved = a.Revision
		} else if !known.Asked(a.Revision, w.At) {
			known.Touched, known.TouchedAt = a.Revision, w.At
		}
	}
}
