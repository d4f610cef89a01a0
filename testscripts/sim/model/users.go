package model

import (
	"slices"
	"strings"
	"sync"

	"valkey.gomomento.com/operator/engine/replies"
)

func (s *Server) loadUsers([]string) error {
	s.users = s.Users()
	return nil
}

// setUser adds rules to a user, or a user.
func (s *Server) setUser(args []string) error {
	lines := strings.Split(strings.TrimSpace(s.users), "\n")
	for i, line := range lines {
		if words := strings.Fields(line); len(words) > 1 && words[1] == args[0] {
			lines[i] += " " + strings.Join(args[1:], " ")
			s.users = strings.Join(lines, "\n")
			return nil
		}
	}
	s.users = strings.Join(append(lines, "user "+strings.Join(args, " ")), "\n")
	return nil
}

// A user is one in the text of an ACL file.
type user struct{ file, name string }

// hashed remembers what findHashes has found: all worlds have the same few files.
var hashed sync.Map

// accepted are the password hashes that a server has found in its ACL file, by user.
type accepted struct {
	text string
	of   map[string][]string
}

// accepts are the hashes of the passwords with which a user may log in to the server, sorted. They must not be changed.
func (s *Server) accepts(name string) []string {
	if s.accepted.of == nil || s.accepted.text != s.users {
		s.accepted = accepted{text: s.users, of: map[string][]string{}}
	}
	hashes, known := s.accepted.of[name]
	if !known {
		hashes = hashesOf(s.users, name)
		s.accepted.of[name] = hashes
	}
	return hashes
}

// hashesOf are the password hashes of a user in an ACL file, sorted. They must not be changed.
func hashesOf(users, name string) []string {
	if found, known := hashed.Load(user{users, name}); known {
		if hashes, ok := found.([]string); ok {
			return hashes
		}
	}
	hashes := findHashes(users, name)
	hashed.Store(user{users, name}, hashes)
	return hashes
}

func findHashes(users, name string) []string {
	var hashes []string
	for line := range strings.Lines(users) {
		words := strings.Fields(line)
		if len(words) < 2 || words[1] != name {
			continue
		}
		for _, w := range words[2:] {
			if hash, is := strings.CutPrefix(w, "#"); is {
				hashes = append(hashes, hash)
			}
		}
	}
	slices.Sort(hashes)
	return hashes
}

// listed is the hash of the users that a server lists.
type listed struct{ text, hash string }

// usersHash is that of the users as ACL LIST gives them, worked out once for each.
func (s *Server) usersHash() string {
	if s.listed.text != s.users || s.listed.hash == "" {
		s.listed = listed{text: s.users, hash: replies.Users(s.users)}
	}
	return s.listed.hash
}

// revision is that of the ACL file, which the file itself carries as the password of a user.
func (s *Server) revision() string {
	if hashes := s.accepts("_momento_revision"); len(hashes) == 1 {
		return hashes[0]
	}
	return ""
}
