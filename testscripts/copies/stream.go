package copies

import (
	"strconv"
	"strings"

	"valkey.gomomento.com/operator/engine"
)

// A stream is where a server is in its shard's replication stream, by INFO.
type stream struct {
	// id names the stream. A server that is promoted begins one of its own and keeps the id of the one it followed, with
	// the offset up to which both are the same.
	id, followed string
	// offset is up to where the server has its stream, joint where the followed one ends; bytes.
	offset, joint int64
	// linked says that the link to the primary it follows stood.
	linked bool
}

func streamOf(info string) stream {
	fields := map[string]string{}
	for line := range strings.Lines(info) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			fields[name] = value
		}
	}
	number := func(name string) int64 {
		n, err := strconv.ParseInt(fields[name], 10, 64)
		if err != nil {
			return -1
		}
		return n
	}
	s := stream{id: fields["master_replid"], followed: fields["master_replid2"], joint: number("second_repl_offset") - 1}
	s.linked = fields["master_link_status"] == "up"
	if s.offset = number("master_repl_offset"); fields["role"] == "slave" {
		s.offset = number("slave_repl_offset")
	}
	return s
}

// whole are the servers that were heard.
//
// Servers are not asked in the same instant, and links take some milliseconds to be made: a round in the middle of a
// failover hears from before and from after it. So for a moment after a primary was promoted, fresh says for which, a server
// whose stream is the one that the primary followed counts as linked to it, if it has that stream to its end, or
// was linked or led when it answered: then it answered before it could know. What is written meanwhile it gets as
// soon as it is linked, like any replica; one that is not linked after that moment is no copy. And a server is asked
// for its stream a moment after its link: if it was linked to the promoted one's own stream by then, it is.
func whole(heard map[string]answer, fresh func(stream string) bool) []*engine.Server {
	promoted := map[string]answer{} // by the stream that they followed, and by their own
	for _, a := range heard {
		if a.server.Role == engine.Primary && a.stream.joint >= 0 && fresh(a.stream.id) {
			promoted[a.stream.followed] = a
			if _, found := promoted[a.stream.id]; !found {
				promoted[a.stream.id] = a
			}
		}
	}
	var out []*engine.Server
	for _, a := range heard {
		if p, found := promoted[a.stream.id]; found && p.server != a.server && a.reaches(p) {
			linked := *a.server
			linked.Role, linked.PrimaryID, linked.LinkUp = engine.Replica, p.server.ID, true
			out = append(out, &linked)
			continue
		}
		out = append(out, a.server)
	}
	return out
}

// reaches says that the server has what the promoted one had, or is linked to it: the two share a stream.
func (a answer) reaches(promoted answer) bool {
	if a.stream.id == promoted.stream.id {
		return a.stream.linked
	}
	return a.server.LinkUp || a.server.Role == engine.Primary || a.stream.offset >= promoted.stream.joint
}
