package job

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

func TestVolumesFromResources(t *testing.T) {
	stamp := func(m float64) *metav1.Time { at := metav1.NewTime(minutesAgo(m)); return &at }
	meta := metav1.ObjectMeta{
		Name:              "v",
		UID:               "u",
		CreationTimestamp: *stamp(9),
		Annotations:       map[string]string{pvcNameAnnotation: "pg"},
		Labels:            map[string]string{veleroapi.AsyncOperationIDLabel: "op"},
		ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "velero", Time: stamp(2)},
			{Manager: "node-agent", Time: stamp(1)},
		},
	}
	pod := corev1.ObjectReference{Namespace: "shop", Name: "db-0"}
	moved := veleroapi.DataMoveOperationProgress{BytesDone: 3, TotalBytes: 7}

	want := Volume{
		Name:   "v",
		UID:    "u",
		Phase:  velero.VolumeInProgress,
		Target: "shop/db-0:data",
		Node:   "a",
		Done:   3,
		Total:  7,
		Created: minutesAgo(
			9,
		),
		Accepted:        minutesAgo(8),
		Started:         minutesAgo(7),
		LastChanged:     minutesAgo(1),
		Message:         "m",
		CancelRequested: true,
	}
	check := func(kind velero.VolumeKind, target string, got Volume) {
		t.Helper()
		want := want
		want.Kind, want.Target, want.Namespace, want.SnapshotHandle, want.OperationID = kind, target, "shop", "k1", "op"
		if kind.IsPodVolume() {
			want.Pod, want.PodVolume, want.Uploader = "db-0", "data", "kopia"
		}
		if kind != velero.PodVolumeRestore {
			want.Claim = map[bool]string{true: "pg", false: "db"}[kind.IsPodVolume()]
		}
		if kind == velero.PodVolumeBackup || kind == velero.DataUpload {
			want.IncrementalBytes = 2
		}
		if got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", kind, got, want)
		}
	}

	pvb := &veleroapi.PodVolumeBackup{ObjectMeta: meta}
	pvb.Spec = veleroapi.PodVolumeBackupSpec{Node: "a", Pod: pod, Volume: "data", Cancel: true, UploaderType: "kopia"}
	pvb.Status = veleroapi.PodVolumeBackupStatus{
		Phase:             veleroapi.PodVolumeBackupPhaseInProgress,
		SnapshotID:        "k1",
		IncrementalBytes:  2,
		Progress:          moved,
		Message:           "m",
		StartTimestamp:    stamp(7),
		AcceptedTimestamp: stamp(8),
	}
	check(velero.PodVolumeBackup, "shop/db-0:data", VolumeFromPodVolumeBackup(pvb))

	pvr := &veleroapi.PodVolumeRestore{ObjectMeta: meta}
	pvr.Spec = veleroapi.PodVolumeRestoreSpec{
		Pod:          pod,
		Volume:       "data",
		Cancel:       true,
		SnapshotSize: 99,
		UploaderType: "kopia",
		SnapshotID:   "k1",
	}
	pvr.Status = veleroapi.PodVolumeRestoreStatus{
		Phase:             veleroapi.PodVolumeRestorePhaseInProgress,
		Progress:          moved,
		Node:              "a",
		Message:           "m",
		StartTimestamp:    stamp(7),
		AcceptedTimestamp: stamp(8),
	}
	check(velero.PodVolumeRestore, "shop/db-0:data", VolumeFromPodVolumeRestore(pvr))

	du := &veleroapi.DataUpload{ObjectMeta: meta}
	du.Spec = veleroapi.DataUploadSpec{SourceNamespace: "shop", SourcePVC: "db", Cancel: true}
	du.Status = veleroapi.DataUploadStatus{
		Phase:             veleroapi.DataUploadPhaseInProgress,
		SnapshotID:        "k1",
		IncrementalBytes:  2,
		Progress:          moved,
		Node:              "a",
		Message:           "m",
		StartTimestamp:    stamp(7),
		AcceptedTimestamp: stamp(8),
	}
	check(velero.DataUpload, "shop/db", VolumeFromDataUpload(du))

	dd := &veleroapi.DataDownload{ObjectMeta: meta}
	dd.Spec = veleroapi.DataDownloadSpec{
		TargetVolume: veleroapi.TargetVolumeSpec{Namespace: "shop", PVC: "db"},
		Cancel:       true,
		SnapshotSize: 99,
		SnapshotID:   "k1",
	}
	dd.Status = veleroapi.DataDownloadStatus{
		Phase:             veleroapi.DataDownloadPhaseInProgress,
		Progress:          moved,
		Node:              "a",
		Message:           "m",
		StartTimestamp:    stamp(7),
		AcceptedTimestamp: stamp(8),
	}
	check(velero.DataDownload, "shop/db", VolumeFromDataDownload(dd))

	dd.Status.Progress = veleroapi.DataMoveOperationProgress{}
	if v := VolumeFromDataDownload(dd); v.Total != 99 {
		t.Errorf("total is %d before the uploader tells one, want the snapshot's size", v.Total)
	}
	pvb.ManagedFields, pvb.Status.CompletionTimestamp = nil, stamp(0.5)
	if v := VolumeFromPodVolumeBackup(pvb); !v.LastChanged.Equal(minutesAgo(0.5)) || !v.Completed.Equal(minutesAgo(0.5)) {
		t.Errorf("without managed fields it changed %v, want its completion", v.LastChanged)
	}
}
