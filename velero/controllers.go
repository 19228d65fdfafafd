package velero

import "slices"

// Controller is one of the server's controllers, by the name that --disable-controllers
// takes (pkg/constant/constant.go).
type Controller string

// The controllers that take jobs on their way.
const (
	BackupQueueController       Controller = "backup-queue" // since 1.18
	BackupController            Controller = "backup"
	BackupOperationsController  Controller = "backup-operations"
	BackupFinalizerController   Controller = "backup-finalizer"
	RestoreController           Controller = "restore"
	RestoreOperationsController Controller = "restore-operations"
	RestoreFinalizerController  Controller = "restore-finalizer"
)

// restoreOnly are the controllers that --restore-only leaves out
// (pkg/cmd/server/server.go runControllers, 1.14 to 1.18.3; the queue runs on, and
// what it makes ready is taken by nobody).
var restoreOnly = []string{string(BackupController), "backup-deletion", string(BackupFinalizerController), string(BackupOperationsController), "gc", "schedule"}

// Runs reports whether a server with these flags runs a controller.
func (f *ServerFlags) Runs(c Controller) bool { return !slices.Contains(f.Disabled, string(c)) }

// Handler returns the controller that takes a job out of its phase; ok is false if
// that version has none for it: up to 1.17 a backup that is Queued or ReadyToStart
// is "not handled" (backup_controller.go Reconcile).
func (v Version) Handler(backup bool, phase string) (c Controller, ok bool) {
	switch phase {
	case "", PhaseNew:
		switch {
		case !backup:
			return RestoreController, true
		case v.QueuesBackups():
			return BackupQueueController, true
		}
		return BackupController, true
	case PhaseQueued:
		return BackupQueueController, backup && v.QueuesBackups()
	case PhaseReadyToStart:
		return BackupController, backup && v.QueuesBackups()
	case PhaseInProgress:
		if backup {
			return BackupController, true
		}
		return RestoreController, true
	case PhaseWaiting, PhaseWaitingPartly:
		if backup {
			return BackupOperationsController, true
		}
		return RestoreOperationsController, true
	case PhaseFinalizing, PhaseFinalizingPartly:
		if backup {
			return BackupFinalizerController, true
		}
		return RestoreFinalizerController, true
	}
	return "", false
}
