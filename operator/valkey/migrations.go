package valkey

import (
	"fmt"
	"strings"

	valkeygo "github.com/valkey-io/valkey-go"

	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/replies"
)

// askMigrations is the question after a server's jobs. A server that is not yet known to be too old is asked: a new
// leader must not take a cluster in mid-migration for a quiet one on its first pass.
var askMigrations = []string{"CLUSTER", "GETSLOTMIGRATIONS"}

// migrations reads the reply to CLUSTER GETSLOTMIGRATIONS. The log keeps up to a thousand jobs that have ended; of those
// only the newest export that failed is of use.
func migrations(r valkeygo.ValkeyResult) ([]engine.SlotMigration, error) {
	reply, err := r.ToMessage()
	if untold(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read CLUSTER GETSLOTMIGRATIONS: %w", err)
	}
	jobs, err := replies.Migrations(lines(reply, nil))
	if err != nil {
		return nil, err
	}
	var kept []engine.SlotMigration
	failed := false
	for i := range jobs {
		m := &jobs[i]
		newest := !failed && m.Export && m.State == "failed"
		failed = failed || newest
		if newest || m.Open() {
			kept = append(kept, *m)
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
