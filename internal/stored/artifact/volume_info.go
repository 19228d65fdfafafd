package artifact

import (
	"cmp"
	"context"
	"time"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// VolumeInfo is what a job did with one volume (internal/volume/volumes_information.go). Velero stores it for backups
// since 1.13, with Phase and Result since 1.15 and Incremental since 1.18, and for restores since 1.14, without those
// three.
type VolumeInfo struct {
	// Namespace and Claim identify the PVC; PersistentVolume is the name of its volume.
	Namespace, Claim, PersistentVolume string
	// Method is NativeSnapshot, CSISnapshot, PodVolumeBackup or PodVolumeRestore; empty for none.
	Method string
	// DataMoved is true if a snapshot's data was moved to or from storage.
	DataMoved     bool
	Skipped       bool
	SkippedReason string
	// Result is succeeded or failed, Phase is the phase of the resource that carried the data; empty if not stated.
	Result, Phase string
	// Size is in bytes, Incremental the new part of it; 0 if not stated.
	Size, Incremental int64
	// SnapshotHandle is the snapshot's handle in its own store; "unknown" becomes empty.
	SnapshotHandle string
	// CSIDriver, DataMover and Uploader are set if they are stated.
	CSIDriver, DataMover, Uploader string
	// SnapshotContent is the VolumeSnapshotContent, and LocalSnapshotHandle the handle of its snapshot.
	SnapshotContent, LocalSnapshotHandle string
	// LocalSnapshotSize is the size of a CSI snapshot in bytes, 0 if not stated.
	LocalSnapshotSize int64
	// LocalSnapshotPreserved is true if the snapshot stays in the cluster; RetainedSnapshot names one that stays after its
	// data was moved.
	LocalSnapshotPreserved bool
	RetainedSnapshot       string
	// VolumeType, Zone and IOPS describe the volume of a native snapshot.
	VolumeType, Zone, IOPS string
	// Operation is the item operation that moved the data, or that waits for the snapshot.
	Operation string
	// PodNamespace, Pod, PodVolume and Node are set if a pod's volume was copied.
	PodNamespace, Pod, PodVolume, Node string
	// Started and Completed are zero if not stated.
	Started, Completed time.Time
}

// The ways in which Velero saves and restores volumes (internal/volume/volumes_information.go Method).
const (
	MethodNativeSnapshot   = "NativeSnapshot"
	MethodCSISnapshot      = "CSISnapshot"
	MethodPodVolumeBackup  = "PodVolumeBackup"
	MethodPodVolumeRestore = "PodVolumeRestore"
)

// VolumeOutcome is what became of a volume's data, empty if unknown.
type VolumeOutcome string

// The outcomes.
const (
	VolumeSaved   VolumeOutcome = "saved"
	VolumeFailed  VolumeOutcome = "failed"
	VolumeSkipped VolumeOutcome = "skipped"
)

// Outcome returns what became of the volume's data. Velero 1.13 and 1.14 tell it only by the phase.
func (v *VolumeInfo) Outcome() VolumeOutcome {
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
	PVCName             string      `json:"pvcName"`
	PVCNamespace        string      `json:"pvcNamespace"`
	PVName              string      `json:"pvName"`
	BackupMethod        string      `json:"backupMethod"`
	RestoreMethod       string      `json:"restoreMethod"`
	SnapshotDataMoved   bool        `json:"snapshotDataMoved"`
	Preserved           bool        `json:"preserveLocalSnapshot"`
	Skipped             bool        `json:"skipped"`
	SkippedReason       string      `json:"skippedReason"`
	StartTimestamp      lenientTime `json:"startTimestamp"`
	CompletionTimestamp lenientTime `json:"completionTimestamp"`
	Result              string      `json:"result"`

	CSI      dataCarrier `json:"csiSnapshotInfo"`
	Movement dataCarrier `json:"snapshotDataMovementInfo"`
	Native   dataCarrier `json:"nativeSnapshotInfo"`
	PVB      dataCarrier `json:"pvbInfo"`
	PVR      dataCarrier `json:"pvrInfo"`
}

// dataCarrier is any of the resources that carry a volume's data; each has some of the fields.
type dataCarrier struct {
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

func (s *storedVolume) toVolumeInfo() VolumeInfo {
	v := VolumeInfo{
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
		SnapshotContent: knownText(
			s.CSI.Content,
		),
		LocalSnapshotHandle:    knownText(s.CSI.SnapshotHandle),
		LocalSnapshotSize:      s.CSI.Size,
		LocalSnapshotPreserved: s.Preserved,
		RetainedSnapshot:       s.Movement.Retained,
		VolumeType:             s.Native.VolumeType,
		Zone:                   s.Native.VolumeAZ,
		IOPS:                   s.Native.IOPS,
	}
	// The resource that moved the data tells more than the snapshot that it was read from.
	for _, c := range []*dataCarrier{&s.Movement, &s.PVB, &s.PVR, &s.CSI, &s.Native} {
		v.Phase = cmp.Or(v.Phase, c.Phase)
		v.Size = cmp.Or(v.Size, c.Size)
		v.Incremental = cmp.Or(v.Incremental, c.IncrementalSize)
		v.SnapshotHandle = cmp.Or(v.SnapshotHandle, knownText(c.SnapshotHandle))
		v.Operation = cmp.Or(v.Operation, knownText(c.OperationID))
		v.PodNamespace = cmp.Or(v.PodNamespace, c.PodNamespace)
		v.Pod = cmp.Or(v.Pod, c.PodName)
		v.PodVolume = cmp.Or(v.PodVolume, c.VolumeName)
		v.Node = cmp.Or(v.Node, c.NodeName)
	}
	return v
}

// knownText returns text, or nothing for "unknown", which Velero writes for a snapshot whose data is moved
// (FieldValueIsUnknown).
func knownText(text string) string {
	if text == "unknown" {
		return ""
	}
	return text
}

func (f *Fetcher) FetchVolumes(ctx context.Context, kind job.Kind, name string) (volumes []VolumeInfo, err error) {
	target := newTarget(
		kind,
		name,
		veleroapi.DownloadTargetKindBackupVolumeInfos,
		veleroapi.DownloadTargetKindRestoreVolumeInfo,
	)
	err = f.fetchJSON(ctx, target, readList(&volumes, (*storedVolume).toVolumeInfo))
	return volumes, err
}
