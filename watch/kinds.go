package watch

import (
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kind is one kind of resource that is watched.
type kind struct {
	// resource is the plural with its group, as [Source] shows it.
	resource string
	gvk      schema.GroupVersionKind
	example  client.Object
	newList  func() client.ObjectList
}

// The plurals, with their group, of the kinds that are watched.
const (
	Backups           = "backups.velero.io"
	Restores          = "restores.velero.io"
	PodVolumeBackups  = "podvolumebackups.velero.io"
	PodVolumeRestores = "podvolumerestores.velero.io"
	DataUploads       = "datauploads.velero.io"
	DataDownloads     = "datadownloads.velero.io"
	Schedules         = "schedules.velero.io"
	Locations         = "backupstoragelocations.velero.io"
	Repositories      = "backuprepositories.velero.io"
	Deletions         = "deletebackuprequests.velero.io"
	Pods              = "pods"
)

// kinds are all that is watched, in the order in which a reader looks for them.
var kinds = []kind{
	veleroKind(Backups, "Backup", &velerov1.Backup{}, func() client.ObjectList { return &velerov1.BackupList{} }),
	veleroKind(Restores, "Restore", &velerov1.Restore{}, func() client.ObjectList { return &velerov1.RestoreList{} }),
	veleroKind(PodVolumeBackups, "PodVolumeBackup", &velerov1.PodVolumeBackup{}, func() client.ObjectList { return &velerov1.PodVolumeBackupList{} }),
	veleroKind(PodVolumeRestores, "PodVolumeRestore", &velerov1.PodVolumeRestore{}, func() client.ObjectList { return &velerov1.PodVolumeRestoreList{} }),
	moverKind(DataUploads, "DataUpload", &velerov2alpha1.DataUpload{}, func() client.ObjectList { return &velerov2alpha1.DataUploadList{} }),
	moverKind(DataDownloads, "DataDownload", &velerov2alpha1.DataDownload{}, func() client.ObjectList { return &velerov2alpha1.DataDownloadList{} }),
	veleroKind(Schedules, "Schedule", &velerov1.Schedule{}, func() client.ObjectList { return &velerov1.ScheduleList{} }),
	veleroKind(Locations, "BackupStorageLocation", &velerov1.BackupStorageLocation{}, func() client.ObjectList { return &velerov1.BackupStorageLocationList{} }),
	veleroKind(Repositories, "BackupRepository", &velerov1.BackupRepository{}, func() client.ObjectList { return &velerov1.BackupRepositoryList{} }),
	veleroKind(Deletions, "DeleteBackupRequest", &velerov1.DeleteBackupRequest{}, func() client.ObjectList { return &velerov1.DeleteBackupRequestList{} }),
	{Pods, corev1.SchemeGroupVersion.WithKind("Pod"), &corev1.Pod{}, func() client.ObjectList { return &corev1.PodList{} }},
}

func veleroKind(resource, name string, example client.Object, newList func() client.ObjectList) kind {
	return kind{resource, velerov1.SchemeGroupVersion.WithKind(name), example, newList}
}

func moverKind(resource, name string, example client.Object, newList func() client.ObjectList) kind {
	return kind{resource, velerov2alpha1.SchemeGroupVersion.WithKind(name), example, newList}
}

// kindOf returns the kind that an object is of; ok is false for others.
func kindOf(o client.Object) (k *kind, ok bool) {
	var resource string
	switch o.(type) {
	case *velerov1.Backup:
		resource = Backups
	case *velerov1.Restore:
		resource = Restores
	case *velerov1.PodVolumeBackup:
		resource = PodVolumeBackups
	case *velerov1.PodVolumeRestore:
		resource = PodVolumeRestores
	case *velerov2alpha1.DataUpload:
		resource = DataUploads
	case *velerov2alpha1.DataDownload:
		resource = DataDownloads
	case *velerov1.Schedule:
		resource = Schedules
	case *velerov1.BackupStorageLocation:
		resource = Locations
	case *velerov1.BackupRepository:
		resource = Repositories
	case *velerov1.DeleteBackupRequest:
		resource = Deletions
	case *corev1.Pod:
		resource = Pods
	default:
		return nil, false
	}
	return kindNamed(resource)
}

func kindNamed(resource string) (k *kind, ok bool) {
	for i := range kinds {
		if kinds[i].resource == resource {
			return &kinds[i], true
		}
	}
	return nil, false
}
