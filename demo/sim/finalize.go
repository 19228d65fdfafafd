package sim

import (
	"context"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// finalization is when the finalizer began with a job.
type finalization struct{ until time.Time }

// finalizeBackups ends backups in Finalizing*, whoever brought them there
// (pkg/controller/backup_finalizer_controller.go), one at a time.
func (s *Sim) finalizeBackups(ctx context.Context) {
	for _, b := range s.inPhases(velerov1.BackupPhaseFinalizing, velerov1.BackupPhaseFinalizingPartiallyFailed) {
		record := s.backupOperations[b.UID]
		took := s.Pace.Finalize / 10
		if record != nil && len(record.operations) > 0 {
			// The tarball is read and written again.
			took = s.Pace.Finalize
		}
		if !s.finalizationOver(b, took) {
			return
		}
		if record == nil {
			record = s.backupRecords[b.Name]
		}
		ended, err := patch(ctx, s, s.backups, b, func(b *velerov1.Backup) {
			if b.Status.Phase == velerov1.BackupPhaseFinalizingPartiallyFailed {
				b.Status.Phase = velerov1.BackupPhasePartiallyFailed
			} else {
				b.Status.Phase = velerov1.BackupPhaseCompleted
			}
			b.Status.CompletionTimestamp = s.stampTime()
			b.Status.CSIVolumeSnapshotsCompleted = b.Status.BackupItemOperationsCompleted
		})
		if err != nil {
			// Its retry has no end (velero-facts 5.4).
			return
		}
		delete(s.finalizing, b.UID)
		delete(s.backupOperations, b.UID)
		delete(s.tracked, b.Name)
		if record != nil {
			s.finishRecord(record, ended)
		}
	}
}

// finishRecord uploads the artifacts again, with what the operations brought.
func (s *Sim) finishRecord(record *BackupRecord, b *velerov1.Backup) {
	for n := range record.Volumes {
		v := &record.Volumes[n]
		for _, o := range record.operations {
			if o.ID != v.Operation {
				continue
			}
			v.Failed, v.Completed = o.Phase == "Failed", o.Updated
			if upload, ok := s.uploads.get(o.Mover); ok {
				v.SnapshotID = upload.Status.SnapshotID
			}
		}
	}
	if u, err := unstructuredOf(s.Scheme, b); err == nil {
		record.meta, _ = u.MarshalJSON()
	}
	s.storeBackup(record, s.stamp)
}

// finalizeRestores ends restores in Finalizing*
// (pkg/controller/restore_finalizer_controller.go): first a patch with the
// hooks' numbers, then the terminal phase.
func (s *Sim) finalizeRestores(ctx context.Context) {
	for _, r := range s.restores.sorted() {
		if r.Status.Phase != velerov1.RestorePhaseFinalizing && r.Status.Phase != velerov1.RestorePhaseFinalizingPartiallyFailed {
			continue
		}
		record := s.restoreOperations[r.UID]
		if r.Status.HookStatus == nil {
			_, _ = patch(ctx, s, s.restores, r, func(r *velerov1.Restore) { r.Status.HookStatus = &velerov1.HookStatus{} })
			return
		}
		took := s.Pace.Finalize / 10
		if record != nil && len(record.Volumes) > 0 {
			// New volumes have to be bound before they can be patched.
			took = s.Pace.Finalize
		}
		if !s.finalizationOver(r, took) {
			return
		}
		_, err := patch(ctx, s, s.restores, r, func(r *velerov1.Restore) {
			if r.Status.Phase == velerov1.RestorePhaseFinalizingPartiallyFailed {
				r.Status.Phase = velerov1.RestorePhasePartiallyFailed
			} else {
				r.Status.Phase = velerov1.RestorePhaseCompleted
			}
			r.Status.CompletionTimestamp = s.stampTime()
		})
		if err != nil {
			return
		}
		delete(s.finalizing, r.UID)
		delete(s.restoreOperations, r.UID)
		if record != nil {
			s.storeRestore(record, s.stamp)
		}
	}
}

func (s *Sim) finalizationOver(o client.Object, took time.Duration) bool {
	f, ok := s.finalizing[o.GetUID()]
	if !ok {
		f = &finalization{until: s.now.Add(took)}
		s.finalizing[o.GetUID()] = f
	}
	return !s.now.Before(f.until)
}

func unstructuredOf(scheme *runtime.Scheme, o client.Object) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	gvk, err := apiutil.GVKForObject(o, scheme)
	if err != nil {
		return nil, err
	}
	u.SetGroupVersionKind(gvk)
	return u, nil
}
