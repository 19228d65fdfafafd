package job

import (
	"cmp"
	"slices"
	"time"

	"github.com/vmware-tanzu/velero/pkg/apis/velero/shared"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
)

// Volume is one volume of a job whose data is being moved.
type Volume struct {
	Kind  velero.VolumeKind
	Name  string
	UID   types.UID
	Phase string
	// Owner is backup/NAME or restore/NAME by the label, which cuts a name over 63 characters
	// (pkg/label/label.go GetValidName).
	Owner string
	// Target says what is moved: namespace/pod:volume or namespace/pvc.
	Target string
	// Node is that of the node-agent that moves it, empty before it is known (status.node; spec.node of a
	// PodVolumeBackup). AcceptedBy is status.acceptedByNode, which Velero writes and never reads.
	Node, AcceptedBy string
	// OperationTimeout is spec.operationTimeout, zero for pod volumes.
	OperationTimeout time.Duration
	// Exposing is true if it carries the label that Velero's queue of preparing volumes counts (since 1.17).
	Exposing bool
	// AgentWrote is when a node-agent last wrote to it, zero if none did.
	AgentWrote time.Time
	// Namespace and Claim are those of the PVC; Claim is empty for PodVolumeRestores, which do not say.
	Namespace, Claim string
	// Pod and PodVolume are the pod's, and its volume's name, for pod volumes.
	Pod, PodVolume string
	// Uploader is spec.uploaderType of pod volumes: kopia or restic.
	Uploader string
	// Handle is the snapshot's in the backup repository, empty until it is made.
	Handle string
	// Operation is the item operation that waits for it (label velero.io/async-operation-id), if any.
	Operation string
	// Incremental is how many of the bytes were new, 0 if not said (Velero 1.18).
	Incremental int64
	// Done and Total are bytes; Total is 0 until it is known and may grow (docs/dev/velero.md#byte-progress).
	Done  int64
	Total int64

	Created time.Time
	// Accepted is when a node-agent took it up; zero before, and in older versions.
	Accepted  time.Time
	Started   time.Time
	Completed time.Time
	// Changed is when the resource last changed, in the cluster's clock.
	Changed time.Time
	Message string
	// CancelAsked is true if spec.cancel is set.
	CancelAsked bool
	// DataMover is spec.datamover; empty for Velero's own and for pod volumes.
	DataMover string
	// Malformed is the first field whose value Velero's type cannot hold, zero for none.
	Malformed decode.Malformed
}

// Fraction is how much of the volume is moved, and 1 only once it completed. known is false without a size.
func (v *Volume) Fraction() (fraction float64, known bool) {
	switch {
	case v.Phase == velero.VolumeCompleted:
		return 1, true
	case v.Total <= 0:
		return 0, false
	}
	return min(float64(max(0, v.Done))/float64(v.Total), almost), true
}

// sampleVolumes notes the bytes of each volume in progress, and drops the samples of others.
func sampleVolumes(before map[velero.VolumeRef]samples, volumes []Volume, at time.Time) map[velero.VolumeRef]samples {
	var now map[velero.VolumeRef]samples
	for i := range volumes {
		v := &volumes[i]
		if v.Phase != velero.VolumeInProgress {
			continue
		}
		if now == nil {
			now = map[velero.VolumeRef]samples{}
		}
		now[v.Ref()] = before[v.Ref()].note(at, v.Done, v.Total)
	}
	return now
}

// fastest is a speed in bytes a second that no volume has.
const fastest = 1 << 40

// VolumeRate is bytes a second over a sliding window, or from start to last change. ok is false without
// enough evidence.
func (j *Job) VolumeRate(v *Volume, now time.Time) (perSecond float64, ok bool) {
	if v.Phase != velero.VolumeInProgress || v.CancelAsked {
		return 0, false
	}
	if rate, ok := j.track.volumes[v.Ref()].rate(&bytePace, now); ok {
		return rate, rate < fastest
	}
	span := v.Changed.Sub(v.Started)
	if v.Started.IsZero() || span < bytePace.span || v.Done < bytePace.amount || v.Quiet(now) > bytePace.silent {
		return 0, false
	}
	perSecond = float64(v.Done) / span.Seconds()
	return perSecond, perSecond < fastest
}

// VolumeETA is how long a volume still takes, at least a second. It may grow as the uploader counts.
func (j *Job) VolumeETA(v *Volume, now time.Time) (left time.Duration, ok bool) {
	rate, ok := j.VolumeRate(v, now)
	if !ok || rate <= 0 || v.Done >= v.Total {
		return 0, false
	}
	return eta(v.Total-v.Done, rate, v.Quiet(now))
}

// pvcName is the annotation of a PodVolumeBackup's claim (pkg/podvolume/backupper.go, pkg/podvolume/configs).
const pvcName = "velero.io/pvc-name"

// exposingLabel is on a volume from when it is accepted until it is in progress (pkg/exposer/vgdp_counter.go,
// since 1.17).
const exposingLabel = "velero.io/expose-on-going"

// VolumeFromPodVolumeBackup reads a PodVolumeBackup. Its node is in the spec (docs/dev/velero.md#labels).
func VolumeFromPodVolumeBackup(o *velerov1.PodVolumeBackup) Volume {
	v := volumeOf(
		velero.PodVolumeBackup,
		o,
		o.Status.StartTimestamp,
		o.Status.CompletionTimestamp,
		o.Status.AcceptedTimestamp,
		o.Status.Progress,
	)
	v.Phase, v.Message, v.CancelAsked = string(o.Status.Phase), o.Status.Message, o.Spec.Cancel
	v.setPod(&o.Spec.Pod, o.Spec.Volume, o.Spec.UploaderType)
	v.Node, v.Claim = o.Spec.Node, o.Annotations[pvcName]
	v.Handle, v.Incremental = o.Status.SnapshotID, max(0, o.Status.IncrementalBytes)
	return v
}

