package job

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Volume is a volume of a job whose data is moved.
type Volume struct {
	Kind  velero.VolumeKind
	Name  string
	UID   types.UID
	Phase string
	// JobRef is backup/NAME or restore/NAME by the label, in which a name over 63 characters is cut (pkg/label/label.go
	// GetValidName).
	JobRef string
	// Target says what is moved: namespace/pod:volume or namespace/pvc.
	Target string
	// Node is the node of the node-agent that moves it, empty until known (status.node; spec.node of a PodVolumeBackup).
	// AcceptedBy is status.acceptedByNode, which Velero writes and never reads.
	Node, AcceptedBy string
	// OperationTimeout is spec.operationTimeout, zero for pod volumes.
	OperationTimeout time.Duration
	// HasExposingLabel is true if it has the label that Velero's queue of preparing volumes counts (since 1.17).
	HasExposingLabel bool
	// LastAgentWrite is when a node-agent last wrote to it, zero if none did.
	LastAgentWrite time.Time
	// Namespace and Claim identify the PVC; Claim is empty for PodVolumeRestores, which do not name it.
	Namespace, Claim string
	// Pod and PodVolume are the names of the pod and of its volume, for pod volumes.
	Pod, PodVolume string
	// Uploader is spec.uploaderType of pod volumes: kopia or restic.
	Uploader string
	// SnapshotHandle is the snapshot's handle in the backup repository, empty until the snapshot is made.
	SnapshotHandle string
	// OperationID is the item operation that waits for it (label velero.io/async-operation-id), if any.
	OperationID string
	// IncrementalBytes is how many of the bytes were new, 0 if not stated (Velero 1.18).
	IncrementalBytes int64
	// Done and Total are bytes; Total is 0 until it is known and may grow (docs/dev/velero.md#byte-progress).
	Done  int64
	Total int64

	Created time.Time
	// Accepted is when a node-agent accepted it; zero before, and in older versions.
	Accepted  time.Time
	Started   time.Time
	Completed time.Time
	// LastChanged is when the resource last changed, in the cluster's clock.
	LastChanged time.Time
	Message     string
	// CancelRequested is true if spec.cancel is set.
	CancelRequested bool
	// DataMover is spec.datamover; empty for Velero's own and for pod volumes.
	DataMover string
	// MalformedField is the first field whose value Velero's type cannot hold, zero for none.
	MalformedField decode.MalformedField
}

// Fraction returns how much of the volume is moved, and 1 only once it completed. known is false without a size.
func (v *Volume) Fraction() (fraction float64, known bool) {
	switch {
	case v.Phase == velero.VolumeCompleted:
		return 1, true
	case v.Total <= 0:
		return 0, false
	}
	return min(float64(max(0, v.Done))/float64(v.Total), maxUnfinishedFraction), true
}

// sampleVolumes records the bytes of each volume in progress, and drops the samples of others.
func sampleVolumes(
	before map[velero.VolumeRef]sampleList,
	volumes []Volume,
	at time.Time,
) map[velero.VolumeRef]sampleList {
	var now map[velero.VolumeRef]sampleList
	for i := range volumes {
		v := &volumes[i]
		if v.Phase != velero.VolumeInProgress {
			continue
		}
		if now == nil {
			now = map[velero.VolumeRef]sampleList{}
		}
		now[v.Ref()] = before[v.Ref()].noteProgress(at, v.Done, v.Total)
	}
	return now
}

// maxVolumeRate is a speed, in bytes a second, that no volume reaches.
const maxVolumeRate = 1 << 40

// VolumeRate returns the speed in bytes a second, over a sliding window or from the start to the last change. ok is
// false without enough evidence.
func (j *Job) VolumeRate(v *Volume, now time.Time) (perSecond float64, ok bool) {
	if v.Phase != velero.VolumeInProgress || v.CancelRequested {
		return 0, false
	}
	if rate, ok := j.track.volumeSamples[v.Ref()].rateAt(&bytePace, now); ok {
		return rate, rate < maxVolumeRate
	}
	span := v.LastChanged.Sub(v.Started)
	if v.Started.IsZero() || span < bytePace.minSpan || v.Done < bytePace.minAmount ||
		v.QuietDuration(now) > bytePace.maxSilence {
		return 0, false
	}
	perSecond = float64(v.Done) / span.Seconds()
	return perSecond, perSecond < maxVolumeRate
}

