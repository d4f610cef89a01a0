package decide

import (
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/engine"
)

// A keyring is what a server knows of the system passwords, whether it can be
// heard or not: those it accepts of replicas, and the one it logs in with.
type keyring struct {
	accepts []string
	uses    string
}

// firstHashes name the passwords that a cluster begins with.
var firstHashes = engine.Auth{OperatorHash: "o", ReplHash: "r", Guarded: true}

// revise lets the users that are wanted follow the passwords, as the derivation
// does, and the operator remember what servers accept.
func (w *world) revise() {
	operator, repl := w.SystemHashes()
	if w.desired.Problem == "" {
		w.desired.ACLRevision = w.users
		if w.Auth.Whole() && (len(repl) > 1 || repl[0] != firstHashes.ReplHash) {
			w.desired.ACLRevision += "+" + strings.Join(append(operator, repl...), "+")
		}
	}
	if w.Auth.Whole() {
		w.remembered = w.Auth.OperatorHash
	}
	w.KnownHash = ""
	if !w.Auth.Whole() && w.NextAuth == nil {
		w.KnownHash = w.remembered
	}
	for i := range w.Nodes {
		if s := w.Nodes[i].Server; s != nil {
			w.keys[w.Nodes[i].Name] = keyring{s.ReplAccepts, s.ReplHash}
		}
	}
}

// equip gives a server that starts what its Pod has mounted.
func (w *world) equip(s *engine.Server) {
	s.Revision = w.desired.ACLRevision
	_, s.ReplAccepts = w.SystemHashes()
	if w.Auth.Whole() {
		s.ReplHash = w.Auth.ReplHash
	}
	if w.mounted != "" {
		s.ReplHash = w.mounted
	}
}

func (w *world) loadUsers(names []string) {
	for _, name := range names {
		s := w.node(name).Server
		s.Revision = w.desired.ACLRevision
		_, s.ReplAccepts = w.SystemHashes()
		if s.Users != "" { // they are what the file says, and noted
			s.Users = "of " + s.Revision
			w.annotate(w.node(name), engine.UsersAnnotation, s.Users)
		}
	}
}

func (w *world) annotate(n *engine.Node, annotation, value string) {
	if n.Pod.Annotations == nil {
		n.Pod.Annotations = map[string]string{}
	}
	n.Pod.Annotations[annotation] = value
}

// actOnCredentials is for what changes Secrets and passwords; handled says that the action is one of these.
func (w *world) actOnCredentials() (handled bool) {
	switch a := w.last.Args.(type) {
	case *actions.CreateCredentials:
		first := firstHashes
		w.Auth = &first
	case *actions.GuardCredentials:
		w.Auth.Guarded = true
	case *actions.CopyCredentials:
		w.NextAuth = &engine.NextAuth{Auth: *w.Auth, Adopted: true}
		w.NextAuth.Deleting, w.NextAuth.Guarded = false, true
	case *actions.RecallCredentials:
		w.NextAuth = &engine.NextAuth{
			Auth: engine.Auth{OperatorHash: w.KnownHash, ReplHash: w.anyPassword(), Guarded: true}, Adopted: true,
		}
	case *actions.RestoreCredentials:
		w.Auth = w.restored()
	case *actions.RenewCredentials:
		next := engine.Auth{OperatorHash: w.Auth.OperatorHash + "'", ReplHash: w.Auth.ReplHash + "'", Guarded: true}
		w.NextAuth = &engine.NextAuth{Auth: next, Previous: *w.Auth, Rotation: w.Cluster.Rotation}
	case *actions.AdoptCredentials:
		w.NextAuth.Adopted = true
	case *actions.TellPassword:
		for _, name := range a.Nodes {
			w.node(name).Server.ReplHash = a.Password
		}
	case *actions.DropSpentCredentials:
		if w.NextAuth.Rotation != "" {
			w.Cluster.Rotated = w.NextAuth.Rotation
		}
		w.NextAuth = nil
	default:
		return false
	}
	return true
}

func (w *world) anyPassword() string {
	for i := range w.Nodes {
		if s := w.Nodes[i].Server; s != nil {
			return s.ReplHash
		}
	}
	return ""
}

// restored is the main Secret as the one beside it says that it should be.
func (w *world) restored() *engine.Auth {
	a := w.NextAuth.Previous
	if w.NextAuth.Adopted {
		a = w.NextAuth.Auth
	}
	a.Guarded, a.Deleting = true, false
	return &a
}

func (w *world) editSecret(ts *testscript.TestScript, how string) {
	switch how {
	case "deleted":
		w.Auth.Deleting = true
	case "unguarded":
		w.Auth.Guarded = false
	case "restored":
		first := firstHashes
		first.Guarded = false
		w.Auth = &first
	case "damaged":
		w.Auth.ReplHash = ""
	default:
		ts.Fatalf("edit secret: what is %s?", how)
	}
}

// unsafeForCredentials: whoever serves must go on accepting what the others
// and the operator log in with.
func (w *world) unsafeForCredentials(d engine.Decision) string {
	switch a := d.Args.(type) {
	case *actions.CreateCredentials:
		if len(w.Nodes) > 0 {
			return "makes new credentials while servers use the old ones"
		}
	case *actions.TellPassword:
		if name := w.refusing(a.Password); name != "" {
			return "tells a password that " + name + " does not accept"
		}
	case *actions.RestoreCredentials:
		if name := w.refusing(w.restored().ReplHash); name != "" {
			return "makes passwords the only ones that " + name + " does not accept"
		}
	case *actions.LoadACL:
		_, repl := w.SystemHashes()
		for i := range w.Nodes {
			n := &w.Nodes[i]
			if k := w.keys[n.Name]; living(n) && k.uses != "" && !slices.Contains(repl, k.uses) {
				return "takes away the password that " + n.Name + " replicates with"
			}
		}
	}
	return ""
}

// refusing names a living server that does not accept the password, silent or not.
func (w *world) refusing(password string) string {
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if k := w.keys[n.Name]; living(n) && k.uses != "" && !slices.Contains(k.accepts, password) {
			return n.Name
		}
	}
	return ""
}

func living(n *engine.Node) bool { return n.Pod != nil && !n.Pod.Ended() }

// begin starts a rotation and takes some of its steps.
func (w *world) begin(steps int) {
	w.Cluster.Rotation = "now"
	if steps == 0 || !w.Auth.Whole() || w.NextAuth != nil {
		return
	}
	w.NextAuth = &engine.NextAuth{
		Auth: engine.Auth{OperatorHash: "o'", ReplHash: "r'", Guarded: true}, Previous: *w.Auth, Rotation: "now",
	}
	w.revise()
	for i := range w.Nodes {
		if n := &w.Nodes[i]; n.Server != nil && i < steps {
			w.loadUsers([]string{n.Name})
		}
	}
}