// VolumeFromPodVolumeRestore takes the size of the snapshot until the uploader tells a total (Velero 1.18).
func VolumeFromPodVolumeRestore(o *velerov1.PodVolumeRestore) Volume {
	v := volumeOf(
		velero.PodVolumeRestore,
		o,
		o.Status.StartTimestamp,
		o.Status.CompletionTimestamp,
		o.Status.AcceptedTimestamp,
		o.Status.Progress,
	)
	v.Phase, v.Message, v.CancelAsked = string(o.Status.Phase), o.Status.Message, o.Spec.Cancel
	v.setPod(&o.Spec.Pod, o.Spec.Volume, o.Spec.UploaderType)
	v.Node, v.Handle = o.Status.Node, o.Spec.SnapshotID
	v.Total = cmp.Or(v.Total, max(0, o.Spec.SnapshotSize))
	return v
}

func VolumeFromDataUpload(o *velerov2alpha1.DataUpload) Volume {
	v := volumeOf(
		velero.DataUpload,
		o,
		o.Status.StartTimestamp,
		o.Status.CompletionTimestamp,
		o.Status.AcceptedTimestamp,
		o.Status.Progress,
	)
	v.Phase, v.Message, v.CancelAsked = string(o.Status.Phase), o.Status.Message, o.Spec.Cancel
	v.setClaim(o.Spec.SourceNamespace, o.Spec.SourcePVC, o.Spec.DataMover)
	v.Node, v.AcceptedBy, v.OperationTimeout = o.Status.Node, o.Status.AcceptedByNode, o.Spec.OperationTimeout.Duration
	v.Handle, v.Incremental = o.Status.SnapshotID, max(0, o.Status.IncrementalBytes)
	return v
}

// VolumeFromDataDownload takes the size of the snapshot until the uploader tells a total (Velero 1.18).
func VolumeFromDataDownload(o *velerov2alpha1.DataDownload) Volume {
	v := volumeOf(
		velero.DataDownload,
		o,
		o.Status.StartTimestamp,
		o.Status.CompletionTimestamp,
		o.Status.AcceptedTimestamp,
		o.Status.Progress,
	)
	v.Phase, v.Message, v.CancelAsked = string(o.Status.Phase), o.Status.Message, o.Spec.Cancel
	v.setClaim(o.Spec.TargetVolume.Namespace, o.Spec.TargetVolume.PVC, o.Spec.DataMover)
	v.Node, v.AcceptedBy, v.OperationTimeout = o.Status.Node, o.Status.AcceptedByNode, o.Spec.OperationTimeout.Duration
	v.Handle = o.Spec.SnapshotID
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

func volumeOf(
	kind velero.VolumeKind,
	o metav1.Object,
	started, completed, accepted *metav1.Time,
	progress shared.DataMoveOperationProgress,
) Volume {
	v := Volume{
		Kind:      kind,
		Name:      o.GetName(),
		UID:       o.GetUID(),
		Operation: o.GetLabels()[velerov1.AsyncOperationIDLabel],
		Created:   o.GetCreationTimestamp().Time,
		Accepted:  TimeOf(accepted),
		Started:   TimeOf(started),
		Completed: TimeOf(completed),
		Done:      max(0, progress.BytesDone),
		Total:     max(0, progress.TotalBytes),
	}
	v.Exposing = o.GetLabels()[exposingLabel] == "true"
	v.AgentWrote = WrittenBy(o, func(m *metav1.ManagedFieldsEntry) bool { return m.Manager == velero.AgentManager })
	if name := o.GetLabels()[velerov1.BackupNameLabel]; name != "" {
		v.Owner = "backup/" + name
	}
	if name := o.GetLabels()[velerov1.RestoreNameLabel]; name != "" {
		v.Owner = "restore/" + name
	}
	v.Changed = Latest(LastWritten(o), v.Accepted, v.Started, v.Completed)
	return v
}

// Ended reports whether nothing more of the volume will be moved.
func (v *Volume) Ended() bool { return v.Phase == velero.VolumeCompleted || v.Failed() }

// Failed reports whether the volume ended without all of its data.
func (v *Volume) Failed() bool {
	return v.Phase == velero.VolumeFailed || v.Phase == velero.VolumeCanceled
}

// Waiting reports whether the volume is queued for a slot or being prepared.
func (v *Volume) Waiting() bool {
	return slices.Contains([]string{"", velero.VolumeNew, velero.VolumeAccepted, velero.VolumePrepared}, v.Phase)
}

func (v *Volume) Quiet(now time.Time) time.Duration { return max(0, now.Sub(v.Changed)) }

func (v *Volume) Ref() velero.VolumeRef { return velero.VolumeRef{Kind: v.Kind, Name: v.Name} }

// BuiltIn: Velero's node-agents move it (pkg/datamover/util.go IsBuiltInUploader; main adds velero-fs and
// velero-block).
func (v *Volume) BuiltIn() bool {
	return slices.Contains([]string{"", "velero", "velero-fs", "velero-block"}, v.DataMover)
}