// VolumeETA returns how long a volume still takes, at least a second. The time may grow while the uploader counts.
func (j *Job) VolumeETA(v *Volume, now time.Time) (left time.Duration, ok bool) {
	rate, ok := j.VolumeRate(v, now)
	if !ok || rate <= 0 || v.Done >= v.Total {
		return 0, false
	}
	return estimateTimeLeft(v.Total-v.Done, rate, v.QuietDuration(now))
}

// pvcNameAnnotation is the annotation with the name of a PodVolumeBackup's claim (pkg/podvolume/backupper.go,
// pkg/podvolume/configs).
const pvcNameAnnotation = "velero.io/pvc-name"

// exposingLabel is the label of a volume from its acceptance until it is in progress (pkg/exposer/vgdp_counter.go,
// since 1.17).
const exposingLabel = "velero.io/expose-on-going"

// VolumeFromPodVolumeBackup reads a PodVolumeBackup. Its node is in the spec (docs/dev/velero.md#labels).
func VolumeFromPodVolumeBackup(o *veleroapi.PodVolumeBackup) Volume {
	v := newVolume(
		velero.PodVolumeBackup,
		o,
		o.Status.StartTimestamp,
		o.Status.CompletionTimestamp,
		o.Status.AcceptedTimestamp,
		o.Status.Progress,
	)
	v.Phase, v.Message, v.CancelRequested = string(o.Status.Phase), o.Status.Message, o.Spec.Cancel
	v.setPod(&o.Spec.Pod, o.Spec.Volume, o.Spec.UploaderType)
	v.Node, v.Claim = o.Spec.Node, o.Annotations[pvcNameAnnotation]
	v.SnapshotHandle, v.IncrementalBytes = o.Status.SnapshotID, max(0, o.Status.IncrementalBytes)
	return v
}

// VolumeFromPodVolumeRestore reads a PodVolumeRestore. Until the uploader gives a total, it uses the snapshot's size
// (Velero 1.18).
func VolumeFromPodVolumeRestore(o *veleroapi.PodVolumeRestore) Volume {
	v := newVolume(
		velero.PodVolumeRestore,
		o,
		o.Status.StartTimestamp,
		o.Status.CompletionTimestamp,
		o.Status.AcceptedTimestamp,
		o.Status.Progress,
	)
	v.Phase, v.Message, v.CancelRequested = string(o.Status.Phase), o.Status.Message, o.Spec.Cancel
	v.setPod(&o.Spec.Pod, o.Spec.Volume, o.Spec.UploaderType)
	v.Node, v.SnapshotHandle = o.Status.Node, o.Spec.SnapshotID
	v.Total = cmp.Or(v.Total, max(0, o.Spec.SnapshotSize))
	return v
}

func VolumeFromDataUpload(o *veleroapi.DataUpload) Volume {
	v := newVolume(
		velero.DataUpload,
		o,
		o.Status.StartTimestamp,
		o.Status.CompletionTimestamp,
		o.Status.AcceptedTimestamp,
		o.Status.Progress,
	)
	v.Phase, v.Message, v.CancelRequested = string(o.Status.Phase), o.Status.Message, o.Spec.Cancel
	v.setClaim(o.Spec.SourceNamespace, o.Spec.SourcePVC, o.Spec.DataMover)
	v.Node, v.AcceptedBy, v.OperationTimeout = o.Status.Node, o.Status.AcceptedByNode, o.Spec.OperationTimeout.Duration
	v.SnapshotHandle, v.IncrementalBytes = o.Status.SnapshotID, max(0, o.Status.IncrementalBytes)
	return v
}

