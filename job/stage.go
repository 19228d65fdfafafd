package job

import (
	"time"

	"github.com/veltui/veltui/velero"
)

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

// StageRecord says when a stage began and ended.
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
}

// StageOf is the stage that a phase alone tells. InProgress covers two: items,
// and the volumes that are waited for after them.
func StageOf(phase string) Stage {
	switch phase {
	case "", velero.PhaseNew, velero.PhaseQueued, velero.PhaseReadyToStart:
		return StageQueued
	case velero.PhaseInProgress:
		return StageItems
	case velero.PhaseWaiting, velero.PhaseWaitingPartly:
		return StageOperations
	case velero.PhaseFinalizing, velero.PhaseFinalizingPartly:
		return StageFinalizing
	case velero.PhaseDeleting:
		return StageDeleting
	}
	if velero.TerminalPhase(phase) {
		return StageDone
	}
	return StageUnknown
}
