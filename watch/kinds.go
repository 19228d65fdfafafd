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
	// newObject makes an empty one.
	newObject func() client.Object

	// clusterScoped kinds have no namespace, and namespace is that of kinds which
	// are not in Velero's; selector and field leave out what does not concern us.
	clusterScoped              bool
	namespace, selector, field string

	// moves is true for the kinds of volumes, and ends for those of jobs.
	moves, ends bool
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
	ofJobs(veleroKind(Backups, "Backup", func() client.Object { return &velerov1.Backup{} })),
	ofJobs(veleroKind(Restores, "Restore", func() client.Object { return &velerov1.Restore{} })),
	ofVolumes(veleroKind(PodVolumeBackups, "PodVolumeBackup", func() client.Object { return &velerov1.PodVolumeBackup{} })),
	ofVolumes(veleroKind(PodVolumeRestores, "PodVolumeRestore", func() client.Object { return &velerov1.PodVolumeRestore{} })),
	ofVolumes(moverKind(DataUploads, "DataUpload", func() client.Object { return &velerov2alpha1.DataUpload{} })),
	ofVolumes(moverKind(DataDownloads, "DataDownload", func() client.Object { return &velerov2alpha1.DataDownload{} })),
	veleroKind(Schedules, "Schedule", func() client.Object { return &velerov1.Schedule{} }),
	veleroKind(Locations, "BackupStorageLocation", func() client.Object { return &velerov1.BackupStorageLocation{} }),
	veleroKind(Repositories, "BackupRepository", func() client.Object { return &velerov1.BackupRepository{} }),
	veleroKind(Deletions, "DeleteBackupRequest", func() client.Object { return &velerov1.DeleteBackupRequest{} }),
	{resource: Pods, gvk: corev1.SchemeGroupVersion.WithKind("Pod"), newObject: func() client.Object { return &corev1.Pod{} }},
}

func veleroKind(resource, name string, newObject func() client.Object) kind {
	return kind{resource: resource, gvk: velerov1.SchemeGroupVersion.WithKind(name), newObject: newObject}
}

func moverKind(resource, name string, newObject func() client.Object) kind {
	return kind{resource: resource, gvk: velerov2alpha1.SchemeGroupVersion.WithKind(name), newObject: newObject}
}

func ofVolumes(k kind) kind {
	k.moves = true
	return k
}

func ofJobs(k kind) kind {
	k.ends = true
	return k
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
