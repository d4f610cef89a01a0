package model

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"valkey.gomomento.com/operator/actions"
	"valkey.gomomento.com/operator/engine"
)

// A refusal is a server's error reply, in the words of real ones.
type refusal string

// Error is the reply.
func (r refusal) Error() string { return string(r) }

// errEnds says that the server ends instead of replying.
var errEnds = errors.New("the server has ended")

// do carries out one command and answers as a server does. What it does not know is an error reply that says so, so that a
// new command in an action cannot pass unseen.
func (s *Server) do(operator string, command []string) (string, error) {
	verb, args := command[0], command[1:]
	if verb == "CLUSTER" || verb == "CONFIG" || verb == "ACL" || verb == "FUNCTION" || verb == "CLIENT" {
		verb, args = verb+" "+args[0], args[1:]
	}
	if answer, known := s.question(verb, args); known {
		return answer, nil
	}
	order, known := orders[verb]
	if !known {
		return "", fmt.Errorf("ERR the model knows no command %s", verb)
	}
	s.cluster.Ordered(operator, s, command)
	return "OK", order(s, args)
}

// question answers what changes nothing.
func (s *Server) question(verb string, args []string) (string, bool) {
	switch verb {
	case "CLUSTER MYID":
		return s.ID, true
	case "CLUSTER NODES":
		return s.nodes(), true
	case "CLUSTER INFO":
		return s.clusterInfo(), true
	case "CLUSTER GETSLOTMIGRATIONS":
		return s.jobText(), true
	case "INFO":
		return s.info(), true
	case "DBSIZE":
		return strconv.Itoa(len(s.copy.data)), true
	case "ROLE":
		role, _ := roleOf(s.primary)
		return role, true
	case "CONFIG GET":
		return s.configText(args), true
	case "ACL LIST":
		return strings.TrimSpace(s.users), true
	case "ACL GETUSER":
		return strings.Join(s.accepts(args[0]), "\n"), true
	case "FUNCTION DUMP":
		return "", true
	}
	return "", false
}

// orders are the commands that change something, by their first words.
var orders = map[string]func(*Server, []string) error{
	"ACL LOAD":                     (*Server).loadUsers,
	"ACL SETUSER":                  (*Server).setUser,
	"CLIENT KILL":                  func(*Server, []string) error { return nil },
	"CLUSTER ADDSLOTSRANGE":        (*Server).addSlots,
	"CLUSTER CANCELSLOTMIGRATIONS": (*Server).cancelJobs,
	"CLUSTER FAILOVER":             (*Server).failOver,
	"CLUSTER FORGET":               (*Server).forgetNode,
	"CLUSTER MEET":                 (*Server).meetNode,
	"CLUSTER MIGRATESLOTS":         (*Server).migrateSlots,
	"CLUSTER REPLICATE":            (*Server).replicateNode,
	"CLUSTER SET-CONFIG-EPOCH":     (*Server).setEpoch,
	"CONFIG SET":                   (*Server).configure,
	"SHUTDOWN":                     (*Server).shutDown,
}

func (s *Server) configure(args []string) error {
	for pair := range slices.Chunk(args, 2) {
		if strings.ToLower(pair[0]) == "masterauth" {
			s.Password, s.passwordHash = pair[1], sha(pair[1])
			continue
		}
		s.Settings[strings.ToLower(pair[0])] = pair[1]
	}
	s.patience = s.readTimeout()
	return nil
}

func (s *Server) meetNode(args []string) error {
	s.meet(args[0])
	return nil
}

func (s *Server) setEpoch(args []string) error {
	epoch, err := strconv.ParseInt(args[0], 10, 64)
	switch {
	case err != nil:
		return refusal("ERR Invalid config epoch specified")
	case len(s.peers)+len(s.meeting) > 0:
		return refusal("ERR The user can assign a config epoch only when the node does not know any other node.")
	case s.epoch != 0:
		return refusal("ERR Node config epoch is already non-zero")
	}
	s.epoch, s.current = epoch, max(s.current, epoch)
	s.version++
	return nil
}

func (s *Server) addSlots(args []string) error {
	ranges, err := rangesOf(args)
	if err != nil {
		return err
	}
	for _, r := range ranges {
		for _, part := range s.slots.within(r) {
			if part.id != "" {
				return fmt.Errorf("ERR Slot %d is already busy", part.From)
			}
		}
	}
	s.give(s.ID, ranges...)
	return nil
}

