package job

import "time"

// Stage is a part of a job's life as the screens name it.
type Stage string

// The stages in the order in which a job can pass them. A job that waits for
// its turn (phases New, Queued, ReadyToStart) is Queued.
const (
	StageQueued     Stage = "Queued"
	StageItems      Stage = "Items"
	StageVolumes    Stage = "Volumes"
	StageOperations Stage = "Operations"
	StageFinalizing Stage = "Finalizing"
	StageDone       Stage = "Done"
	// StageDeleting is a backup that is being deleted (phase Deleting).
	StageDeleting Stage = "Deleting"
	// StageUnknown is a phase that this version does not know.
	StageUnknown Stage = "Unknown"
)

// StageRecord says when a stage began and ended, and what bounds it.
type StageRecord struct {
	Stage Stage
	// Began and Ended are zero if the stage has not begun or ended.
	Began time.Time
	Ended time.Time
	// Exact is false where Began is only known as "not later than": the
	// change happened before this process looked.
	Exact bool
	// Skipped is true for a stage that the job passed without needing it.
	Skipped bool
	// Bound is the time at which Velero itself gives up on the stage, zero if
	// there is none; BoundBy names the setting that says so.
	Bound   time.Time
	BoundBy string
}
