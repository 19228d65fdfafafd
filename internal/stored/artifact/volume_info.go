package artifact

import (
	"cmp"
	"context"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// Volume is what a job did with one volume (internal/volume/volumes_information.go). Velero
// stores it of backups since 1.13, with Phase and Result since 1.15 and Incremental since 1.18,
// and of restores since 1.14, with none of these.
type Volume struct {
	// Namespace and Claim are the PVC's, PersistentVolume its volume's name.
	Namespace, Claim, PersistentVolume string
	// Method is NativeSnapshot, CSISnapshot, PodVolumeBackup or PodVolumeRestore; empty for none.
	Method string
	// DataMoved is true if a snapshot's data was moved to or from storage.
	DataMoved     bool
	Skipped       bool
	SkippedReason string
	// Result is succeeded or failed, Phase that of what carried the data; empty if not said.
	Result, Phase string
	// Size is in bytes, Incremental what of it was new; 0 if not said.
	Size, Incremental int64
	// Handle is the snapshot's in its own store; "unknown" is empty.
	Handle string
	// CSIDriver, DataMover and Uploader are each there where they are said.
	CSIDriver, DataMover, Uploader string
	// Content is the VolumeSnapshotContent, and LocalHandle its snapshot's handle.
	Content, LocalHandle string
	// LocalSize is the size of a CSI snapshot in bytes, 0 if not said.
	LocalSize int64
	// Preserved is true if the snapshot stays in the cluster; Retained is one that stays after its data was moved.
	Preserved bool
	Retained  string
	// VolumeType, Zone and IOPS are those of a native snapshot's volume.
	VolumeType, Zone, IOPS string
	// Operation is the item operation that moved the data, or that waits for the snapshot.
	Operation string
	// PodNamespace, Pod, PodVolume and Node are set if a pod's volume was copied.
	PodNamespace, Pod, PodVolume, Node string
	// Started and Completed are zero if not said.
	Started, Completed time.Time
}

// The ways in which Velero saves and restores volumes (internal/volume/volumes_information.go Method).
const (
	ByNative     = "NativeSnapshot"
	ByCSI        = "CSISnapshot"
	ByPod        = "PodVolumeBackup"
	ByPodRestore = "PodVolumeRestore"
)

// VolumeOutcome is what became of a volume's data, empty where nothing is said.
type VolumeOutcome string

// The outcomes.
const (
	VolumeSaved   VolumeOutcome = "saved"
	VolumeFailed  VolumeOutcome = "failed"
	VolumeSkipped VolumeOutcome = "skipped"
)

// Outcome is what became of the volume's data. Velero 1.13 and 1.14 say it by the phase alone.
func (v *Volume) Outcome() VolumeOutcome {
	switch {
	case v.Skipped:
		return VolumeSkipped
	case v.Result == "succeeded", v.Result == "" && v.Phase == velero.VolumeCompleted:
		return VolumeSaved
	case v.Result != "", v.Phase == velero.VolumeFailed, v.Phase == velero.VolumeCanceled:
		return VolumeFailed
	}
	return ""
}

type storedVolume struct {
	PVCName             string `json:"pvcName"`
	PVCNamespace        string `json:"pvcNamespace"`
	PVName              string `json:"pvName"`
	BackupMethod        string `json:"backupMethod"`
	RestoreMethod       string `json:"restoreMethod"`
	SnapshotDataMoved   bool   `json:"snapshotDataMoved"`
	Preserved           bool   `json:"preserveLocalSnapshot"`
	Skipped             bool   `json:"skipped"`
	SkippedReason       string `json:"skippedReason"`
	StartTimestamp      moment `json:"startTimestamp"`
	CompletionTimestamp moment `json:"completionTimestamp"`
	Result              string `json:"result"`

	CSI      carrier `json:"csiSnapshotInfo"`
	Movement carrier `json:"snapshotDataMovementInfo"`
	Native   carrier `json:"nativeSnapshotInfo"`
	PVB      carrier `json:"pvbInfo"`
	PVR      carrier `json:"pvrInfo"`
}

// carrier is any of the things that carry a volume's data; each has some of the fields.
type carrier struct {
	SnapshotHandle  string `json:"snapshotHandle"`
	Size            int64  `json:"size"`
	IncrementalSize int64  `json:"incrementalSize"`
	Driver          string `json:"driver"`
	Content         string `json:"vscName"`
	Retained        string `json:"retainedSnapshot"`
	VolumeType      string `json:"volumeType"`
	VolumeAZ        string `json:"volumeAZ"`
	IOPS            string `json:"iops"`
	DataMover       string `json:"dataMover"`
	UploaderType    string `json:"uploaderType"`
	OperationID     string `json:"operationID"`
	VolumeName      string `json:"volumeName"`
	PodName         string `json:"podName"`
	PodNamespace    string `json:"podNamespace"`
	NodeName        string `json:"nodeName"`
	Phase           string `json:"Phase"`
}

func (s *storedVolume) volume() Volume {
	v := Volume{
		Namespace:        s.PVCNamespace,
		Claim:            s.PVCName,
		PersistentVolume: s.PVName,
		Method:           cmp.Or(s.BackupMethod, s.RestoreMethod),
		DataMoved:        s.SnapshotDataMoved,
		Skipped:          s.Skipped,
		SkippedReason:    s.SkippedReason,
		Result:           s.Result,
		Started:          s.StartTimestamp.Time,
		Completed:        s.CompletionTimestamp.Time,
		CSIDriver:        s.CSI.Driver,
		DataMover:        s.Movement.DataMover,
		Uploader:         cmp.Or(s.Movement.UploaderType, s.PVB.UploaderType, s.PVR.UploaderType),
		Content: known(
			s.CSI.Content,
		),
		LocalHandle: known(s.CSI.SnapshotHandle),
		LocalSize:   s.CSI.Size,
		Preserved:   s.Preserved,
		Retained:    s.Movement.Retained,
		VolumeType:  s.Native.VolumeType,
		Zone:        s.Native.VolumeAZ,
		IOPS:        s.Native.IOPS,
	}
	// What moved the data says more than the snapshot that it was read from.
	for _, c := range []*carrier{&s.Movement, &s.PVB, &s.PVR, &s.CSI, &s.Native} {
		v.Phase = cmp.Or(v.Phase, c.Phase)
		v.Size = cmp.Or(v.Size, c.Size)
		v.Incremental = cmp.Or(v.Incremental, c.IncrementalSize)
		v.Handle = cmp.Or(v.Handle, known(c.SnapshotHandle))
		v.Operation = cmp.Or(v.Operation, known(c.OperationID))
		v.PodNamespace = cmp.Or(v.PodNamespace, c.PodNamespace)
		v.Pod = cmp.Or(v.Pod, c.PodName)
		v.PodVolume = cmp.Or(v.PodVolume, c.VolumeName)
		v.Node = cmp.Or(v.Node, c.NodeName)
	}
	return v
}

// known is a text that says something: Velero writes "unknown" of a snapshot whose data is moved (FieldValueIsUnknown).
func known(text string) string {
	if text == "unknown" {
		return ""
	}
	return text
}

func (f *Fetcher) Volumes(ctx context.Context, kind job.Kind, name string) (volumes []Volume, err error) {
	target := targetOf(
		kind,
		name,
		velerov1.DownloadTargetKindBackupVolumeInfos,
		velerov1.DownloadTargetKindRestoreVolumeInfo,
	)
	err = f.load(ctx, target, readList(&volumes, (*storedVolume).volume))
	return volumes, err
}
