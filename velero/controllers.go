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

// handlers are the controllers that take a backup and a restore out of a phase.
var handlers = map[string][2]Controller{
	"": {BackupController, RestoreController}, PhaseNew: {BackupController, RestoreController}, PhaseInProgress: {BackupController, RestoreController},
	PhaseQueued: {BackupQueueController}, PhaseReadyToStart: {BackupController},
	PhaseWaiting:          {BackupOperationsController, RestoreOperationsController},
	PhaseWaitingPartly:    {BackupOperationsController, RestoreOperationsController},
	PhaseFinalizing:       {BackupFinalizerController, RestoreFinalizerController},
	PhaseFinalizingPartly: {BackupFinalizerController, RestoreFinalizerController},
}

// Handler returns the controller that takes a job out of its phase; ok is false if
// that version has none for it: up to 1.17 a backup that is Queued or ReadyToStart
// is "not handled" (backup_controller.go Reconcile).
func (v Version) Handler(backup bool, phase string) (c Controller, ok bool) {
	isNew, queue := phase == "" || phase == PhaseNew, phase == PhaseQueued || phase == PhaseReadyToStart
	switch {
	case !backup:
		c = handlers[phase][1]
	case isNew && v.QueuesBackups():
		c = BackupQueueController
	case !queue || v.QueuesBackups():
		c = handlers[phase][0]
	}
	return c, c != ""
}
