package assess

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
)

// JudgedVolume is one of a job's volumes with everything that depends on the present.
type JudgedVolume struct {
	*job.Volume
	Verdict diagnosis.VolumeVerdict
	Rate    Rate
	ETA     TimeLeft
}

// JudgeVolumes judges the job's volumes, in their order. While data may be out of date there is no rate and no time
// left.
func (a *Assessment) JudgeVolumes(j *job.Job) []JudgedVolume {
	all := make([]JudgedVolume, len(j.Volumes))
	for i, verdict := range diagnosis.JudgeVolumes(j, a.World) {
		v := &j.Volumes[i]
		all[i] = JudgedVolume{Volume: v, Verdict: verdict}
		if a.IsStale() {
			continue
		}
		all[i].Rate.Unit = job.UnitBytes
		all[i].Rate.PerSecond, all[i].Rate.Known = j.VolumeRate(v, a.World.Now)
		all[i].ETA.Left, all[i].ETA.Known = j.VolumeETA(v, a.World.Now)
	}
	return all
}

// FindBlockingVolume returns the volume that holds the job up, nil if all have ended.
func FindBlockingVolume(volumes []JudgedVolume) *JudgedVolume {
	var last *JudgedVolume
	for i := range volumes {
		if v := &volumes[i]; !v.HasEnded() && (last == nil || compareByBlocking(v, last) > 0) {
			last = v
		}
	}
	return last
}

// compareByBlocking orders volumes by how much they hold their job up: stuck, not begun, without a known end, with the
// most time left.
func compareByBlocking(v, w *JudgedVolume) int {
	return cmp.Or(cmp.Compare(v.holdupRank(), w.holdupRank()), cmp.Compare(v.ETA.Left, w.ETA.Left),
		w.LastChanged.Compare(v.LastChanged), cmp.Compare(w.Name, v.Name))
}

func (v *JudgedVolume) holdupRank() int {
	switch {
	case v.Verdict.Stuck:
		return 3
	case v.IsWaiting():
		return 2
	case !v.ETA.Known:
		return 1
	}
	return 0
}

// Operation is an asynchronous item operation of a job, with the volume that it moves.
type Operation struct {
	artifact.Operation
	// Volume is the DataUpload or DataDownload with the operation's id, or nil.
	Volume *JudgedVolume
	// Deadline is when Velero cancels the operation, zero for an operation that has ended.
	Deadline time.Time
}

// JoinOperations joins item operations with volumes: open ones by age, failed ones, others by item. Velero cancels an
// operation itemOperationTimeout after its creation (pkg/controller/backup_operations_controller.go,
// restore_operations_controller.go).
func (a *Assessment) JoinOperations(j *job.Job, operations []artifact.Operation, volumes []JudgedVolume) []Operation {
	byID := make(map[string]*JudgedVolume, len(volumes))
	for i := range volumes {
		if id := volumes[i].Volume.OperationID; id != "" {
			byID[id] = &volumes[i]
		}
	}
	limit := velero.ItemOperationTimeout(j.Object, a.World.Server.Flags)
	all := make([]Operation, len(operations))
	for i, o := range operations {
		all[i] = Operation{Operation: o, Volume: byID[o.ID]}
		if !all[i].HasEnded() && !o.Created.IsZero() && !j.IsTerminal() {
			all[i].Deadline = o.Created.Add(limit)
		}
	}
	slices.SortStableFunc(all, func(a, b Operation) int {
		c := cmp.Compare(a.stateRank(), b.stateRank())
		if c == 0 && !a.HasEnded() {
			c = a.Created.Compare(b.Created)
		}
		return cmp.Or(c, cmp.Compare(a.ItemText(), b.ItemText()))
	})
	return all
}

func (o *Operation) stateRank() int {
	switch o.Phase {
	case velero.OperationCompleted:
		return 2
	case velero.OperationFailed:
		return 1
	}
	return 0
}

func (o *Operation) HasEnded() bool { return o.stateRank() > 0 }

func (o *Operation) HasFailed() bool { return o.Phase == velero.OperationFailed }

// ItemKind returns the kind of the operation's item, as widgets.example.com.
func (o *Operation) ItemKind() string { return o.Resource + human.Prefixed(".", o.Group) }

func (o *Operation) ItemName() string { return strings.TrimPrefix(o.Namespace+"/"+o.Name, "/") }

func (o *Operation) ItemText() string { return o.ItemKind() + " " + o.ItemName() }

// ProgressText returns n of m in the operation's unit, empty if the plugin reports neither.
func (o *Operation) ProgressText() string {
	switch {
	case o.Done == 0 && o.Total == 0:
		return ""
	case strings.EqualFold(o.Units, "bytes") || strings.EqualFold(o.Units, "byte"):
		return human.BytesProgress(o.Done, o.Total)
	}
	n := fmt.Sprint(o.Done)
	if o.Total > 0 {
		n += fmt.Sprintf("/%d", o.Total)
	}
	return strings.TrimSpace(n + " " + o.Units)
}