// VolumeFromDataDownload reads a DataDownload. Until the uploader gives a total, it uses the snapshot's size (Velero
// 1.18).
func VolumeFromDataDownload(o *veleroapi.DataDownload) Volume {
	v := newVolume(
		velero.DataDownload,
		o,
		o.Status.StartTimestamp,
		o.Status.CompletionTimestamp,
		o.Status.AcceptedTimestamp,
		o.Status.Progress,
	)
	v.Phase, v.Message, v.CancelRequested = string(o.Status.Phase), o.Status.Message, o.Spec.Cancel
	v.setClaim(o.Spec.TargetVolume.Namespace, o.Spec.TargetVolume.PVC, o.Spec.DataMover)
	v.Node, v.AcceptedBy, v.OperationTimeout = o.Status.Node, o.Status.AcceptedByNode, o.Spec.OperationTimeout.Duration
	v.SnapshotHandle = o.Spec.SnapshotID
	v.Total = cmp.Or(v.Total, max(0, o.Spec.SnapshotSize))
	return v
}

func (v *Volume) setPod(pod *corev1.ObjectReference, volume, uploader string) {
	v.Namespace, v.Pod, v.PodVolume, v.Uploader = pod.Namespace, pod.Name, volume, uploader
	v.Target = pod.Namespace + "/" + pod.Name + ":" + volume
}

func (v *Volume) setClaim(namespace, claim, mover string) {
	v.Namespace, v.Claim, v.DataMover = namespace, claim, mover
	v.Target = namespace + "/" + claim
}

func newVolume(
	kind velero.VolumeKind,
	o metav1.Object,
	started, completed, accepted *metav1.Time,
	progress veleroapi.DataMoveOperationProgress,
) Volume {
	v := Volume{
		Kind:        kind,
		Name:        o.GetName(),
		UID:         o.GetUID(),
		OperationID: o.GetLabels()[veleroapi.AsyncOperationIDLabel],
		Created:     o.GetCreationTimestamp().Time,
		Accepted:    TimeOrZero(accepted),
		Started:     TimeOrZero(started),
		Completed:   TimeOrZero(completed),
		Done:        max(0, progress.BytesDone),
		Total:       max(0, progress.TotalBytes),
	}
	v.HasExposingLabel = o.GetLabels()[exposingLabel] == "true"
	v.LastAgentWrite = LastWrittenBy(
		o,
		func(m *metav1.ManagedFieldsEntry) bool { return m.Manager == velero.AgentManager },
	)
	if name := o.GetLabels()[veleroapi.BackupNameLabel]; name != "" {
		v.JobRef = "backup/" + name
	}
	if name := o.GetLabels()[veleroapi.RestoreNameLabel]; name != "" {
		v.JobRef = "restore/" + name
	}
	v.LastChanged = LatestTime(LastWritten(o), v.Accepted, v.Started, v.Completed)
	return v
}

// HasEnded reports whether no more of the volume will be moved.
func (v *Volume) HasEnded() bool { return v.Phase == velero.VolumeCompleted || v.HasFailed() }

// HasFailed reports whether the volume ended without all of its data.
func (v *Volume) HasFailed() bool {
	return v.Phase == velero.VolumeFailed || v.Phase == velero.VolumeCanceled
}

// IsWaiting reports whether the volume is queued for a slot or being prepared.
func (v *Volume) IsWaiting() bool {
	return slices.Contains([]string{"", velero.VolumeNew, velero.VolumeAccepted, velero.VolumePrepared}, v.Phase)
}

func (v *Volume) QuietDuration(now time.Time) time.Duration { return max(0, now.Sub(v.LastChanged)) }

// DisplayName returns the claim as namespace/name, or Target for a volume whose claim is unknown.
func (v *Volume) DisplayName() string {
	if v.Claim == "" {
		return v.Target
	}
	return v.Namespace + "/" + v.Claim
}

func (v *Volume) Ref() velero.VolumeRef { return velero.VolumeRef{Kind: v.Kind, Name: v.Name} }

// IsBuiltIn reports whether Velero's node-agents move the volume (pkg/datamover/util.go IsBuiltInUploader; main adds
// velero-fs and velero-block).
func (v *Volume) IsBuiltIn() bool {
	return slices.Contains([]string{"", "velero", "velero-fs", "velero-block"}, v.DataMover)
}
