package assess

import (
	"cmp"
	"slices"
	"strings"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
)

// VolumeRecord is a volume of a job, by the resource that moves its data and by the stored volume info.
type VolumeRecord struct {
	// Moved is nil if no resource in the cluster moves the volume's data.
	Moved *Volume
	// Info is nil if volume info does not have the volume, or is not known.
	Info *artifact.Volume
}

type VolumeState string

// VolumeUnsaid is of a snapshot whose result nothing says: Velero stores none for restores.
const (
	VolumeOpen    VolumeState = "Open"
	VolumeFailed  VolumeState = "Failed"
	VolumeDone    VolumeState = "Done"
	VolumeSkipped VolumeState = "Skipped"
	VolumeUnsaid  VolumeState = ""
)

// JoinVolumes joins volumes with volume info, by operation, pod volume, snapshot handle, claim. What
// holds the job up comes first, then open, failed, others, skipped.
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
	return !i.Skipped && (i.DataMoved || i.Method == artifact.ByPod || i.Method == artifact.ByPodRestore)
}

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

// State is how the volume stands. What the resource in the cluster says counts: volume info is as old as its file.
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
	switch r.Info.Outcome() {
	case artifact.VolumeSkipped:
		return VolumeSkipped
	case artifact.VolumeSaved:
		return VolumeDone
	case artifact.VolumeFailed:
		return VolumeFailed
	}
	return VolumeUnsaid
}

// moved and info are what is known of the volume, else zero.
func (r *VolumeRecord) moved() job.Volume {
	if r.Moved == nil {
		return job.Volume{}
	}
	return *r.Moved.Volume
}

func (r *VolumeRecord) info() artifact.Volume {
	if r.Info == nil {
		return artifact.Volume{}
	}
	return *r.Info
}

func (r *VolumeRecord) Claim() string {
	m, i := r.moved(), r.info()
	return cmp.Or(claimOf(false, i.Namespace, i.Claim), claimOf(false, m.Namespace, m.Claim))
}

// Pod is the pod and its volume, as namespace/pod:volume; empty for all but pod volumes.
func (r *VolumeRecord) Pod() string {
	if r.Moved != nil {
		return podVolume(r.Moved.Namespace, r.Moved.Pod, r.Moved.PodVolume)
	}
	return podVolume(r.Info.PodNamespace, r.Info.Pod, r.Info.PodVolume)
}

func (r *VolumeRecord) Name() string {
	return cmp.Or(r.Claim(), r.Pod(), r.moved().Target, r.info().PersistentVolume)
}

func (r *VolumeRecord) Node() string { return cmp.Or(r.moved().Node, r.info().Node) }

// Bytes are how many were moved, 0 of a snapshot that is not, and in total, 0 if unknown.
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

// Incremental is how many bytes were new since the last backup, 0 if unknown.
func (r *VolumeRecord) Incremental() int64 {
	return cmp.Or(r.moved().Incremental, r.info().Incremental)
}

// Handle is that of the repository's snapshot for moved data, else the storage system's.
func (r *VolumeRecord) Handle() string {
	i := r.info()
	if i.DataMoved && i.Handle == i.LocalHandle { // its data is not moved yet
		i.Handle = ""
	}
	return cmp.Or(r.moved().Handle, i.Handle)
}

func (r *VolumeRecord) Operation() string { return cmp.Or(r.moved().Operation, r.info().Operation) }

// SkippedReason is why a backup skipped the volume, in Velero's words.
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

// How says how the volume was saved, or what it was restored from; empty if skipped.
func (r *VolumeRecord) How() string {
	m, i := r.moved(), r.info()
	method := cmp.Or(string(m.Kind), i.Method)
	switch {
	case i.Skipped:
		return ""
	case method == artifact.ByCSI && i.DataMoved:
		method = string(velero.DataUpload)
	}
	switch method {
	case artifact.ByPod, artifact.ByPodRestore:
		return "fs-backup" + human.Clause(", ", cmp.Or(m.Uploader, i.Uploader))
	case string(velero.DataUpload), string(velero.DataDownload):
		by := "data mover"
		if mover := cmp.Or(m.DataMover, i.DataMover); mover != "" && mover != "velero" {
			by += " " + mover
		}
		if m.Kind == velero.DataDownload {
			return by
		}
		return "CSI snapshot, " + by
	case artifact.ByCSI:
		return "CSI snapshot"
	case artifact.ByNative:
		return "native snapshot"
	}
	return method
}

// ListsStored reports whether Velero stores the job's volume info and item operations by
// now: it does when all items are done (pkg/controller/backup_controller.go persistBackup,
// restore_controller.go runValidatedRestore), and completes them later. Of a troubled job
// they may be there before its counts say so: neither could be written.
func (j Judged) ListsStored() bool {
	switch j.Stage {
	case job.StageQueued:
		return false
	case job.StageItems, job.StageVolumes:
		return j.Troubled()
	}
	return j.Phase != velero.PhaseFailedValidation
}
