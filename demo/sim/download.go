package sim

import (
	"context"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// downloadTTL is how long a signed URL and its DownloadRequest live.
const downloadTTL = 10 * time.Minute

// answerDownloads signs a URL for each new DownloadRequest
// (pkg/controller/download_request_controller.go) without asking whether there
// is such an object, and deletes requests that have expired.
func (s *Sim) answerDownloads(ctx context.Context) {
	sweep := s.every("sweep download requests", time.Minute)
	for _, d := range s.downloads.sorted() {
		if sweep && d.Status.Expiration != nil && s.stamp.After(d.Status.Expiration.Time) {
			_ = remove(ctx, s, s.downloads, d)
			continue
		}
		if d.Status.Phase == velerov1.DownloadRequestPhaseProcessed || d.DeletionTimestamp != nil || d.Status.Expiration != nil {
			continue
		}
		key, ok := s.downloadKey(d.Spec.Target)
		expires := s.stamp.Add(downloadTTL)
		url := ""
		if ok {
			var err error
			if url, err = s.storage.sign(key, expires); err != nil {
				s.Log("download request %s: %v", d.Name, err)
			}
		}
		_, _ = patch(ctx, s, s.downloads, d, func(d *velerov1.DownloadRequest) {
			// With no backup or restore behind it only the expiration is set.
			d.Status.Expiration = &metav1.Time{Time: expires.Truncate(time.Second)}
			if url != "" {
				d.Status.Phase = velerov1.DownloadRequestPhaseProcessed
				d.Status.DownloadURL = url
			}
		})
	}
}

// downloadKey is where the object of a target lies; ok is false if the backup
// that it belongs to is gone. A restore's objects need its backup as well.
func (s *Sim) downloadKey(target velerov1.DownloadTarget) (key string, ok bool) {
	name := target.Name
	backup := name
	switch target.Kind {
	case velerov1.DownloadTargetKindRestoreLog, velerov1.DownloadTargetKindRestoreResults,
		velerov1.DownloadTargetKindRestoreResourceList, velerov1.DownloadTargetKindRestoreItemOperations,
		velerov1.DownloadTargetKindRestoreVolumeInfo:
		r, found := s.restores.get(name)
		if !found {
			return "", false
		}
		backup = r.Spec.BackupName
		if record := s.restoreOperations[r.UID]; record != nil && target.Kind == velerov1.DownloadTargetKindRestoreItemOperations {
			// Asking flushes what was only in memory.
			s.storeRestore(record, s.stamp)
		}
	case velerov1.DownloadTargetKindBackupItemOperations:
		if b, found := s.backups.get(name); found && s.backupOperations[b.UID] != nil {
			s.storeBackup(s.backupOperations[b.UID], s.stamp)
		}
	}
	if _, found := s.backups.get(backup); !found {
		return "", false
	}
	key, ok = objectKeys(name)[target.Kind]
	return key, ok
}

// objectKeys is where each kind of target lies
// (pkg/persistence/object_store_layout.go).
func objectKeys(name string) map[velerov1.DownloadTargetKind]string {
	backup, restore := backupKey(name)+name, restoreKey(name)+"restore-"+name
	return map[velerov1.DownloadTargetKind]string{
		velerov1.DownloadTargetKindBackupLog:                       backup + "-logs.gz",
		velerov1.DownloadTargetKindBackupContents:                  backup + ".tar.gz",
		velerov1.DownloadTargetKindBackupVolumeSnapshots:           backup + "-volumesnapshots.json.gz",
		velerov1.DownloadTargetKindBackupItemOperations:            backup + "-itemoperations.json.gz",
		velerov1.DownloadTargetKindBackupResourceList:              backup + "-resource-list.json.gz",
		velerov1.DownloadTargetKindBackupResults:                   backup + "-results.gz",
		velerov1.DownloadTargetKindCSIBackupVolumeSnapshots:        backup + "-csi-volumesnapshots.json.gz",
		velerov1.DownloadTargetKindCSIBackupVolumeSnapshotContents: backup + "-csi-volumesnapshotcontents.json.gz",
		velerov1.DownloadTargetKindBackupVolumeInfos:               backup + "-volumeinfo.json.gz",
		velerov1.DownloadTargetKindRestoreLog:                      restore + "-logs.gz",
		velerov1.DownloadTargetKindRestoreResults:                  restore + "-results.gz",
		velerov1.DownloadTargetKindRestoreResourceList:             restore + "-resource-list.json.gz",
		velerov1.DownloadTargetKindRestoreItemOperations:           restore + "-itemoperations.json.gz",
		velerov1.DownloadTargetKindRestoreVolumeInfo:               restoreKey(name) + name + "-volumeinfo.json.gz",
	}
}
