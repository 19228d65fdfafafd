package job

import (
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/velero"
	"github.com/veltui/veltui/velero/decode"
)

// Volume is one volume of a job whose data is being moved.
type Volume struct {
	Kind  velero.VolumeKind
	Name  string
	UID   types.UID
	Phase string
	// Owner is the job that it is moved for, as "backup/NAME" or "restore/NAME",
	// empty if its labels do not name one. Velero cuts a name over 63 characters
	// (pkg/label/label.go GetValidName).
	Owner string
	// Target says what is moved, in the reader's words: namespace/pod:volume
	// or namespace/pvc.
	Target string
	Node   string
	// Namespace and Claim are those of the PVC, Claim empty for a pod's volume
	// without one and for PodVolumeRestores, which do not say.
	Namespace, Claim string
	// Pod and PodVolume are the pod's, and its volume's name, for pod volumes.
	Pod, PodVolume string
	// Uploader is spec.uploaderType of pod volumes: kopia or restic.
	Uploader string
	// Handle is the snapshot's in the backup repository, empty until it is made.
	Handle string
	// Operation is the item operation that waits for it, by the label
	// velero.io/async-operation-id; empty for pod volumes.
	Operation string
	// Incremental is how many of the bytes were new, 0 if not said (Velero 1.18).
	Incremental int64
	// Done and Total are bytes as the uploader counts them (processed, not
	// sent); Total is 0 until it is known and may grow (docs/dev/velero.md#byte-progress).
	Done  int64
	Total int64

	Created time.Time
	// Accepted is when a node agent took it up; zero before, and for versions
	// of Velero that do not say.
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
	// Malformed is the first field whose value Velero's type cannot hold; the
	// zero value stands for none.
	Malformed decode.Malformed
}

// Fraction is how much of the volume is moved, from 0 to 1, and 1 only once it
// completed. known is false while its size is not.
func (v *Volume) Fraction() (fraction float64, known bool) {
	switch {
	case v.Phase == velero.VolumeCompleted:
		return 1, true
	case v.Total <= 0:
		return 0, false
	}
	return min(float64(max(0, v.Done))/float64(v.Total), almost), true
}

// sampleVolumes notes the bytes of each volume in progress. Samples of a volume
// that is no longer in progress are dropped.
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
		s := before[v.Ref()]
		switch last := s.last(); {
		case last == nil:
		case at.Before(last.at) || v.Done < last.done:
			s = samples{unit: UnitBytes}
		case v.Done == last.done && v.Total == last.total:
			now[v.Ref()] = s
			continue
		}
		now[v.Ref()] = s.add(at, v.Done, v.Total)
	}
	return now
}

// fastest is a speed in bytes a second that no volume has: numbers that say so
// are wrong.
const fastest = 1 << 40

// VolumeRate is the speed of one of the job's volumes in bytes a second: over a
// sliding window, or, where this process has not seen it long enough, on average
// from its start to its last change. ok is false without enough evidence.
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

// VolumeETA is how long one of the job's volumes still takes, at least a second.
// The total may still grow while the uploader counts, and then so does the time.
func (j *Job) VolumeETA(v *Volume, now time.Time) (left time.Duration, ok bool) {
	rate, ok := j.VolumeRate(v, now)
	if !ok || rate <= 0 || v.Done >= v.Total {
		return 0, false
	}
	seconds := float64(v.Total-v.Done)/rate - max(0, v.Quiet(now).Seconds())
	if seconds > longestETA.Seconds() {
		return 0, false
	}
	return max(time.Second, time.Duration(seconds*float64(time.Second))), true
}

// pvcName is the annotation that names the claim of a PodVolumeBackup
// (pkg/podvolume/backupper.go, pkg/podvolume/configs).
const pvcName = "velero.io/pvc-name"

// VolumeFromPodVolumeBackup reads a PodVolumeBackup. Its node is in the spec
// (docs/dev/velero.md#labels).
func VolumeFromPodVolumeBackup(o *velerov1.PodVolumeBackup) Volume {
	v := volumeOf(velero.PodVolumeBackup, o, o.Status.StartTimestamp, o.Status.CompletionTimestamp, o.Status.AcceptedTimestamp)
	v.Phase = string(o.Status.Phase)
	v.Target = o.Spec.Pod.Namespace + "/" + o.Spec.Pod.Name + ":" + o.Spec.Volume
	v.Node = o.Spec.Node
	v.Namespace, v.Claim = o.Spec.Pod.Namespace, o.Annotations[pvcName]
	v.Pod, v.PodVolume, v.Uploader = o.Spec.Pod.Name, o.Spec.Volume, o.Spec.UploaderType
	v.Handle, v.Incremental = o.Status.SnapshotID, max(0, o.Status.IncrementalBytes)
	v.Done, v.Total = max(0, o.Status.Progress.BytesDone), max(0, o.Status.Progress.TotalBytes)
	v.Message, v.CancelAsked = o.Status.Message, o.Spec.Cancel
	return v
}

