package actions_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"

	"valkey.gomomento.com/operator/actions"
)

// servers are Valkey servers by node.
type servers map[string]*server

// A server answers questions from its fields, and OK to all else.
type server struct {
	sync.Mutex
	id    string
	lines []string // CLUSTER NODES
	keys  int
	// says overrides a reply, by the command's words.
	says map[string]string
	// jobs are the elements of its reply to CLUSTER GETSLOTMIGRATIONS.
	jobs []string
	// refuses is the error reply to a command, by its first two words.
	refuses map[string]string
	down    bool
	// silence is the error of a server that is down, nil for one whose port refuses.
	silence error
	// ends is called when the server is told to shut down, and ends instead of replying.
	ends  func()
	heard []string
}

var errDown error = syscall.ECONNREFUSED

// Do implements actions.Valkey.
func (s servers) Do(_ context.Context, node string, commands ...[]string) ([]actions.Reply, error) {
	one := s[node]
	if one == nil || one.down {
		if one != nil && one.silence != nil {
			return nil, one.silence
		}
		return nil, errDown
	}
	one.Lock()
	defer one.Unlock()
	var replies []actions.Reply
	for _, c := range commands {
		replies = append(replies, one.answer(c))
		if c[0] == "SHUTDOWN" && one.ends != nil {
			one.ends()
			one.down = true
			return nil, errDown
		}
	}
	return replies, nil
}

func (s *server) answer(command []string) actions.Reply {
	words := strings.Join(command, " ")
	s.heard = append(s.heard, words)
	if text, ok := s.says[words]; ok {
		return actions.Reply{Text: text}
	}
	if strings.HasPrefix(words, "CLUSTER COUNTKEYSINSLOT") {
		return actions.Reply{Text: "0"}
	}
	switch words {
	case "CLUSTER MYID":
		return actions.Reply{Text: s.id}
	case "CLUSTER NODES":
		return actions.Reply{Text: strings.Join(s.lines, "\n") + "\n"}
	case "CLUSTER GETSLOTMIGRATIONS":
		return actions.Reply{Text: strings.Join(s.jobs, "\n"), Items: s.jobs}
	case "ACL LIST":
		return actions.Reply{Text: "user default off"}
	case "DBSIZE":
		return actions.Reply{Text: fmt.Sprint(s.keys)}
	}
	if text, ok := s.refuses[strings.Join(command[:min(2, len(command))], " ")]; ok {
		return actions.Reply{Err: errors.New(text)}
	}
	return actions.Reply{Text: "OK"}
}

func (s servers) clear() {
	for _, one := range s {
		one.heard = nil
	}
}

var questions = []string{
	"CLUSTER MYID", "CLUSTER NODES", "DBSIZE", "ACL LIST", "ROLE",
	"CLUSTER GETSLOTMIGRATIONS", "FUNCTION DUMP", "CLUSTER INFO",
}

// asks says that the command is a question, whatever its arguments.
func asks(command string) bool {
	return slices.ContainsFunc([]string{"CONFIG GET", "INFO ", "CLUSTER COUNTKEYSINSLOT"}, func(words string) bool {
		return strings.HasPrefix(command, words)
	})
}

// told are the commands that were no questions, as "node: command", sorted by node.
func (s servers) told() []string {
	var told []string
	for node, one := range s {
		for _, c := range one.heard {
			if !slices.Contains(questions, c) && !asks(c) {
				told = append(told, node+": "+c)
			}
		}
	}
	slices.SortStableFunc(told, func(a, b string) int {
		x, _, _ := strings.Cut(a, ":")
		y, _, _ := strings.Cut(b, ":")
		return strings.Compare(x, y)
	})
	return told
}

// line is one line of CLUSTER NODES.
func line(id, flags, primary string, epoch int, link string, slots ...string) string {
	fields := append([]string{id, "10.0.0.1:6379@16379", flags, primary, "0", "0", fmt.Sprint(epoch), link}, slots...)
	return strings.Join(fields, " ")
}

// fresh is a server that knows nobody.
func fresh(id string) *server {
	return &server{id: id, lines: []string{line(id, "myself,master", "-", 0, "connected")}}
}
