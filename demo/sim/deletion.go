package sim

import (
	"context"
	"fmt"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// deletionMaxAge is how long a processed DeleteBackupRequest stays.
const deletionMaxAge = 24 * time.Hour

// deleteBackups does what DeleteBackupRequests ask for
// (pkg/controller/backup_deletion_controller.go). A backup that the server
// still tracks is refused, whatever its phase says.
func (s *Sim) deleteBackups(ctx context.Context) {
	for _, d := range s.deletions.sorted() {
		if s.away != nil {
			return
		}
		if d.Status.Phase == velerov1.DeleteBackupRequestPhaseProcessed || d.Status.Phase == velerov1.DeleteBackupRequestPhaseInProgress {
			if s.stamp.Sub(d.CreationTimestamp.Time) >= deletionMaxAge {
				_ = remove(ctx, s, s.deletions, d)
			}
			continue
		}
		b, reason := s.deletable(d)
		if reason != "" {
			_, _ = patch(ctx, s, s.deletions, d, func(d *velerov1.DeleteBackupRequest) {
				d.Status.Phase = velerov1.DeleteBackupRequestPhaseProcessed
				d.Status.Errors = []string{reason}
			})
			continue
		}
		s.deleteBackup(ctx, d, b)
	}
}

func (s *Sim) deletable(d *velerov1.DeleteBackupRequest) (*velerov1.Backup, string) {
	name := d.Spec.BackupName
	if name == "" {
		return nil, "spec.backupName is required"
	}
	if s.tracked[name] {
		return nil, "backup is still in progress"
	}
	b, ok := s.backups.get(name)
	if !ok {
		return nil, "backup not found"
	}
	location, ok := s.locations.get(b.Spec.StorageLocation)
	switch {
	case !ok:
		return nil, fmt.Sprintf("backup storage location %s not found", b.Spec.StorageLocation)
	case location.Spec.AccessMode == velerov1.BackupStorageLocationAccessModeReadOnly:
		return nil, fmt.Sprintf("cannot delete backup because backup storage location %s is currently in read-only mode", location.Name)
	}
	return b, ""
}

// deleteBackup removes the backup with its artifacts, its restores and, once
// all that is done, the requests that asked for it.
func (s *Sim) deleteBackup(ctx context.Context, d *velerov1.DeleteBackupRequest, b *velerov1.Backup) {
	d, err := patch(ctx, s, s.deletions, d, func(d *velerov1.DeleteBackupRequest) {
		d.Status.Phase = velerov1.DeleteBackupRequestPhaseInProgress
		setLabel(d, velerov1.BackupNameLabel, labelValue(b.Name))
		setLabel(d, velerov1.BackupUIDLabel, string(b.UID))
	})
	if err != nil {
		return
	}
	if b, err = patch(ctx, s, s.backups, b, func(b *velerov1.Backup) { b.Status.Phase = velerov1.BackupPhaseDeleting }); err != nil {
		return
	}
	for _, r := range s.restores.sorted() {
		if r.Spec.BackupName == b.Name && r.DeletionTimestamp == nil {
			_ = remove(ctx, s, s.restores, r)
		}
	}
	s.storage.removeAll(backupKey(b.Name))
	delete(s.backupRecords, b.Name)
	if remove(ctx, s, s.backups, b) != nil {
		return
	}
	collectOf(ctx, s, s.pvbs, string(b.UID))
	collectOf(ctx, s, s.uploads, string(b.UID))
	_ = remove(ctx, s, s.deletions, d)
}

// collect deletes the objects of which no owner lives.
func collect[T client.Object](ctx context.Context, s *Sim, known *objects[T], owners map[string]bool) {
	for _, object := range known.sorted() {
		for _, owner := range object.GetOwnerReferences() {
			if !owners[string(owner.UID)] && s.away == nil {
				_ = remove(ctx, s, known, object)
			}
		}
	}
}

// collectOf deletes the objects that one owner had.
func collectOf[T client.Object](ctx context.Context, s *Sim, known *objects[T], uid string) {
	for _, object := range known.sorted() {
		for _, owner := range object.GetOwnerReferences() {
			if string(owner.UID) == uid && s.away == nil {
				_ = remove(ctx, s, known, object)
			}
		}
	}
}
