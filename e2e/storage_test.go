//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// wantStoreNamed checks that get, explain and check name the storage location of a job that goes on without it.
func wantStoreNamed(t *testing.T, job string) {
	t.Helper()
	const where = "storage location " + lab.LocationName
	for _, command := range []string{"get", "explain"} {
		if _, printed := runVeltui(t, command, job, "-o", "json"); !strings.Contains(printed, where) {
			t.Errorf("veltui %s %s does not name the %s:\n%s", command, job, where, printed)
		}
	}
	found := findingsOf(t, "storage", lab.LocationName)
	if len(found) == 0 {
		t.Errorf("veltui check does not name the %s", where)
	}
	t.Logf("%s: %+v", job, found)
}

// TestObjectStoreAway kills the S3 server in the middle of a backup and of a restore, and brings it back.
func TestObjectStoreAway(t *testing.T) {
	must(t, theLab.EnsureVelero(patient(t)))
	heldRestore(t, "away")
	createBackup(t, "away-running", veleroapi.BackupSpec{
		IncludedNamespaces: []string{"media"}, IncludedResources: []string{"configmaps"},
	}, lab.Annotations{lab.HoldAnnotation: "away-running"})
	await(t, "Backup", "away-running", "be held with its items counted", func(h lab.History) bool {
		return h.LastState().Progress != nil // it has asked the store whether the backup is there
	})
	must(t, theLab.KillS3())
	must(t, theLab.AwaitLocation(patient(t), veleroapi.BackupStorageLocationPhaseUnavailable))
	t.Run("jobs in progress name the location", func(t *testing.T) {
		for _, job := range []string{"restore/away", "backup/away-running"} {
			wantStoreNamed(t, job)
		}
	})
	t.Run("a backup that cannot store its files", func(t *testing.T) {
		must(t, theLab.OpenGate("away-running"))
		wantEnd(t, ended(t, "Backup", "away-running"), "Failed")
		if e := explainEnd(t, "backup/away-running"); e.cause() != "StoreUnreachable" {
			t.Errorf("the cause is %q:\n%s", e.cause(), e.printed)
		}
	})

	refused := "FailedValidation"
	if !serverVersion(t).RefusesUnavailableLocation() {
		refused = "Failed" // it finds out when it wants the first file
	}
	t.Run("new jobs are refused", func(t *testing.T) {
		h := backup(t, "away-refused", veleroapi.BackupSpec{IncludedNamespaces: []string{"ops"}}, nil)
		wantEnd(t, h, refused)
		wantTold(t, h)
	})
	createRestore(
		t,
		"away-too",
		veleroapi.RestoreSpec{BackupName: full, IncludedNamespaces: []string{"ops"}, NamespaceMapping: to("away-too")},
		nil,
	)
	must(t, theLab.OpenGate("away"))
	// The items are restored; what cannot be stored is an error.
	h := await(
		t,
		"Restore",
		"away",
		"leave InProgress",
		func(h lab.History) bool { return h.LastState().Phase != "InProgress" },
	)
	t.Logf("without the store: %s", h.Summary())
	wantEnd(t, ended(t, "Restore", "away-too"), refused) // its turn comes once the worker is free
	must(t, theLab.StartS3(patient(t)))
	must(t, theLab.AwaitLocation(patient(t), veleroapi.BackupStorageLocationPhaseAvailable))
	h = ended(t, "Restore", "away")
	wantEnd(t, h, "PartiallyFailed")
	wantPhases(t, h, []string{"", "InProgress", "FinalizingPartiallyFailed", "PartiallyFailed"})
	wantTold(t, h)
	if theLab.ObjectExists("restores/away/restore-away-results.gz") {
		t.Error("the results are stored, although the store was away")
	}
}
