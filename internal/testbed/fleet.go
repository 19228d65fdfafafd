package testbed

import (
	"fmt"
	"iter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Fleet is a cluster with a long past: backups of several schedules, restores of
// them, and DataUploads of the backups. All have ended but the newest Running of
// each kind. They are as large as real ones, managed fields included.
// [ControlPlane.WriteFleet] puts a fleet into a cluster.
type Fleet struct {
	Namespace string
	Now       time.Time

	Backups, Restores, DataUploads, RunningCount int
}

// LargeFleet is the fleet that veltui's targets are for.
func LargeFleet(namespace string, now time.Time) Fleet {
	return Fleet{Namespace: namespace, Now: now, Backups: 10_000, Restores: 10_000, DataUploads: 50_000, RunningCount: 3}
}

// Objects are all of the fleet, with the managed fields that the API server would
// note, but without a resource version.
func (f Fleet) Objects() iter.Seq2[client.Object, error] {
	return func(yield func(client.Object, error) bool) {
		kinds := Scheme()
		send := func(o client.Object, worker string) bool {
			return yield(o, addManagedFields(o, kinds, "velero-server", worker))
		}
		for i := range f.Backups {
			if !send(f.newBackup(i), "velero-server") {
				return
			}
		}
		for i := range f.Restores {
			if !send(f.newRestore(i), "velero-server") {
				return
			}
		}
		for i := range f.DataUploads {
			if !send(f.newDataUpload(i), "node-agent-server") {
				return
			}
		}
	}
}

// fleetUID is the same for the same object of every fleet.
func fleetUID(kind, i int) types.UID {
	return types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", kind, i))
}

func (f Fleet) objectMeta(kind, i int, name string, created time.Time) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:         f.Namespace,
		Name:              name,
		UID:               fleetUID(kind, i),
		Generation:        7,
		CreationTimestamp: metav1.NewTime(created),
	}
}

func (f Fleet) scheduleName(i int) string {
	return []string{"shop-hourly", "crm-hourly", "billing-hourly", "media-hourly"}[i%4]
}

func (f Fleet) backupName(i int) string {
	return f.scheduleName(i) + "-" + f.startTime(i).UTC().Format("20060102150405")
}

// startTime is when the backup, or the restore, with the number i began; 0 is the newest.
func (f Fleet) startTime(i int) time.Time {
	return f.Now.Add(-time.Duration(i) * time.Hour / 4).Add(-5 * time.Minute).Truncate(time.Second)
}

func (f Fleet) newBackup(i int) *veleroapi.Backup {
	began := metav1.NewTime(f.startTime(i))
	ended, expires := metav1.NewTime(began.Add(4*time.Minute)), metav1.NewTime(began.Add(720*time.Hour))
	yes := true
	b := &veleroapi.Backup{
		ObjectMeta: f.objectMeta(1, i, f.backupName(i), began.Time),
		Spec: veleroapi.BackupSpec{
			IncludedNamespaces:       []string{"shop", "shop-db"},
			ExcludedResources:        []string{"events", "events.events.k8s.io"},
			StorageLocation:          "default",
			VolumeSnapshotLocations:  []string{"default"},
			TTL:                      metav1.Duration{Duration: 720 * time.Hour},
			SnapshotMoveData:         &yes,
			DefaultVolumesToFsBackup: new(bool),
			CSISnapshotTimeout:       metav1.Duration{Duration: 10 * time.Minute},
			ItemOperationTimeout:     metav1.Duration{Duration: 4 * time.Hour},
		},
		Status: veleroapi.BackupStatus{
			Version:                       1,
			FormatVersion:                 "1.1.0",
			Phase:                         veleroapi.BackupPhaseCompleted,
			StartTimestamp:                &began,
			CompletionTimestamp:           &ended,
			Expiration:                    &expires,
			Progress:                      &veleroapi.BackupProgress{TotalItems: 900 + i%7, ItemsBackedUp: 900 + i%7},
			BackupItemOperationsAttempted: 5,
			BackupItemOperationsCompleted: 5,
			HookStatus:                    &veleroapi.HookStatus{},
		},
	}
	b.Labels = map[string]string{
		veleroapi.StorageLocationLabel: "default",
		veleroapi.ScheduleNameLabel:    f.scheduleName(i),
		"app.kubernetes.io/managed-by": "Helm",
		"app.kubernetes.io/instance":   "velero",
	}
	b.Annotations = map[string]string{
		"velero.io/source-cluster-k8s-gitversion":    "v1.36.3",
		"velero.io/source-cluster-k8s-major-version": "1",
		"velero.io/source-cluster-k8s-minor-version": "36",
		"velero.io/resource-timeout":                 "10m0s",
	}
	if i < f.RunningCount {
		b.Status.Phase = veleroapi.BackupPhaseInProgress
		b.Status.CompletionTimestamp = nil
		b.Status.Progress.ItemsBackedUp = 400
		b.Status.BackupItemOperationsCompleted = 0
	}
	return b
}