func rangesOf(args []string) ([]engine.SlotRange, error) {
	var ranges []engine.SlotRange
	for pair := range slices.Chunk(args, 2) {
		from, err := strconv.Atoi(pair[0])
		if err != nil {
			return nil, refusal("ERR Invalid or out of range slot")
		}
		to, err := strconv.Atoi(pair[1])
		if err != nil {
			return nil, refusal("ERR Invalid or out of range slot")
		}
		ranges = append(ranges, engine.SlotRange{From: from, To: to})
	}
	return ranges, nil
}

func (s *Server) replicateNode(args []string) error {
	switch p := s.peer(args[0]); {
	case args[0] == s.ID:
		return refusal("ERR Can't replicate myself")
	case p == nil:
		return fmt.Errorf("ERR Unknown node %s", args[0])
	case p.primary != "":
		return refusal("ERR I can only replicate a master, not a replica.")
	case s.primary == "" && (s.Slots() > 0 || len(s.copy.data) > 0):
		return refusal("ERR To set a master the node must be empty and without assigned slots.")
	}
	s.follow(args[0])
	return nil
}

func (s *Server) forgetNode(args []string) error {
	switch {
	case args[0] == s.ID:
		return refusal("ERR I tried hard but I can't forget myself...")
	case s.primary == args[0]:
		return refusal("ERR Can't forget my master!")
	case s.peer(args[0]) == nil && s.bans(args[0]):
		return nil
	case s.peer(args[0]) == nil:
		return fmt.Errorf("ERR Unknown node %s", args[0])
	}
	ttl, err := time.ParseDuration(s.Settings["cluster-blacklist-ttl"] + "s")
	if err != nil {
		ttl = time.Minute
	}
	s.forget(args[0], ttl)
	return nil
}

func (s *Server) failOver(args []string) error {
	how := ""
	if len(args) > 0 {
		how = args[0]
	}
	if s.primary == "" {
		return refusal("ERR You should send CLUSTER FAILOVER to a replica")
	}
	p, old := s.peer(s.primary), s.cluster.byID(s.primary)
	switch {
	case p == nil:
		return refusal("ERR I'm a replica but my master is unknown to me")
	case how == "" && (p.fail || old == nil || !s.copy.up):
		return refusal("ERR Master is down or failed, please use CLUSTER FAILOVER FORCE")
	case how == "TAKEOVER":
		s.takeOver()
	case how == "FORCE":
		s.forceFailover()
	default:
		s.handOver()
	}
	return nil
}

func (s *Server) migrateSlots(args []string) error {
	at := slices.Index(args, "NODE")
	if at < 3 || args[0] != "SLOTSRANGE" {
		return refusal("ERR syntax error")
	}
	ranges, err := rangesOf(args[1:at])
	if err != nil {
		return err
	}
	target := s.cluster.byID(args[at+1])
	if target == nil || target == s || s.peer(target.ID) == nil {
		return fmt.Errorf("ERR Unknown node %s", args[at+1])
	}
	for _, r := range ranges {
		for _, part := range s.slots.within(r) {
			if part.id != s.ID || s.primary != "" {
				return refusal("ERR Slots are not served by this node.")
			}
		}
	}
	s.export(target, ranges)
	return nil
}

func (s *Server) cancelJobs([]string) error {
	if !s.cancel() {
		return refusal("ERR No migrations ongoing")
	}
	return nil
}

func (s *Server) shutDown(args []string) error {
	if slices.Contains(args, "SAFE") && s.isVoter() {
		return refusal("ERR Errors trying to SHUTDOWN. Check logs.")
	}
	s.end(0)
	return errEnds
}

// Order carries out a command of an operator's, and says what is refused.
func (s *Server) Order(operator string, command []string) error {
	if _, err := s.do(operator, command); err != nil && !errors.Is(err, errEnds) {
		return err
	}
	return nil
}

// reply is what the command gets.
func (s *Server) reply(operator string, command []string) (actions.Reply, error) {
	text, err := s.do(operator, command)
	if errors.Is(err, errEnds) {
		return actions.Reply{}, err
	}
	if err != nil {
		return actions.Reply{Err: err}, nil
	}
	if text == "" {
		return actions.Reply{}, nil // An array without elements has no lines.
	}
	return actions.Reply{Text: text, Items: strings.Split(text, "\n")}, nil
}
