package assess

import (
	"cmp"
	"slices"
	"strings"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/stored/artifact"
	"github.com/veltui/veltui/velero"
)

// VolumeRecord is all that is known of one volume of a job: the resource that
// moves its data, what the stored volume info says of it, or both.
type VolumeRecord struct {
	// Moved is nil if no resource in the cluster moves the volume's data.
	Moved *Volume
	// Info is nil if volume info does not have the volume, or is not known.
	Info *artifact.Volume
}

// VolumeState is how a volume stands.
type VolumeState string

// The states of a volume. That of a snapshot which nothing says the result of is
// VolumeUnsaid: Velero stores none for restores.
const (
	VolumeOpen    VolumeState = "Open"
	VolumeFailed  VolumeState = "Failed"
	VolumeDone    VolumeState = "Done"
	VolumeSkipped VolumeState = "Skipped"
	VolumeUnsaid  VolumeState = ""
)

// JoinVolumes joins a job's volumes with its volume info, each with one at most:
// by the item operation, by the pod's volume, by the snapshot's handle, and at
// last by the claim. The volume that holds the job up comes first, then others
// that have not ended, those that failed, all others, and the skipped ones.
func JoinVolumes(volumes []Volume, infos []artifact.Volume) []VolumeRecord {
	records := make([]VolumeRecord, len(volumes), len(volumes)+len(infos))
	for i := range volumes {
		records[i].Moved = &volumes[i]
	}
	joined := make([]bool, len(infos))
	for _, same := range []struct {
		resource func(*Volume) string
		info     func(*artifact.Volume) string
	}{
		{func(v *Volume) string { return v.Operation }, func(i *artifact.Volume) string { return i.Operation }},
		{func(v *Volume) string { return podVolume(v.Namespace, v.Pod, v.PodVolume) },
			func(i *artifact.Volume) string { return podVolume(i.PodNamespace, i.Pod, i.PodVolume) }},
		{func(v *Volume) string { return v.Handle }, func(i *artifact.Volume) string { return i.Handle }},
		{func(v *Volume) string { return claimOf(v.Kind.IsPodVolume(), v.Namespace, v.Claim) },
			func(i *artifact.Volume) string { return claimOf(!i.DataMoved, i.Namespace, i.Claim) }},
	} {
		open := map[string]int{}
		for i := range records {
			if r := &records[i]; r.Info == nil {
				if key := same.resource(r.Moved); key != "" {
					open[key] = i
				}
			}
		}
		for i := range infos {
			if joined[i] || !carried(&infos[i]) {
				continue
			}
			if at, ok := open[same.info(&infos[i])]; ok {
				records[at].Info, joined[i] = &infos[i], true
				delete(open, same.info(&infos[i]))
			}
		}
	}
	for i := range infos {
		if !joined[i] {
			records = append(records, VolumeRecord{Info: &infos[i]})
		}
	}
	slices.SortStableFunc(records, func(a, b VolumeRecord) int { return compareRecords(&a, &b) })
	return records
}

// carried reports whether a resource stands, or stood, for what the info says.
func carried(i *artifact.Volume) bool {
	return !i.Skipped && (i.DataMoved || i.Method == methodPodBackup || i.Method == methodPodRestore)
}

// The ways in which Velero saves and restores volumes
// (internal/volume/volumes_information.go Method).
const (
	methodCSI        = "CSISnapshot"
	methodNative     = "NativeSnapshot"
	methodPodBackup  = "PodVolumeBackup"
	methodPodRestore = "PodVolumeRestore"
)

func podVolume(namespace, pod, volume string) string {
	if pod == "" {
		return ""
	}
	return namespace + "/" + pod + ":" + volume
}

func claimOf(ofPod bool, namespace, claim string) string {
	switch {
	case claim == "":
		return ""
	case ofPod:
		return "pod volume " + namespace + "/" + claim
	}
	return namespace + "/" + claim
}

func compareRecords(a, b *VolumeRecord) int {
	order := map[VolumeState]int{VolumeOpen: 0, VolumeFailed: 1, VolumeUnsaid: 2, VolumeDone: 2, VolumeSkipped: 3}
	if c := cmp.Compare(order[a.State()], order[b.State()]); c != 0 {
		return c
	}
	if a.State() == VolumeOpen && a.Moved != nil && b.Moved != nil {
		return compareOpen(b.Moved, a.Moved)
	}
	return cmp.Or(cmp.Compare(a.Name(), b.Name()), cmp.Compare(a.Pod(), b.Pod()))
}

// State is how the volume stands. What the resource in the cluster says counts:
// volume info is as old as its file.
func (r *VolumeRecord) State() VolumeState {
	if v := r.Moved; v != nil {
		switch {
		case v.Failed():
			return VolumeFailed
		case v.Ended():
			return VolumeDone
		}
		return VolumeOpen
	}
	switch i := r.Info; {
	case i.Skipped:
		return VolumeSkipped
	case i.Result == "succeeded", i.Result == "" && i.Phase == velero.VolumeCompleted:
		return VolumeDone
	case i.Result != "", i.Phase == velero.VolumeFailed, i.Phase == velero.VolumeCanceled:
		return VolumeFailed
	}
	return VolumeUnsaid
}

