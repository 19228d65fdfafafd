package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vmware-tanzu/velero/pkg/apis/velero/shared"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"
)

// operationPoll is the server's --item-operation-sync-frequency.
const operationPoll = 10 * time.Second

// pollOperations looks at the operations of all waiting jobs every 10 s and
// writes what changed: counters, errors, and the phase when all have ended
// (pkg/controller/{backup,restore}_operations_controller.go). The progress of
// each operation stays in memory.
func (s *Sim) pollOperations(ctx context.Context) {
	if !s.every("poll operations", operationPoll) {
		return
	}
	for _, b := range s.inPhases(velerov1.BackupPhaseWaitingForPluginOperations, velerov1.BackupPhaseWaitingForPluginOperationsPartiallyFailed) {
		var operations []*operation
		if record := s.backupOperations[b.UID]; record != nil {
			operations = record.operations
		}
		done, failed, errs := s.look(operations, func(name string) (string, shared.DataMoveOperationProgress, string, bool) {
			u, ok := s.uploads.get(name)
			if !ok {
				return "", shared.DataMoveOperationProgress{}, "", false
			}
			return string(u.Status.Phase), u.Status.Progress, u.Status.Message, true
		})
		if record := s.backupOperations[b.UID]; record != nil {
			record.Errors.Velero = append(record.Errors.Velero, errs...)
		}
		phase := velerov1.BackupPhase(pollPhase(string(b.Status.Phase), len(operations), done+failed, failed))
		if phase == b.Status.Phase && done == b.Status.BackupItemOperationsCompleted && failed == b.Status.BackupItemOperationsFailed {
			continue
		}
		_, _ = patch(ctx, s, s.backups, b, func(b *velerov1.Backup) {
			b.Status.Phase = phase
			b.Status.BackupItemOperationsCompleted, b.Status.BackupItemOperationsFailed = done, failed
			b.Status.Errors += len(errs)
		})
	}
	for _, r := range s.restores.sorted() {
		if r.Status.Phase != velerov1.RestorePhaseWaitingForPluginOperations &&
			r.Status.Phase != velerov1.RestorePhaseWaitingForPluginOperationsPartiallyFailed {
			continue
		}
		var operations []*operation
		if record := s.restoreOperations[r.UID]; record != nil {
			operations = record.operations
		}
		done, failed, errs := s.look(operations, func(name string) (string, shared.DataMoveOperationProgress, string, bool) {
			d, ok := s.dataDowns.get(name)
			if !ok {
				return "", shared.DataMoveOperationProgress{}, "", false
			}
			return string(d.Status.Phase), d.Status.Progress, d.Status.Message, true
		})
		if record := s.restoreOperations[r.UID]; record != nil {
			record.Errors.Velero = append(record.Errors.Velero, errs...)
		}
		phase := velerov1.RestorePhase(pollPhase(string(r.Status.Phase), len(operations), done+failed, failed))
		if phase == r.Status.Phase && done == r.Status.RestoreItemOperationsCompleted && failed == r.Status.RestoreItemOperationsFailed {
			continue
		}
		_, _ = patch(ctx, s, s.restores, r, func(r *velerov1.Restore) {
			r.Status.Phase = phase
			r.Status.RestoreItemOperationsCompleted, r.Status.RestoreItemOperationsFailed = done, failed
			r.Status.Errors += len(errs)
		})
	}
}

// pollPhase is where a waiting job goes: on to finalizing when all operations
// have ended, to the PartiallyFailed variant with the first failure.
func pollPhase(phase string, all, ended, failed int) string {
	const waiting, partially = "WaitingForPluginOperations", "PartiallyFailed"
	if ended == all {
		phase = "Finalizing" + phase[len(waiting):]
	}
	if failed > 0 && phase[len(phase)-len("Failed"):] != "Failed" {
		phase += partially
	}
	return phase
}

// look asks each operation's mover how it fares. It returns how many have
// completed and failed, and the errors of those that failed since last time.
func (s *Sim) look(operations []*operation, mover func(name string) (phase string, p shared.DataMoveOperationProgress, message string, found bool)) (done, failed int, errs []string) {
	for _, o := range operations {
		if !o.ended() {
			phase, progress, message, found := mover(o.Mover)
			o.Description, o.Done, o.Total, o.Updated = phase, progress.BytesDone, progress.TotalBytes, s.stamp
			switch velerov2alpha1.DataUploadPhase(phase) {
			case velerov2alpha1.DataUploadPhaseCompleted:
				o.Phase = "Completed"
			case velerov2alpha1.DataUploadPhaseFailed, velerov2alpha1.DataUploadPhaseCanceled:
				o.Phase, o.Error = "Failed", message
			case velerov2alpha1.DataUploadPhaseInProgress:
				if o.Phase == "New" {
					o.Phase, o.Began = "InProgress", s.stamp
				}
			}
			if !found {
				o.Phase, o.Error = "Failed", fmt.Sprintf("%s not found", o.Mover)
			}
			if o.Phase == "Failed" {
				errs = append(errs, fmt.Sprintf("operation %s of %s failed: %s", o.ID, o.Plugin, o.Error))
			}
		}
		switch o.Phase {
		case "Completed":
			done++
		case "Failed":
			failed++
		}
	}
	return done, failed, slices.Clip(errs)
}
