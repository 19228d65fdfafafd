package assess

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
)

// VolumeRecord is a volume of a job, by the resource that moves its data and by the stored volume info.
type VolumeRecord struct {
	// Volume is nil if no resource in the cluster moves the volume's data.
	Volume *JudgedVolume
	// Info is nil if the volume info does not have the volume, or is unknown.
	Info *artifact.VolumeInfo
}

type VolumeState string

// VolumeUnreported is the state of a snapshot whose result is not reported: Velero stores none for restores.
const (
	VolumeOpen       VolumeState = "Open"
	VolumeFailed     VolumeState = "Failed"
	VolumeDone       VolumeState = "Done"
	VolumeSkipped    VolumeState = "Skipped"
	VolumeUnreported VolumeState = ""
)

// JoinVolumes joins volumes with volume info, by operation, pod volume, snapshot handle, claim. The volume that holds
// the job up comes first, then open, failed, other and skipped ones.
func JoinVolumes(volumes []JudgedVolume, infos []artifact.VolumeInfo) []VolumeRecord {
	records := make([]VolumeRecord, len(volumes), len(volumes)+len(infos))
	for i := range volumes {
		records[i].Volume = &volumes[i]
	}
	joined := make([]bool, len(infos))
	for _, same := range []struct {
		resource func(*JudgedVolume) string
		info     func(*artifact.VolumeInfo) string
	}{
		{func(v *JudgedVolume) string { return v.OperationID }, func(i *artifact.VolumeInfo) string { return i.Operation }},
		{func(v *JudgedVolume) string { return podVolumeKey(v.Namespace, v.Pod, v.PodVolume) },
			func(i *artifact.VolumeInfo) string { return podVolumeKey(i.PodNamespace, i.Pod, i.PodVolume) }},
		{
			func(v *JudgedVolume) string { return v.SnapshotHandle },
			func(i *artifact.VolumeInfo) string { return i.SnapshotHandle },
		},
		{func(v *JudgedVolume) string { return claimKey(v.Kind.IsPodVolume(), v.Namespace, v.Claim) },
			func(i *artifact.VolumeInfo) string { return claimKey(!i.DataMoved, i.Namespace, i.Claim) }},
	} {
		open := map[string]int{}
		for i := range records {
			if r := &records[i]; r.Info == nil {
				if key := same.resource(r.Volume); key != "" {
					open[key] = i
				}
			}
		}
		for i := range infos {
			if joined[i] || !hasResource(&infos[i]) {
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

// hasResource reports whether a resource represents, or represented, what the info says.
func hasResource(i *artifact.VolumeInfo) bool {
	return !i.Skipped &&
		(i.DataMoved || i.Method == artifact.MethodPodVolumeBackup || i.Method == artifact.MethodPodVolumeRestore)
}

func podVolumeKey(namespace, pod, volume string) string {
	if pod == "" {
		return ""
	}
	return namespace + "/" + pod + ":" + volume
}

func claimKey(ofPod bool, namespace, claim string) string {
	switch {
	case claim == "":
		return ""
	case ofPod:
		return "pod volume " + namespace + "/" + claim
	}
	return namespace + "/" + claim
}

func compareRecords(a, b *VolumeRecord) int {
	order := map[VolumeState]int{VolumeOpen: 0, VolumeFailed: 1, VolumeUnreported: 2, VolumeDone: 2, VolumeSkipped: 3}
	if c := cmp.Compare(order[a.State()], order[b.State()]); c != 0 {
		return c
	}
	if a.State() == VolumeOpen && a.Volume != nil && b.Volume != nil {
		return compareByBlocking(b.Volume, a.Volume)
	}
	return cmp.Or(cmp.Compare(a.Name(), b.Name()), cmp.Compare(a.Pod(), b.Pod()))
}

// State returns the state of the volume. The resource in the cluster decides: volume info is as old as its file.
func (r *VolumeRecord) State() VolumeState {
	if v := r.Volume; v != nil {
		switch {
		case v.HasFailed():
			return VolumeFailed
		case v.HasEnded():
			return VolumeDone
		}
		return VolumeOpen
	}
	switch r.Info.Outcome() {
	case artifact.VolumeSkipped:
		return VolumeSkipped
	case artifact.VolumeSaved:
		return VolumeDone
	case artifact.VolumeFailed:
		return VolumeFailed
	}
	return VolumeUnreported
}

// movedVolume and volumeInfo return what is known of the volume, else zero.
func (r *VolumeRecord) movedVolume() job.Volume {
	if r.Volume == nil {
		return job.Volume{}
	}
	return *r.Volume.Volume
}

func (r *VolumeRecord) volumeInfo() artifact.VolumeInfo {
	if r.Info == nil {
		return artifact.VolumeInfo{}
	}
	return *r.Info
}

func (r *VolumeRecord) Claim() string {
	m, i := r.movedVolume(), r.volumeInfo()
	return cmp.Or(claimKey(false, i.Namespace, i.Claim), claimKey(false, m.Namespace, m.Claim))
}

// Pod returns the pod and its volume, as namespace/pod:volume; empty for all but pod volumes.
func (r *VolumeRecord) Pod() string {
	if r.Volume != nil {
		return podVolumeKey(r.Volume.Namespace, r.Volume.Pod, r.Volume.PodVolume)
	}
	return podVolumeKey(r.Info.PodNamespace, r.Info.Pod, r.Info.PodVolume)
}

func (r *VolumeRecord) Name() string {
	return cmp.Or(r.Claim(), r.Pod(), r.movedVolume().Target, r.volumeInfo().PersistentVolume)
}

func (r *VolumeRecord) Node() string { return cmp.Or(r.movedVolume().Node, r.volumeInfo().Node) }

// MovedBytes returns how many bytes were moved, 0 for a snapshot that is not, and the total, 0 if unknown.
func (r *VolumeRecord) MovedBytes() (done, total int64) {
	if r.Volume != nil && (r.Volume.Total > 0 || r.Info == nil) {
		return r.Volume.Done, r.Volume.Total
	}
	i := r.Info
	if r.State() == VolumeDone && hasResource(i) {
		return i.Size, i.Size
	}
	return 0, i.Size
}

// Times returns when moving the data, or taking the snapshot, began and ended; zero if unknown.
func (r *VolumeRecord) Times() (began, ended time.Time) {
	if v := r.Volume; v != nil {
		return v.Started, v.Completed
	}
	return r.Info.Started, r.Info.Completed
}

// IncrementalBytes returns how many bytes were new since the last backup, 0 if unknown.
func (r *VolumeRecord) IncrementalBytes() int64 {
	return cmp.Or(r.movedVolume().IncrementalBytes, r.volumeInfo().Incremental)
}

// SnapshotHandle returns the handle of the repository's snapshot for moved data, else the storage system's.
func (r *VolumeRecord) SnapshotHandle() string {
	i := r.volumeInfo()
	if i.DataMoved && i.SnapshotHandle == i.LocalSnapshotHandle { // its data is not moved yet
		i.SnapshotHandle = ""
	}
	return cmp.Or(r.movedVolume().SnapshotHandle, i.SnapshotHandle)
}

func (r *VolumeRecord) OperationID() string {
	return cmp.Or(r.movedVolume().OperationID, r.volumeInfo().Operation)
}

// SkippedReason returns why a backup skipped the volume, in Velero's words.
func (r *VolumeRecord) SkippedReason() string {
	if r.Info == nil || !r.Info.Skipped {
		return ""
	}
	reasons := strings.FieldsFunc(
		r.Info.SkippedReason,
		func(c rune) bool { return c == ';' },
	) // one of each way to save it
	for i := range reasons {
		reasons[i] = strings.TrimSpace(reasons[i])
	}
	return strings.Join(slices.DeleteFunc(reasons, func(reason string) bool { return reason == "" }), "; ")
}

// MethodText says how the volume was saved, or what it was restored from; empty if skipped.
func (r *VolumeRecord) MethodText() string {
	m, i := r.movedVolume(), r.volumeInfo()
	method := cmp.Or(string(m.Kind), i.Method)
	switch {
	case i.Skipped:
		return ""
	case method == artifact.MethodCSISnapshot && i.DataMoved:
		method = string(velero.DataUpload)
	}
	switch method {
	case artifact.MethodPodVolumeBackup, artifact.MethodPodVolumeRestore:
		return "fs-backup" + human.Prefixed(", ", cmp.Or(m.Uploader, i.Uploader))
	case string(velero.DataUpload), string(velero.DataDownload):
		by := "data mover"
		if mover := cmp.Or(m.DataMover, i.DataMover); mover != "" && mover != "velero" {
			by += " " + mover
		}
		if m.Kind == velero.DataDownload {
			return by
		}
		return "CSI snapshot, " + by
	case artifact.MethodCSISnapshot:
		return "CSI snapshot"
	case artifact.MethodNativeSnapshot:
		return "native snapshot"
	}
	return method
}

// HasStoredLists reports whether Velero has stored the job's volume info and item operations by now: it stores them
// when all items are done (pkg/controller/backup_controller.go persistBackup, restore_controller.go
// runValidatedRestore), and completes them later. For a troubled job they may be stored before its counts say so:
// neither could be written.
func (j JudgedJob) HasStoredLists() bool {
	switch j.Stage {
	case job.StageQueued:
		return false
	case job.StageItems, job.StageVolumes:
		return j.IsTroubled()
	}
	return j.Phase != velero.PhaseFailedValidation
}
