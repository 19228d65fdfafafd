package job

// Phases of Backups and Restores (velero-facts 1.3 and 1.4). A phase that is
// not here belongs to a newer Velero and is shown as it is.
const (
	PhaseNew              = "New"
	PhaseQueued           = "Queued"
	PhaseReadyToStart     = "ReadyToStart"
	PhaseFailedValidation = "FailedValidation"
	PhaseInProgress       = "InProgress"
	PhaseWaiting          = "WaitingForPluginOperations"
	PhaseWaitingPartly    = "WaitingForPluginOperationsPartiallyFailed"
	PhaseFinalizing       = "Finalizing"
	PhaseFinalizingPartly = "FinalizingPartiallyFailed"
	PhaseCompleted        = "Completed"
	PhasePartiallyFailed  = "PartiallyFailed"
	PhaseFailed           = "Failed"
	PhaseDeleting         = "Deleting"
)

// TerminalPhase reports whether Velero never works on a job in that phase
// again. Deleting is not among them: the job is on its way out.
func TerminalPhase(phase string) bool {
	switch phase {
	case PhaseCompleted, PhasePartiallyFailed, PhaseFailed, PhaseFailedValidation:
		return true
	}
	return false
}

// phaseStage is the stage that a phase alone tells. InProgress covers two:
// items, and the volumes that are waited for after them.
func phaseStage(phase string) Stage {
	switch phase {
	case "", PhaseNew, PhaseQueued, PhaseReadyToStart:
		return StageQueued
	case PhaseInProgress:
		return StageItems
	case PhaseWaiting, PhaseWaitingPartly:
		return StageOperations
	case PhaseFinalizing, PhaseFinalizingPartly:
		return StageFinalizing
	case PhaseDeleting:
		return StageDeleting
	}
	if TerminalPhase(phase) {
		return StageDone
	}
	return StageUnknown
}

// Phases of the four volume kinds (velero-facts 1.5 and 1.6).
const (
	volumeNew        = "New"
	volumeAccepted   = "Accepted"
	volumePrepared   = "Prepared"
	volumeInProgress = "InProgress"
	volumeCanceling  = "Canceling"
	volumeCanceled   = "Canceled"
	volumeCompleted  = "Completed"
	volumeFailed     = "Failed"
)
