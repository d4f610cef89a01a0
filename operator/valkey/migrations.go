package valkey

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	valkeygo "github.com/valkey-io/valkey-go"

	"valkey.gomomento.com/operator/engine"
)

// askMigrations is the question after a server's jobs. A server that is not yet known to be too old is asked: a new
// leader must not take a cluster in mid-migration for a quiet one on its first pass.
var askMigrations = []string{"CLUSTER", "GETSLOTMIGRATIONS"}

// migrations reads the reply to CLUSTER GETSLOTMIGRATIONS, which is the newest job first. The log keeps up to a
// thousand jobs that have ended; of those only the newest export that failed is of use.
func migrations(r valkeygo.ValkeyResult) ([]engine.SlotMigration, error) {
	jobs, err := r.ToArray()
	if untold(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read CLUSTER GETSLOTMIGRATIONS: %w", err)
	}
	var kept []engine.SlotMigration
	failed := false
	for i := range jobs {
		m, err := migration(&jobs[i])
		if err != nil {
			return nil, fmt.Errorf("read CLUSTER GETSLOTMIGRATIONS: %w", err)
		}
		newest := !failed && m.Export && m.State == "failed"
		failed = failed || newest
		if newest || m.Open() {
			kept = append(kept, m)
		}
	}
	return kept, nil
}

// untold says that the server has no jobs to tell of: its release does not know them, its users are of a release
// of the operator before this one, or it has just begun and loads its data; the jobs do not outlive the process.
func untold(err error) bool {
	said := refusal(err)
	return forbidden(err) || strings.Contains(strings.ToLower(said), "unknown subcommand") || strings.HasPrefix(said, "LOADING")
}

// migration reads one job, a list of names and values.
func migration(job *valkeygo.ValkeyMessage) (engine.SlotMigration, error) {
	f, err := job.AsMap()
	if err != nil {
		return engine.SlotMigration{}, err
	}
	text := func(name string) string {
		m := f[name]
		s, wrong := m.ToString()
		err = cmp.Or(err, wrong)
		return s
	}
	m := engine.SlotMigration{
		Name: text("name"), Export: text("operation") == "EXPORT",
		SourceID: text("source_node"), TargetID: text("target_node"),
		State: text("state"), Message: text("message"),
	}
	ranges := text("slot_ranges")
	updated := f["last_update_time"]
	seconds, wrong := updated.AsInt64()
	if err = cmp.Or(err, wrong); err != nil {
		return m, err
	}
	m.Updated = time.Unix(seconds, 0)
	// An import whose source has not named the slots yet has none.
	m.Slots, err = parseSlots(strings.FieldsFunc(ranges, func(c rune) bool { return c == ' ' || c == ',' }))
	return m, err
}

// parseMarks reads the slots on the move, which only a server's own line names: [93->-id] is on its way to id,
// [77-<-id] is expected from it.
func parseMarks(fields []string) ([]engine.SlotMark, error) {
	var marks []engine.SlotMark
	for _, field := range fields {
		inner, marked := strings.CutPrefix(field, "[")
		if !marked {
			continue
		}
		m, err := parseMark(strings.TrimSuffix(inner, "]"))
		if err != nil {
			return nil, err
		}
		marks = append(marks, m)
	}
	slices.SortFunc(marks, func(a, b engine.SlotMark) int { return cmp.Compare(a.Slot, b.Slot) })
	return marks, nil
}

func parseMark(text string) (engine.SlotMark, error) {
	slot, peer, found := strings.Cut(text, "->-")
	importing := !found
	if importing {
		slot, peer, found = strings.Cut(text, "-<-")
	}
	if !found || len(peer) != idLength {
		return engine.SlotMark{}, fmt.Errorf("slot on the move [%s]", text)
	}
	r, err := parseRange(slot)
	return engine.SlotMark{Slot: r.From, Importing: importing, PeerID: peer}, err
}