// VolumeFromPodVolumeRestore reads a PodVolumeRestore. Before the uploader
// tells a total, the size of the snapshot stands in for it (Velero 1.18).
func VolumeFromPodVolumeRestore(o *velerov1.PodVolumeRestore) Volume {
	v := volumeOf(velero.PodVolumeRestore, o, o.Status.StartTimestamp, o.Status.CompletionTimestamp, o.Status.AcceptedTimestamp)
	v.Phase = string(o.Status.Phase)
	v.Target = o.Spec.Pod.Namespace + "/" + o.Spec.Pod.Name + ":" + o.Spec.Volume
	v.Node = o.Status.Node
	v.Namespace, v.Pod, v.PodVolume, v.Uploader = o.Spec.Pod.Namespace, o.Spec.Pod.Name, o.Spec.Volume, o.Spec.UploaderType
	v.Handle = o.Spec.SnapshotID
	v.Done, v.Total = max(0, o.Status.Progress.BytesDone), orSize(o.Status.Progress.TotalBytes, o.Spec.SnapshotSize)
	v.Message, v.CancelAsked = o.Status.Message, o.Spec.Cancel
	return v
}

// VolumeFromDataUpload reads a DataUpload.
func VolumeFromDataUpload(o *velerov2alpha1.DataUpload) Volume {
	v := volumeOf(velero.DataUpload, o, o.Status.StartTimestamp, o.Status.CompletionTimestamp, o.Status.AcceptedTimestamp)
	v.Phase = string(o.Status.Phase)
	v.Target = o.Spec.SourceNamespace + "/" + o.Spec.SourcePVC
	v.Namespace, v.Claim = o.Spec.SourceNamespace, o.Spec.SourcePVC
	v.Handle, v.Incremental = o.Status.SnapshotID, max(0, o.Status.IncrementalBytes)
	v.Node = orNode(o.Status.Node, o.Status.AcceptedByNode)
	v.Done, v.Total = max(0, o.Status.Progress.BytesDone), max(0, o.Status.Progress.TotalBytes)
	v.Message, v.CancelAsked, v.DataMover = o.Status.Message, o.Spec.Cancel, o.Spec.DataMover
	return v
}

// VolumeFromDataDownload reads a DataDownload. Before the uploader tells a
// total, the size of the snapshot stands in for it (Velero 1.18).
func VolumeFromDataDownload(o *velerov2alpha1.DataDownload) Volume {
	v := volumeOf(velero.DataDownload, o, o.Status.StartTimestamp, o.Status.CompletionTimestamp, o.Status.AcceptedTimestamp)
	v.Phase = string(o.Status.Phase)
	v.Target = o.Spec.TargetVolume.Namespace + "/" + o.Spec.TargetVolume.PVC
	v.Namespace, v.Claim, v.Handle = o.Spec.TargetVolume.Namespace, o.Spec.TargetVolume.PVC, o.Spec.SnapshotID
	v.Node = orNode(o.Status.Node, o.Status.AcceptedByNode)
	v.Done, v.Total = max(0, o.Status.Progress.BytesDone), orSize(o.Status.Progress.TotalBytes, o.Spec.SnapshotSize)
	v.Message, v.CancelAsked, v.DataMover = o.Status.Message, o.Spec.Cancel, o.Spec.DataMover
	return v
}

func volumeOf(kind velero.VolumeKind, o metav1.Object, started, completed, accepted *metav1.Time) Volume {
	v := Volume{
		Kind:      kind,
		Name:      o.GetName(),
		UID:       o.GetUID(),
		Created:   o.GetCreationTimestamp().Time,
		Accepted:  timeOf(accepted),
		Operation: o.GetLabels()[velerov1.AsyncOperationIDLabel],
		Started:   timeOf(started),
		Completed: timeOf(completed),
	}
	if name := o.GetLabels()[velerov1.BackupNameLabel]; name != "" {
		v.Owner = "backup/" + name
	}
	if name := o.GetLabels()[velerov1.RestoreNameLabel]; name != "" {
		v.Owner = "restore/" + name
	}
	v.Changed = Latest(newestManaged(o), v.Created, v.Accepted, v.Started, v.Completed)
	return v
}

func orSize(total, snapshot int64) int64 {
	if total > 0 {
		return total
	}
	return max(0, snapshot)
}

func orNode(node, accepted string) string {
	if node != "" {
		return node
	}
	return accepted
}

// Ended reports whether nothing more of the volume will be moved.
func (v *Volume) Ended() bool {
	return v.Phase == velero.VolumeCompleted || v.Failed()
}

// Failed reports whether the volume ended without all of its data.
func (v *Volume) Failed() bool {
	return v.Phase == velero.VolumeFailed || v.Phase == velero.VolumeCanceled
}

// Waiting reports whether no bytes of the volume are moved yet: it is queued for
// a slot or being prepared.
func (v *Volume) Waiting() bool {
	switch v.Phase {
	case "", velero.VolumeNew, velero.VolumeAccepted, velero.VolumePrepared:
		return true
	}
	return false
}

// Quiet is how long the volume has not changed.
func (v *Volume) Quiet(now time.Time) time.Duration { return max(0, now.Sub(v.Changed)) }

// Ref names the volume's resource.
func (v *Volume) Ref() velero.VolumeRef { return velero.VolumeRef{Kind: v.Kind, Name: v.Name} }

// BuiltIn reports whether Velero's own node-agents move the volume
// (pkg/datamover/util.go IsBuiltInUploader; velero-io main adds velero-fs and
// velero-block). Any other data mover has rules of its own.
func (v *Volume) BuiltIn() bool {
	switch v.DataMover {
	case "", "velero", "velero-fs", "velero-block":
		return true
	}
	return false
}
