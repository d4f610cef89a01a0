package engine

import "slices"

// An Auth names the system passwords by their SHA-256, 64 hex characters each;
// a field is empty when its key is missing from the Secret or malformed.
type Auth struct {
	OperatorHash, ReplHash string
	// Guarded says that the Secret can neither be edited nor vanish before the operator has seen its deletion.
	Guarded bool
	// Deleting says that somebody has deleted the Secret, which stays readable while it is guarded.
	Deleting bool
}

// Whole says that both passwords are there and well formed.
func (a *Auth) Whole() bool { return a != nil && a.OperatorHash != "" && a.ReplHash != "" }

// same says that both Secrets hold the same passwords.
func (a *Auth) same(b *Auth) bool {
	return a.OperatorHash == b.OperatorHash && a.ReplHash == b.ReplHash
}

// A NextAuth is the Secret that exists while the main one is replaced. It
// holds all that is needed to go on, whatever becomes of the main one:
//
//	a rotation   new passwords, and the previous ones, which count until it is adopted
//	a copy       the passwords of a main Secret that has to be made again; adopted from the start
type NextAuth struct {
	Auth
	// Previous are the passwords that it is to replace.
	Previous Auth
	// Adopted says that its passwords are those to be used. Invariant: every server accepts them.
	Adopted bool
	// Rotation is the annotation's value that it was made for, "" for a copy.
	Rotation string
}

func (n *NextAuth) whole() bool { return n != nil && n.Whole() }

// source are the passwords that the main Secret should hold as long as there is
// a next one.
func (n *NextAuth) source() *Auth {
	if n.Adopted {
		return &n.Auth
	}
	return &n.Previous
}

// SystemHashes are the SHA-256 of the passwords that servers have to accept of
// the operator and of replicas: two of each while one replaces the other.
func (s *Snapshot) SystemHashes() (operator, repl []string) {
	var all []*Auth
	switch {
	case s.Auth.Whole():
		all = append(all, s.Auth)
	case s.NextAuth.whole() && s.NextAuth.source().Whole():
		all = append(all, s.NextAuth.source())
	}
	if s.NextAuth.whole() {
		all = append(all, &s.NextAuth.Auth)
	}
	for _, a := range all {
		if !slices.Contains(operator, a.OperatorHash) {
			operator = append(operator, a.OperatorHash)
		}
		if !slices.Contains(repl, a.ReplHash) {
			repl = append(repl, a.ReplHash)
		}
	}
	return operator, repl
}
