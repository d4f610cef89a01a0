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
	if s.offset = number("master_repl_offset"); fields["role"] == "slave" {
		s.offset = number("slave_repl_offset")
	}
	return s
}

// whole are the servers that were heard. A replica that is about to link to a primary that was just promoted counts as
// linked when it has all that was written before: no copy was lost, and what is written meanwhile it gets as soon
// as it is linked, like any replica.
func whole(heard map[string]answer) []*engine.Server {
	byID := map[string]answer{}
	for _, a := range heard {
		byID[a.server.ID] = a
	}
	var out []*engine.Server
	for _, a := range heard {
		p, known := byID[a.server.PrimaryID]
		if a.server.Role == engine.Replica && !a.server.LinkUp && known && a.stream.relinks(p.stream) {
			linked := *a.server
			linked.LinkUp = true
			out = append(out, &linked)
			continue
		}
		out = append(out, a.server)
	}
	return out
}

// relinks says that the replica has the whole stream that the primary followed before it was promoted, and nothing else.
func (s stream) relinks(primary stream) bool {
	return s.id == primary.followed && primary.joint >= 0 && s.offset >= primary.joint
}
