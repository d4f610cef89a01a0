package replies

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"valkey.gomomento.com/operator/engine"
)

// Migrations reads the elements of the reply to CLUSTER GETSLOTMIGRATIONS, those of all jobs one after the other:
// each job is a list of names and values that begins with its name. The jobs stay in the server's order, the newest first.
func Migrations(elements []string) ([]engine.SlotMigration, error) {
	var jobs []map[string]string
	for pair := range slices.Chunk(elements, 2) {
		if pair[0] == "name" {
			jobs = append(jobs, map[string]string{})
		}
		if len(jobs) == 0 || len(pair) < 2 {
			return nil, fmt.Errorf("read CLUSTER GETSLOTMIGRATIONS: %q is no name with a value of a job", pair)
		}
		jobs[len(jobs)-1][pair[0]] = pair[1]
	}
	read := make([]engine.SlotMigration, 0, len(jobs))
	for _, job := range jobs {
		m, err := parseJob(job)
		if err != nil {
			return nil, fmt.Errorf("read CLUSTER GETSLOTMIGRATIONS: job %s: %w", job["name"], err)
		}
		read = append(read, m)
	}
	return read, nil
}

// parseJob reads one job. A replica tells of its primary's imports, and names neither end.
func parseJob(fields map[string]string) (engine.SlotMigration, error) {
	for _, name := range []string{"operation", "slot_ranges", "state", "message"} {
		if _, told := fields[name]; !told {
			return engine.SlotMigration{}, fmt.Errorf("no %s", name)
		}
	}
	m := engine.SlotMigration{
		Name: fields["name"], Export: fields["operation"] == "EXPORT",
		SourceID: fields["source_node"], TargetID: fields["target_node"],
		State: fields["state"], Message: fields["message"],
	}
	seconds, err := strconv.ParseInt(fields["last_update_time"], 10, 64)
	if err != nil {
		return m, fmt.Errorf("last_update_time: %w", err)
	}
	m.Updated = time.Unix(seconds, 0)
	// An import whose source has not named the slots yet has none.
	m.Slots, err = parseSlots(strings.FieldsFunc(fields["slot_ranges"], func(c rune) bool { return c == ' ' || c == ',' }))
	return m, err
}
