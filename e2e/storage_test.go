//go:build e2e

package e2e

import (
	"testing"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// TestObjectStoreAway kills the S3 server in the middle of a restore and
// brings it back.
func TestObjectStoreAway(t *testing.T) {
	must(t, theLab.EnsureVelero(patient(t)))
	heldRestore(t, "away")
	must(t, theLab.KillS3())
	must(t, theLab.AwaitLocation(patient(t), veleroapi.BackupStorageLocationPhaseUnavailable))

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
