package job

// Phases of Backups and Restores (velero-facts 1.3 and 1.4). A phase that is
// not here belongs to a newer Velero and is shown as it is.
const (
	phaseNew              = "New"
	phaseQueued           = "Queued"
	phaseReadyToStart     = "ReadyToStart"
	phaseFailedValidation = "FailedValidation"
	phaseInProgress       = "InProgress"
	phaseWaiting          = "WaitingForPluginOperations"
	phaseWaitingPartial   = "WaitingForPluginOperationsPartiallyFailed"
	phaseFinalizing       = "Finalizing"
	phaseFinalizingPartly = "FinalizingPartiallyFailed"
	phaseCompleted        = "Completed"
	phasePartiallyFailed  = "PartiallyFailed"
	phaseFailed           = "Failed"
	phaseDeleting         = "Deleting"
)

// terminalPhase reports whether Velero never works on a job in that phase
// again. Deleting is not among them: the job is on its way out.
func terminalPhase(phase string) bool {
	switch phase {
	case phaseCompleted, phasePartiallyFailed, phaseFailed, phaseFailedValidation:
		return true
	}
	return false
}

// phaseStage is the stage that a phase alone tells. InProgress covers two:
// items, and the volumes that are waited for after them.
func phaseStage(phase string) Stage {
	switch phase {
	case "", phaseNew, phaseQueued, phaseReadyToStart:
		return StageQueued
	case phaseInProgress:
		return StageItems
	case phaseWaiting, phaseWaitingPartial:
		return StageOperations
	case phaseFinalizing, phaseFinalizingPartly:
		return StageFinalizing
	case phaseDeleting:
		return StageDeleting
	}
	if terminalPhase(phase) {
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
