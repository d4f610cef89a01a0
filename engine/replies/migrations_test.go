package replies_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"valkey.gomomento.com/operator/engine"
	"valkey.gomomento.com/operator/engine/replies"
)

// exported is a job as the source tells of it, a server of 9.1.
func exported() []string {
	return []string{
		"name", "4ca85fa6ac6e6faddeb2b4d28bc9662a0d077feb", "operation", "EXPORT", "slot_ranges", "0-99,200",
		"target_node", idB, "source_node", idA, "create_time", "1760000000", "last_update_time", "1760000002",
		"last_ack_time", "1760000001", "state", "snapshotting", "message", "", "cow_size", "0", "remaining_repl_size", "0",
	}
}

// but is the job with another value of a field.
func but(field, value string) []string {
	job := exported()
	job[slices.Index(job, field)+1] = value
	return job
}

// without is the job without a field.
func without(field string) []string {
	job := exported()
	at := slices.Index(job, field)
	return slices.Delete(job, at, at+2)
}

func TestJobsAreReadInTheServersOrder(t *testing.T) {
	want := engine.SlotMigration{
		Name: "4ca85fa6ac6e6faddeb2b4d28bc9662a0d077feb", Export: true, SourceID: idA, TargetID: idB,
		Slots: []engine.SlotRange{{From: 0, To: 99}, {From: 200, To: 200}},
		State: "snapshotting", Updated: time.Unix(1760000002, 0),
	}
	imported, failed := want, want
	imported.Export = false
	// A message may have several lines, and one may be the name of a field.
	failed.Message = "Connection lost to target:\nstate\nsuccess"
	elements := slices.Concat(exported(), but("operation", "IMPORT"), but("message", failed.Message))
	got, err := replies.Migrations(elements)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]engine.SlotMigration{want, imported, failed}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// So a replica of 9.1 tells of an import of its primary's: without these two.
func TestAReplicasJobNamesNeitherEnd(t *testing.T) {
	job := []string{
		"name", "1f54cf2e22bb0fd763c273167e34e1f850f125c7", "operation", "IMPORT", "slot_ranges", "0-10",
		"create_time", "1760000000", "last_update_time", "1760000002", "last_ack_time", "1760000001",
		"state", "occurring-on-primary", "message", "", "cow_size", "0", "remaining_repl_size", "0",
	}
	got, err := replies.Migrations(job)
	want := []engine.SlotMigration{{
		Name: job[1], Slots: []engine.SlotRange{{From: 0, To: 10}}, State: "occurring-on-primary", Updated: time.Unix(1760000002, 0),
	}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v, (-want +got):\n%s", err, diff)
	}
}

func TestAFieldOfAReleaseToComeIsPassedOver(t *testing.T) {
	got, err := replies.Migrations(append(exported(), "mood", "tired"))
	if err != nil || len(got) != 1 || got[0].State != "snapshotting" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAnImportMayHaveNoSlotsYet(t *testing.T) {
	got, err := replies.Migrations(but("slot_ranges", " "))
	if err != nil || len(got) != 1 || got[0].Slots != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestNoJobsIsNoError(t *testing.T) {
	if got, err := replies.Migrations(nil); err != nil || len(got) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAJobThatIsNotUnderstoodIsAnError(t *testing.T) {
	for name, elements := range map[string][]string{
		"a value without a job":  {"state", "success"},
		"a name without a value": append(exported(), "mood"),
		"a job without a state":  without("state"),
		"a time of letters":      but("last_update_time", "now"),
		"no time":                without("last_update_time"),
		"slots of letters":       but("slot_ranges", "all"),
		"a slot too many":        but("slot_ranges", "0-16384"),
	} {
		if got, err := replies.Migrations(elements); err == nil {
			t.Errorf("%s: read as %+v", name, got)
		}
	}
}