func (f Fleet) newRestore(i int) *veleroapi.Restore {
	began := metav1.NewTime(f.startTime(i).Add(2 * time.Minute))
	ended := metav1.NewTime(began.Add(90 * time.Second))
	from := (i + f.RunningCount) % max(1, f.Backups)
	r := &veleroapi.Restore{
		ObjectMeta: f.objectMeta(2, i, "drill-"+f.backupName(from), began.Time),
		Spec: veleroapi.RestoreSpec{
			BackupName:         f.backupName(from),
			IncludedNamespaces: []string{"*"},
			NamespaceMapping:   map[string]string{"shop": "shop-drill", "shop-db": "shop-db-drill"},
			ExcludedResources: []string{
				"nodes",
				"events",
				"events.events.k8s.io",
				"backups.velero.io",
				"restores.velero.io",
				"resticrepositories.velero.io",
				"csinodes.storage.k8s.io",
				"volumeattachments.storage.k8s.io",
				"backuprepositories.velero.io",
			},
			ItemOperationTimeout: metav1.Duration{Duration: 4 * time.Hour},
		},
		Status: veleroapi.RestoreStatus{
			Phase:               veleroapi.RestorePhaseCompleted,
			StartTimestamp:      &began,
			CompletionTimestamp: &ended,
			Warnings:            i % 3,
			Progress: &veleroapi.RestoreProgress{
				TotalItems:    880,
				ItemsRestored: 880,
			},
			HookStatus: &veleroapi.HookStatus{},
		},
	}
	r.Finalizers = []string{"restores.velero.io/external-resources-finalizer"}
	if i < f.RunningCount {
		r.Status.Phase = veleroapi.RestorePhaseInProgress
		r.Status.CompletionTimestamp = nil
		r.Status.Progress.ItemsRestored = 300
	}
	return r
}

func (f Fleet) newDataUpload(i int) *veleroapi.DataUpload {
	of := i % max(1, f.Backups)
	accepted := metav1.NewTime(f.startTime(of).Add(time.Minute))
	started, ended := metav1.NewTime(accepted.Add(10*time.Second)), metav1.NewTime(accepted.Add(2*time.Minute))
	name := f.backupName(of)
	yes := true
	u := &veleroapi.DataUpload{
		ObjectMeta: f.objectMeta(3, i, fmt.Sprintf("%s-%05x", name, i), accepted.Time),
		Spec: veleroapi.DataUploadSpec{
			SnapshotType:    veleroapi.SnapshotTypeCSI,
			SourceNamespace: "shop",
			SourcePVC:       fmt.Sprintf("data-db-%d", i/max(1, f.Backups)),
			CSISnapshot: &veleroapi.CSISnapshotSpec{
				VolumeSnapshot: fmt.Sprintf("velero-data-db-%05x", i),
				StorageClass:   "fast-ssd",
				SnapshotClass:  "csi-snapclass",
				Driver:         "ebs.csi.aws.com",
			},
			BackupStorageLocation: "default",
			OperationTimeout:      metav1.Duration{Duration: 10 * time.Minute},
		},
		Status: veleroapi.DataUploadStatus{
			Phase: veleroapi.DataUploadPhaseCompleted,
			Path:  fmt.Sprintf("/host_pods/%s/volumes/kubernetes.io~csi/pvc-%s/mount", fleetUID(4, i), fleetUID(5, i)),
			SnapshotID: fmt.Sprintf(
				"%032x",
				i,
			),
			StartTimestamp:      &started,
			CompletionTimestamp: &ended,
			AcceptedTimestamp:   &accepted,
			Node: fmt.Sprintf(
				"ip-10-0-%d-12.eu-central-1.compute.internal",
				i%9,
			),
			AcceptedByNode: fmt.Sprintf("ip-10-0-%d-12.eu-central-1.compute.internal", i%9),
			NodeOS:         "linux",
		},
	}
	u.Status.Progress.TotalBytes, u.Status.Progress.BytesDone = 10<<30, 10<<30
	u.GenerateName = name + "-"
	u.Labels = map[string]string{
		veleroapi.BackupNameLabel:       name,
		veleroapi.BackupUIDLabel:        string(fleetUID(1, of)),
		veleroapi.AsyncOperationIDLabel: fmt.Sprintf("du-%s.%s", fleetUID(1, of), fleetUID(6, i)[:23]),
		veleroapi.PVCUIDLabel:           string(fleetUID(7, i%5)),
	}
	u.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "velero.io/v1", Kind: "Backup", Name: name, UID: fleetUID(1, of), Controller: &yes},
	}
	if i < f.RunningCount {
		u.Status.Phase, u.Status.CompletionTimestamp, u.Status.SnapshotID = veleroapi.DataUploadPhaseInProgress, nil, ""
		u.Status.Progress.BytesDone = 3 << 30
	}
	return u
}