// Claim is the volume's claim as namespace/name, empty if it is not known.
func (r *VolumeRecord) Claim() string {
	if r.Info != nil && r.Info.Claim != "" {
		return r.Info.Namespace + "/" + r.Info.Claim
	}
	if r.Moved != nil && r.Moved.Claim != "" {
		return r.Moved.Namespace + "/" + r.Moved.Claim
	}
	return ""
}

// Pod is the pod whose volume was read or written, and the name that the pod
// gives it, as namespace/pod:volume; empty for all but pod volumes.
func (r *VolumeRecord) Pod() string {
	if r.Moved != nil {
		return podVolume(r.Moved.Namespace, r.Moved.Pod, r.Moved.PodVolume)
	}
	return podVolume(r.Info.PodNamespace, r.Info.Pod, r.Info.PodVolume)
}

// Name is what a person calls the volume: its claim, else the pod's volume, else
// the PersistentVolume.
func (r *VolumeRecord) Name() string {
	name := cmp.Or(r.Claim(), r.Pod())
	switch {
	case name != "":
		return name
	case r.Moved != nil:
		return r.Moved.Target
	}
	return r.Info.PersistentVolume
}

// Node is where the data was or is moved, empty if it is not known.
func (r *VolumeRecord) Node() string {
	var node string
	if r.Moved != nil {
		node = r.Moved.Node
	}
	if node == "" && r.Info != nil {
		node = r.Info.Node
	}
	return node
}

// Bytes are how many were moved, of how many. Of a snapshot that is not moved,
// done is 0 and total its size; total is 0 if it is not known.
func (r *VolumeRecord) Bytes() (done, total int64) {
	if r.Moved != nil && (r.Moved.Total > 0 || r.Info == nil) {
		return r.Moved.Done, r.Moved.Total
	}
	i := r.Info
	if r.State() == VolumeDone && carried(i) {
		return i.Size, i.Size
	}
	return 0, i.Size
}

// Incremental is how many bytes were new since the last backup, 0 if not known.
func (r *VolumeRecord) Incremental() int64 {
	if r.Moved != nil && r.Moved.Incremental > 0 {
		return r.Moved.Incremental
	}
	if r.Info != nil {
		return r.Info.Incremental
	}
	return 0
}

// Handle is that of the snapshot with the data: the repository's for moved data,
// else the storage system's; empty if it is not known.
func (r *VolumeRecord) Handle() string {
	switch i := r.Info; {
	case r.Moved != nil && r.Moved.Handle != "":
		return r.Moved.Handle
	case i == nil, i.DataMoved && i.Handle == i.LocalHandle: // its data is not moved yet
		return ""
	default:
		return i.Handle
	}
}

// Operation is the id of the item operation that waits for the volume, empty if
// there is none.
func (r *VolumeRecord) Operation() string {
	if r.Moved != nil && r.Moved.Operation != "" {
		return r.Moved.Operation
	}
	if r.Info != nil {
		return r.Info.Operation
	}
	return ""
}

// SkippedReason is why a backup skipped the volume, in Velero's words.
func (r *VolumeRecord) SkippedReason() string {
	if r.Info == nil || !r.Info.Skipped {
		return ""
	}
	reasons := strings.FieldsFunc(r.Info.SkippedReason, func(c rune) bool { return c == ';' }) // one of each way to save it
	for i := range reasons {
		reasons[i] = strings.TrimSpace(reasons[i])
	}
	return strings.Join(slices.DeleteFunc(reasons, func(reason string) bool { return reason == "" }), "; ")
}

// How says how the volume was saved, or what it was restored from; empty for one
// that was skipped.
func (r *VolumeRecord) How() string {
	method, uploader, mover, restored := "", "", "", false
	if i := r.Info; i != nil {
		method, uploader, mover = i.Method, i.Uploader, i.DataMover
		if i.Method == methodCSI && i.DataMoved {
			method = string(velero.DataUpload)
		}
		if i.Skipped {
			return ""
		}
	}
	if v := r.Moved; v != nil {
		method, uploader, mover = string(v.Kind), cmp.Or(v.Uploader, uploader), cmp.Or(v.DataMover, mover)
		restored = v.Kind == velero.PodVolumeRestore || v.Kind == velero.DataDownload
	}
	switch method {
	case methodPodBackup, methodPodRestore:
		if uploader == "" {
			return "fs-backup"
		}
		return "fs-backup, " + uploader
	case string(velero.DataUpload), string(velero.DataDownload):
		by := "data mover"
		if mover != "" && mover != "velero" {
			by += " " + mover
		}
		if restored {
			return by
		}
		return "CSI snapshot, " + by
	case methodCSI:
		return "CSI snapshot"
	case methodNative:
		return "native snapshot"
	}
	return method
}

// ListsStored reports whether Velero stores the job's volume info and its item
// operations by now: it does when all items are backed up or restored
// (pkg/controller/backup_controller.go persistBackup, restore_controller.go
// runValidatedRestore), and completes them while operations go on and when it
// finalizes a backup. Of a job that is troubled they may be there before its counts
// say so: where Velero could not write the phase, it could not write them either.
func (j Judged) ListsStored() bool {
	switch j.Stage {
	case job.StageQueued:
		return false
	case job.StageItems, job.StageVolumes:
		return j.Troubled()
	}
	return j.Phase != velero.PhaseFailedValidation
}
