package job

import (
	"testing"

	"github.com/vmware-tanzu/velero/pkg/apis/velero/shared"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/velero"
)

func TestVolumesFromResources(t *testing.T) {
	stamp := func(m float64) *metav1.Time { at := metav1.NewTime(minutesAgo(m)); return &at }
	meta := metav1.ObjectMeta{
		Name:              "v",
		UID:               "u",
		CreationTimestamp: *stamp(9),
		Annotations:       map[string]string{pvcName: "pg"},
		Labels:            map[string]string{velerov1.AsyncOperationIDLabel: "op"},
		ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "velero", Time: stamp(2)},
			{Manager: "node-agent", Time: stamp(1)},
		},
	}
	pod := corev1.ObjectReference{Namespace: "shop", Name: "db-0"}
	moved := shared.DataMoveOperationProgress{BytesDone: 3, TotalBytes: 7}

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
		Accepted:    minutesAgo(8),
		Started:     minutesAgo(7),
		Changed:     minutesAgo(1),
		Message:     "m",
		CancelAsked: true,
	}
	check := func(kind velero.VolumeKind, target string, got Volume) {
		t.Helper()
		want := want
		want.Kind, want.Target, want.Namespace, want.Handle, want.Operation = kind, target, "shop", "k1", "op"
		if kind.IsPodVolume() {
			want.Pod, want.PodVolume, want.Uploader = "db-0", "data", "kopia"
		}
		if kind != velero.PodVolumeRestore {
			want.Claim = map[bool]string{true: "pg", false: "db"}[kind.IsPodVolume()]
		}
		if kind == velero.PodVolumeBackup || kind == velero.DataUpload {
			want.Incremental = 2
		}
		if got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", kind, got, want)
		}
	}

	pvb := &velerov1.PodVolumeBackup{ObjectMeta: meta}
	pvb.Spec = velerov1.PodVolumeBackupSpec{Node: "a", Pod: pod, Volume: "data", Cancel: true, UploaderType: "kopia"}
	pvb.Status = velerov1.PodVolumeBackupStatus{
		Phase:             velerov1.PodVolumeBackupPhaseInProgress,
		SnapshotID:        "k1",
		IncrementalBytes:  2,
		Progress:          moved,
		Message:           "m",
		StartTimestamp:    stamp(7),
		AcceptedTimestamp: stamp(8),
	}
	check(velero.PodVolumeBackup, "shop/db-0:data", VolumeFromPodVolumeBackup(pvb))

	pvr := &velerov1.PodVolumeRestore{ObjectMeta: meta}
	pvr.Spec = velerov1.PodVolumeRestoreSpec{
		Pod:          pod,
		Volume:       "data",
		Cancel:       true,
		SnapshotSize: 99,
		UploaderType: "kopia",
		SnapshotID:   "k1",
	}
	pvr.Status = velerov1.PodVolumeRestoreStatus{
		Phase:             velerov1.PodVolumeRestorePhaseInProgress,
		Progress:          moved,
		Node:              "a",
		Message:           "m",
		StartTimestamp:    stamp(7),
		AcceptedTimestamp: stamp(8),
	}
	check(velero.PodVolumeRestore, "shop/db-0:data", VolumeFromPodVolumeRestore(pvr))

	du := &velerov2alpha1.DataUpload{ObjectMeta: meta}
	du.Spec = velerov2alpha1.DataUploadSpec{SourceNamespace: "shop", SourcePVC: "db", Cancel: true}
	du.Status = velerov2alpha1.DataUploadStatus{
		Phase:             velerov2alpha1.DataUploadPhaseInProgress,
		SnapshotID:        "k1",
		IncrementalBytes:  2,
		Progress:          moved,
		Node:              "a",
		Message:           "m",
		StartTimestamp:    stamp(7),
		AcceptedTimestamp: stamp(8),
	}
	check(velero.DataUpload, "shop/db", VolumeFromDataUpload(du))

	dd := &velerov2alpha1.DataDownload{ObjectMeta: meta}
	dd.Spec = velerov2alpha1.DataDownloadSpec{
		TargetVolume: velerov2alpha1.TargetVolumeSpec{Namespace: "shop", PVC: "db"},
		Cancel:       true,
		SnapshotSize: 99,
		SnapshotID:   "k1",
	}
	dd.Status = velerov2alpha1.DataDownloadStatus{
		Phase:             velerov2alpha1.DataDownloadPhaseInProgress,
		Progress:          moved,
		Node:              "a",
		Message:           "m",
		StartTimestamp:    stamp(7),
		AcceptedTimestamp: stamp(8),
	}
	check(velero.DataDownload, "shop/db", VolumeFromDataDownload(dd))

	dd.Status.Progress = shared.DataMoveOperationProgress{}
	if v := VolumeFromDataDownload(dd); v.Total != 99 {
		t.Errorf("total is %d before the uploader tells one, want the snapshot's size", v.Total)
	}
	pvb.ManagedFields, pvb.Status.CompletionTimestamp = nil, stamp(0.5)
	if v := VolumeFromPodVolumeBackup(pvb); !v.Changed.Equal(minutesAgo(0.5)) || !v.Completed.Equal(minutesAgo(0.5)) {
		t.Errorf("without managed fields it changed %v, want its completion", v.Changed)
	}
}
