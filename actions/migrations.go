package actions

import (
	"slices"
	"strings"
)

// A migration is one job of CLUSTER GETSLOTMIGRATIONS.
type migration struct {
	name, operation, target, state, message string
}

// open says that the job has not ended.
func (m migration) open() bool {
	return m.state != "success" && m.state != "failed" && m.state != "cancelled"
}

// migrationFields are the names in the reply, in their order; they tell names
// from values, of which the message may have several lines.
var migrationFields = []string{
	"name", "operation", "slot_ranges", "target_node", "source_node", "create_time", "last_update_time",
	"last_ack_time", "state", "message", "cow_size", "remaining_repl_size",
}

// parseMigrations reads the jobs, the newest first as the server lists them.
func parseMigrations(text string) []migration {
	var jobs []migration
	var into *string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !slices.Contains(migrationFields, line) {
			if into != nil && line != "" {
				*into = strings.TrimSpace(*into + " " + line)
			}
			continue
		}
		if line == "name" {
			jobs = append(jobs, migration{})
		}
		if len(jobs) > 0 {
			into = jobs[len(jobs)-1].field(line)
		}
	}
	return jobs
}

// field is where the value of that name belongs, nil when it is of no use here.
func (m *migration) field(name string) *string {
	switch name {
	case "name":
		return &m.name
	case "operation":
		return &m.operation
	case "target_node":
		return &m.target
	case "state":
		return &m.state
	case "message":
		return &m.message
	default:
		return nil
	}
}

// newestTo is the newest export to the target; the zero job when there is none.
func newestTo(jobs []migration, target string) migration {
	i := slices.IndexFunc(jobs, func(m migration) bool { return m.operation == "EXPORT" && m.target == target })
	if i < 0 {
		return migration{}
	}
	return jobs[i]
}
