package testbed

import (
	"fmt"
	"iter"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Fleet is a cluster with a long past: backups of several schedules, restores of
// them, and DataUploads of the backups. All have ended but the newest Running of
// each kind. They are as large as real ones, managed fields included.
// [ControlPlane.Fill] puts a fleet into a cluster.
type Fleet struct {
	Namespace string
	Now       time.Time

	Backups, Restores, DataUploads, Running int
}

// Large is the fleet that veltui's targets are for.
func Large(namespace string, now time.Time) Fleet {
	return Fleet{Namespace: namespace, Now: now, Backups: 10_000, Restores: 10_000, DataUploads: 50_000, Running: 3}
}

// Objects are all of the fleet, with the managed fields that the API server would
// note, but without a resource version.
func (f Fleet) Objects() iter.Seq2[client.Object, error] {
	return func(yield func(client.Object, error) bool) {
		kinds := Scheme()
		send := func(o client.Object, worker string) bool {
			return yield(o, manage(o, kinds, "velero-server", worker))
		}
		for i := range f.Backups {
			if !send(f.backup(i), "velero-server") {
				return
			}
		}
		for i := range f.Restores {
			if !send(f.restore(i), "velero-server") {
				return
			}
		}
		for i := range f.DataUploads {
			if !send(f.dataUpload(i), "node-agent-server") {
				return
			}
		}
	}
}

// uid is the same for the same object of every fleet.
func uid(kind, i int) types.UID {
	return types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", kind, i))
}

func (f Fleet) meta(kind, i int, name string, created time.Time) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:         f.Namespace,
		Name:              name,
		UID:               uid(kind, i),
		Generation:        7,
		CreationTimestamp: metav1.NewTime(created),
	}
}

func (f Fleet) schedule(i int) string {
	return []string{"shop-hourly", "crm-hourly", "billing-hourly", "media-hourly"}[i%4]
}

func (f Fleet) backupName(i int) string {
	return f.schedule(i) + "-" + f.began(i).UTC().Format("20060102150405")
}

// began is when the backup, or the restore, with the number i began; 0 is the newest.
func (f Fleet) began(i int) time.Time {
	return f.Now.Add(-time.Duration(i) * time.Hour / 4).Add(-5 * time.Minute).Truncate(time.Second)
}

func (f Fleet) backup(i int) *velerov1.Backup {
	began := metav1.NewTime(f.began(i))
	ended, expires := metav1.NewTime(began.Add(4*time.Minute)), metav1.NewTime(began.Add(720*time.Hour))
	yes := true
	b := &velerov1.Backup{
		ObjectMeta: f.meta(1, i, f.backupName(i), began.Time),
		Spec: velerov1.BackupSpec{
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
		Status: velerov1.BackupStatus{
			Version:                       1,
			FormatVersion:                 "1.1.0",
			Phase:                         velerov1.BackupPhaseCompleted,
			StartTimestamp:                &began,
			CompletionTimestamp:           &ended,
			Expiration:                    &expires,
			Progress:                      &velerov1.BackupProgress{TotalItems: 900 + i%7, ItemsBackedUp: 900 + i%7},
			BackupItemOperationsAttempted: 5,
			BackupItemOperationsCompleted: 5,
			HookStatus:                    &velerov1.HookStatus{},
		},
	}
	b.Labels = map[string]string{
		velerov1.StorageLocationLabel:  "default",
		velerov1.ScheduleNameLabel:     f.schedule(i),
		"app.kubernetes.io/managed-by": "Helm",
		"app.kubernetes.io/instance":   "velero",
	}
	b.Annotations = map[string]string{
		"velero.io/source-cluster-k8s-gitversion":    "v1.36.3",
		"velero.io/source-cluster-k8s-major-version": "1",
		"velero.io/source-cluster-k8s-minor-version": "36",
		"velero.io/resource-timeout":                 "10m0s",
	}
	if i < f.Running {
		b.Status.Phase = velerov1.BackupPhaseInProgress
		b.Status.CompletionTimestamp = nil
		b.Status.Progress.ItemsBackedUp = 400
		b.Status.BackupItemOperationsCompleted = 0
	}
	return b
}

func (f Fleet) restore(i int) *velerov1.Restore {
	began := metav1.NewTime(f.began(i).Add(2 * time.Minute))
	ended := metav1.NewTime(began.Add(90 * time.Second))
	from := (i + f.Running) % max(1, f.Backups)
	r := &velerov1.Restore{
		ObjectMeta: f.meta(2, i, "drill-"+f.backupName(from), began.Time),
		Spec: velerov1.RestoreSpec{
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
		Status: velerov1.RestoreStatus{
			Phase:               velerov1.RestorePhaseCompleted,
			StartTimestamp:      &began,
			CompletionTimestamp: &ended,
			Warnings:            i % 3,
			Progress: &velerov1.RestoreProgress{
				TotalItems:    880,
				ItemsRestored: 880,
			},
			HookStatus: &velerov1.HookStatus{},
		},
	}
	r.Finalizers = []string{"restores.velero.io/external-resources-finalizer"}
	if i < f.Running {
		r.Status.Phase = velerov1.RestorePhaseInProgress
		r.Status.CompletionTimestamp = nil
		r.Status.Progress.ItemsRestored = 300
	}
	return r
}

func (f Fleet) dataUpload(i int) *velerov2alpha1.DataUpload {
	of := i % max(1, f.Backups)
	accepted := metav1.NewTime(f.began(of).Add(time.Minute))
	started, ended := metav1.NewTime(accepted.Add(10*time.Second)), metav1.NewTime(accepted.Add(2*time.Minute))
	name := f.backupName(of)
	yes := true
	u := &velerov2alpha1.DataUpload{
		ObjectMeta: f.meta(3, i, fmt.Sprintf("%s-%05x", name, i), accepted.Time),
		Spec: velerov2alpha1.DataUploadSpec{
			SnapshotType:    velerov2alpha1.SnapshotTypeCSI,
			SourceNamespace: "shop",
			SourcePVC:       fmt.Sprintf("data-db-%d", i/max(1, f.Backups)),
			CSISnapshot: &velerov2alpha1.CSISnapshotSpec{
				VolumeSnapshot: fmt.Sprintf("velero-data-db-%05x", i),
				StorageClass:   "fast-ssd",
				SnapshotClass:  "csi-snapclass",
				Driver:         "ebs.csi.aws.com",
			},
			BackupStorageLocation: "default",
			OperationTimeout:      metav1.Duration{Duration: 10 * time.Minute},
		},
		Status: velerov2alpha1.DataUploadStatus{
			Phase: velerov2alpha1.DataUploadPhaseCompleted,
			Path:  fmt.Sprintf("/host_pods/%s/volumes/kubernetes.io~csi/pvc-%s/mount", uid(4, i), uid(5, i)),
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
		velerov1.BackupNameLabel:       name,
		velerov1.BackupUIDLabel:        string(uid(1, of)),
		velerov1.AsyncOperationIDLabel: fmt.Sprintf("du-%s.%s", uid(1, of), uid(6, i)[:23]),
		velerov1.PVCUIDLabel:           string(uid(7, i%5)),
	}
	u.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "velero.io/v1", Kind: "Backup", Name: name, UID: uid(1, of), Controller: &yes},
	}
	if i < f.Running {
		u.Status.Phase, u.Status.CompletionTimestamp, u.Status.SnapshotID = velerov2alpha1.DataUploadPhaseInProgress, nil, ""
		u.Status.Progress.BytesDone = 3 << 30
	}
	return u
}
