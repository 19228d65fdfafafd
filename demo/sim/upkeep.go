package sim

import (
	"context"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// statusTTL is how long a processed ServerStatusRequest stays.
const statusTTL = time.Minute

// answerStatusRequests says that the server lives, and which version it is.
func (s *Sim) answerStatusRequests(ctx context.Context) {
	for _, r := range s.statuses.sorted() {
		switch {
		case r.Status.Phase != velerov1.ServerStatusRequestPhaseProcessed:
			_, _ = patch(ctx, s, s.statuses, r, func(r *velerov1.ServerStatusRequest) {
				r.Status.Phase = velerov1.ServerStatusRequestPhaseProcessed
				r.Status.ProcessedTimestamp = s.stampTime()
				r.Status.ServerVersion = "v1.18.3"
				r.Status.Plugins = []velerov1.PluginInfo{
					{Name: "velero.io/aws", Kind: "ObjectStore"},
					{Name: "velero.io/csi-pvc-backupper", Kind: "BackupItemActionV2"},
					{Name: "velero.io/csi-pvc-restorer", Kind: "RestoreItemActionV2"},
				}
			})
		case s.stamp.Sub(timeOf(r.Status.ProcessedTimestamp)) > statusTTL:
			_ = remove(ctx, s, s.statuses, r)
		}
	}
}

// checkLocations validates and syncs the storage locations once a minute. Sync
// deletes backups that say they are in the store and are not
// (deleteOrphanedBackups in pkg/controller/backup_sync_controller.go).
func (s *Sim) checkLocations(ctx context.Context) {
	if !s.every("check the storage locations", time.Minute) {
		return
	}
	for _, l := range s.locations.sorted() {
		_, _ = patch(ctx, s, s.locations, l, func(l *velerov1.BackupStorageLocation) {
			l.Status.Phase = velerov1.BackupStorageLocationPhaseAvailable
			l.Status.LastValidationTime = s.stampTime()
			l.Status.LastSyncedTime = s.stampTime()
		})
	}
	for _, b := range s.inPhases(velerov1.BackupPhaseCompleted, velerov1.BackupPhasePartiallyFailed) {
		if b.Labels[velerov1.StorageLocationLabel] != "" && !s.storage.holds(backupKey(b.Name)) {
			s.Log("backup %s is not in the store: deleting it", b.Name)
			_ = remove(ctx, s, s.backups, b)
		}
	}
}

// collectGarbage does once a minute what Velero's garbage collection and the
// cluster's own do: backups past their expiration get a DeleteBackupRequest
// (pkg/controller/gc_controller.go), children whose owner is gone go as well.
// The owner references need this because the demo's control plane runs no
// controller manager.
func (s *Sim) collectGarbage(ctx context.Context) {
	if !s.every("collect garbage", time.Minute) {
		return
	}
	for _, b := range s.backups.sorted() {
		if b.Status.Expiration == nil || s.stamp.Before(b.Status.Expiration.Time) || s.deletionOf(b) != nil {
			continue
		}
		_, _ = create(ctx, s, s.deletions, &velerov1.DeleteBackupRequest{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: s.Namespace, GenerateName: b.Name + "-",
				Labels: map[string]string{velerov1.BackupNameLabel: labelValue(b.Name), velerov1.BackupUIDLabel: string(b.UID)},
			},
			Spec: velerov1.DeleteBackupRequestSpec{BackupName: b.Name},
		})
	}
	owners := map[string]bool{}
	for _, b := range s.backups.byName {
		owners[string(b.UID)] = true
	}
	for _, r := range s.restores.byName {
		owners[string(r.UID)] = true
	}
	collect(ctx, s, s.pvbs, owners)
	collect(ctx, s, s.pvrs, owners)
	collect(ctx, s, s.uploads, owners)
	collect(ctx, s, s.dataDowns, owners)
}

func (s *Sim) deletionOf(b *velerov1.Backup) *velerov1.DeleteBackupRequest {
	for _, d := range s.deletions.byName {
		if d.Labels[velerov1.BackupUIDLabel] == string(b.UID) {
			return d
		}
	}
	return nil
}
