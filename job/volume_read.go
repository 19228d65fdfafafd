package job

import (
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/velero"
)

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
