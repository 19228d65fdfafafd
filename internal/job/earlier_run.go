package job

import (
	"time"

	"github.com/veltui/veltui/internal/velero"
)

// firstCountDelay is how long after a job's start a server may still be writing the start itself: it counts items at
// most once a second (pkg/backup/backup.go BackupWithResolvers, pkg/restore/restore.go execute).
const firstCountDelay = time.Second

// dropEarlierRun removes what an earlier run left in the status of a job that somebody set back to New. Velero sets
// startTimestamp again and leaves the rest until it writes it again (pkg/controller/backup_controller.go and
// restore_controller.go Reconcile, 1.14 to 1.18.3). Everything that reads a job reads it through this function.
func (j *Job) dropEarlierRun() {
	if j.IsTerminal() {
		return
	}
	if StageOf(j.Phase) == StageQueued && !j.Started.IsZero() {
		j.Started = time.Time{} // Velero has not started it again
		j.Completed = time.Time{}
		j.Items, j.Operations = Items{}, Operations{}
		j.dropOutcome()
		return
	}
	if j.Completed.IsZero() || !j.Completed.Before(j.Started) {
		return
	}
	j.Completed = time.Time{}
	j.dropOutcome()
	if j.Phase != velero.PhaseInProgress {
		return
	}
	j.Operations = Operations{} // written with the next phase
	if wrote := lastStatusWrite(j.Object); !wrote.IsZero() && !wrote.After(j.Started.Add(firstCountDelay)) {
		j.Items = Items{}
	}
}

func (j *Job) dropOutcome() {
	j.Warnings, j.Errors = 0, 0
	j.FailureReason, j.ValidationErrors = "", nil
}
