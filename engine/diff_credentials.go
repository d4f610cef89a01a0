package engine

import "slices"

// CredentialFacts say what is due about the system passwords.
type CredentialFacts struct {
	// Unguarded says that the Secret is whole and could be edited or vanish unseen.
	Unguarded bool `expr:"unguarded"`
	// Uncopied says that somebody has deleted the Secret, and that there is no copy of it yet.
	Uncopied bool `expr:"uncopied"`
	// Remembered says that no Secret holds the passwords, and servers still let the operator in.
	Remembered bool `expr:"remembered"`
	// Displaced says that the Secret is not what the one beside it says that it should be.
	Displaced bool `expr:"displaced"`
	// Requested says that new passwords are asked for and not made yet.
	Requested bool `expr:"requested"`
	// Untold are nodes whose server logs in to others with a password that is not Password, sorted.
	Untold []string `expr:"untold"`
	// Password is the SHA-256 of the one to replicate with.
	Password string `expr:"password"`
	// Adoptable says that every server has loaded the users that the specs ask for, and with them accepts the next
	// passwords, and replicates with them. While the specs are not accepted nobody can say so.
	Adoptable bool `expr:"adoptable"`
	// Spent says that the next Secret has served its purpose.
	Spent bool `expr:"spent"`
	// Holdouts are the nodes that the next step of a rotation would lock out, each with why, sorted.
	Holdouts []string `expr:"holdouts"`
}

func (c *comparison) credentials() CredentialFacts {
	main, next := c.seen.Auth, c.seen.NextAuth
	f := CredentialFacts{Requested: next == nil && c.rotationAsked()}
	f.Password, f.Untold = c.untold()
	if main.Whole() {
		f.Unguarded = !main.Guarded && !main.Deleting
		f.Uncopied = main.Deleting && !next.whole()
	} else {
		f.Remembered = !next.whole() && c.seen.KnownHash != "" && len(c.heard) > 0
	}
	if next.whole() {
		c.nextCredentials(&f, next)
	}
	f.Spent = c.spent(next, f)
	return f
}

// rotationAsked says that new passwords are asked for, of a cluster whose old ones are as they should be.
func (c *comparison) rotationAsked() bool {
	k, main := &c.seen.Cluster, c.seen.Auth
	return main.Whole() && main.Guarded && !main.Deleting && !c.creating && k.Rotation != "" && k.Rotation != k.Rotated
}

// nextCredentials are the facts about a next Secret that is whole.
func (c *comparison) nextCredentials(f *CredentialFacts, next *NextAuth) {
	f.Displaced = next.source().Whole() && c.displaced(c.seen.Auth, next)
	if f.Displaced {
		return
	}
	if next.Rotation != "" || !next.Adopted {
		f.Holdouts = c.holdouts(next)
	}
	f.Adoptable = !next.Adopted && c.want.Problem == "" && len(f.Holdouts) == 0
}

func (c *comparison) displaced(main *Auth, next *NextAuth) bool {
	return !main.Whole() || main.Deleting || next.Adopted && !main.same(&next.Auth)
}

// spent also covers a next Secret that somebody has damaged: with a whole main
// one a rotation begins anew.
func (c *comparison) spent(next *NextAuth, f CredentialFacts) bool {
	switch {
	case next == nil || !c.seen.Auth.Whole() || !c.seen.Auth.Guarded || c.seen.Auth.Deleting:
		return false
	case !next.whole():
		return true
	default:
		return next.Adopted && !f.Displaced && len(f.Holdouts) == 0 && (next.Rotation == "" || c.want.Problem == "")
	}
}

// untold finds the password to replicate with, and the servers that have
// another. A server is told only what all servers that can be heard accept. The
// next password has to be accepted by all there are: whoever is told it may
// follow any of them.
func (c *comparison) untold() (password string, nodes []string) {
	main, next := c.seen.Auth, c.seen.NextAuth
	good := []string{}
	switch {
	case next.whole() && (next.Adopted || c.acceptedByAll(next.ReplHash)):
		password = next.ReplHash
	case next.whole() && next.Previous.Whole():
		password, good = next.Previous.ReplHash, append(good, next.ReplHash)
	case main.Whole():
		password = main.ReplHash
	}
	good = append(good, password)
	for i := range c.seen.Nodes {
		n := &c.seen.Nodes[i]
		if !c.hears(n) || c.dead(n) || n.Server.Settings == nil {
			continue
		}
		if !n.accepts(password) {
			return password, nil
		}
		if !slices.Contains(good, n.Server.ReplHash) {
			nodes = append(nodes, n.Name)
		}
	}
	return password, nodes
}

func (n *Node) accepts(replHash string) bool {
	return replHash != "" && slices.Contains(n.Server.ReplAccepts, replHash)
}

func (c *comparison) acceptedByAll(replHash string) bool {
	for i := range c.seen.Nodes {
		if n := &c.seen.Nodes[i]; c.counts(n) && (!c.hears(n) || !n.accepts(replHash)) {
			return false
		}
	}
	return true
}

// counts says that the node has a server, or may get one that has read its
// files already: it could be locked out.
func (c *comparison) counts(n *Node) bool {
	return c.mayReturn(n) && n.Pod != nil && !n.Pod.Ended() && (n.Pod.Phase != "Pending" || n.Pod.HostNode != "")
}

// holdouts are, before the next passwords are adopted, the servers that do not
// accept them or do not use them yet; after that, those that accept the old ones still.
func (c *comparison) holdouts(next *NextAuth) []string {
	if c.want.Problem != "" {
		return nil
	}
	var unproved, untold []string
	for i := range c.seen.Nodes {
		n := &c.seen.Nodes[i]
		switch {
		case !c.counts(n):
		case n.Server == nil && n.Pod.Phase != "Running":
			unproved = append(unproved, n.Name+" (its Pod does not run yet)")
		case !c.hears(n):
			unproved = append(unproved, n.Name+reason(silence(n)))
		case n.Server.Revision != c.want.ACLRevision || c.want.ACLRevision == "":
			unproved = append(unproved, n.Name+" (has not loaded the users yet)")
		case n.Server.ReplHash != next.ReplHash:
			untold = append(untold, n.Name+" (replicates with the old password)")
		}
	}
	if len(unproved) > 0 {
		return unproved
	}
	return untold
}

// EvictAnnotation on a Pod names the users, apart by commas, whose connections to its server are to be ended.
const EvictAnnotation = "valkey.gomomento.com/evict-users"

// unevicted are the nodes whose server has loaded the users, after which those
// who lost a password by it are evicted.
func (c *comparison) unevicted() []string {
	if c.want.ACLRevision == "" {
		return nil
	}
	var out []string
	for i := range c.seen.Nodes {
		n := &c.seen.Nodes[i]
		if c.hears(n) && n.Pod != nil && n.Pod.Annotations[EvictAnnotation] != "" && n.Server.Revision == c.want.ACLRevision {
			out = append(out, n.Name)
		}
	}
	return out
}
