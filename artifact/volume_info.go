package artifact

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/job"
)

// Volume is what a job did with one volume
// (internal/volume/volumes_information.go).
type Volume struct {
	// Namespace and Claim are the PVC's, PersistentVolume its volume's name.
	Namespace, Claim, PersistentVolume string
	// Method is NativeSnapshot, CSISnapshot, PodVolumeBackup or
	// PodVolumeRestore; empty if nothing was done.
	Method string
	// DataMoved is true if a snapshot's data was moved to or from storage.
	DataMoved     bool
	Skipped       bool
	SkippedReason string
	// Result is succeeded or failed, Phase the phase of what carried the data;
	// empty if not said, as for restores the result is.
	Result, Phase string
	// Size is in bytes, Incremental what of it was new; 0 if not said.
	Size, Incremental int64
	// Handle is the snapshot's in its own store, Driver the CSI driver, data
	// mover or uploader.
	Handle, Driver string
	// Operation is the item operation's that moved the data.
	Operation string
	// PodNamespace, Pod, PodVolume and Node are set if a pod's volume was
	// copied.
	PodNamespace, Pod, PodVolume, Node string
	// Started and Completed are zero if not said.
	Started, Completed time.Time
}

type volumeList []Volume

type storedVolume struct {
	PVCName             string `json:"pvcName"`
	PVCNamespace        string `json:"pvcNamespace"`
	PVName              string `json:"pvName"`
	BackupMethod        string `json:"backupMethod"`
	RestoreMethod       string `json:"restoreMethod"`
	SnapshotDataMoved   bool   `json:"snapshotDataMoved"`
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

// carrier is any of the things that carry a volume's data; each has some of
// the fields.
type carrier struct {
	SnapshotHandle  string `json:"snapshotHandle"`
	Size            int64  `json:"size"`
	IncrementalSize int64  `json:"incrementalSize"`
	Driver          string `json:"driver"`
	DataMover       string `json:"dataMover"`
	UploaderType    string `json:"uploaderType"`
	OperationID     string `json:"operationID"`
	VolumeName      string `json:"volumeName"`
	PodName         string `json:"podName"`
	PodNamespace    string `json:"podNamespace"`
	NodeName        string `json:"nodeName"`
	Phase           string `json:"Phase"`
}

func (l *volumeList) read(d *json.Decoder) error {
	return readList(d, func(s *storedVolume) { *l = append(*l, s.volume()) })
}

func (s *storedVolume) volume() Volume {
	v := Volume{
		Namespace: s.PVCNamespace, Claim: s.PVCName, PersistentVolume: s.PVName,
		Method: cmp.Or(s.BackupMethod, s.RestoreMethod), DataMoved: s.SnapshotDataMoved,
		Skipped: s.Skipped, SkippedReason: s.SkippedReason, Result: s.Result,
		Started: s.StartTimestamp.Time, Completed: s.CompletionTimestamp.Time,
	}
	// What moved the data says more than the snapshot that it was read from.
	for _, c := range []*carrier{&s.Movement, &s.PVB, &s.PVR, &s.CSI, &s.Native} {
		v.Phase = cmp.Or(v.Phase, c.Phase)
		v.Size = cmp.Or(v.Size, c.Size)
		v.Incremental = cmp.Or(v.Incremental, c.IncrementalSize)
		v.Handle = cmp.Or(v.Handle, c.SnapshotHandle)
		v.Driver = cmp.Or(v.Driver, c.DataMover, c.UploaderType, c.Driver)
		v.Operation = cmp.Or(v.Operation, c.OperationID)
		v.PodNamespace = cmp.Or(v.PodNamespace, c.PodNamespace)
		v.Pod = cmp.Or(v.Pod, c.PodName)
		v.PodVolume = cmp.Or(v.PodVolume, c.VolumeName)
		v.Node = cmp.Or(v.Node, c.NodeName)
	}
	cleanEach(&v.Namespace, &v.Claim, &v.PersistentVolume, &v.Method, &v.SkippedReason, &v.Result, &v.Phase,
		&v.Handle, &v.Driver, &v.Operation, &v.PodNamespace, &v.Pod, &v.PodVolume, &v.Node)
	return v
}

// ReadVolumes reads unpacked volume infos of a backup or a restore.
func ReadVolumes(r io.Reader) ([]Volume, error) {
	var l volumeList
	err := readJSON(r, &l)
	return l, err
}

// Volumes fetches what a job did with each volume.
func (f *Fetcher) Volumes(ctx context.Context, kind job.Kind, name string) ([]Volume, error) {
	var l volumeList
	err := f.load(ctx, targetOf(kind, name, velerov1.DownloadTargetKindBackupVolumeInfos, velerov1.DownloadTargetKindRestoreVolumeInfo), &l)
	return l, err
}
