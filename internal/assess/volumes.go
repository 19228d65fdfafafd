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

// Volume is one of a job's volumes with all that depends on the moment.
type Volume struct {
	*job.Volume
	Verdict diagnosis.VolumeVerdict
	Rate    Rate
	ETA     TimeLeft
}

// Volumes judges the job's volumes, in their order. While data may be out of date there is no rate and no time left.
func (a *Assessment) Volumes(j *job.Job) []Volume {
	all := make([]Volume, len(j.Volumes))
	for i, verdict := range diagnosis.JudgeVolumes(j, a.Environment) {
		v := &j.Volumes[i]
		all[i] = Volume{Volume: v, Verdict: verdict}
		if a.Stale() {
			continue
		}
		all[i].Rate.Unit = job.UnitBytes
		all[i].Rate.PerSecond, all[i].Rate.Known = j.VolumeRate(v, a.Environment.Now)
		all[i].ETA.Left, all[i].ETA.Known = j.VolumeETA(v, a.Environment.Now)
	}
	return all
}

// Last is the volume that holds the job up, nil if all have ended.
func Last(volumes []Volume) *Volume {
	var last *Volume
	for i := range volumes {
		if v := &volumes[i]; !v.Ended() && (last == nil || compareOpen(v, last) > 0) {
			last = v
		}
	}
	return last
}

// compareOpen goes by how much a volume holds its job up: stuck, not begun, without a known end, with the
// most time left.
func compareOpen(v, w *Volume) int {
	return cmp.Or(cmp.Compare(v.weight(), w.weight()), cmp.Compare(v.ETA.Left, w.ETA.Left),
		w.Changed.Compare(v.Changed), cmp.Compare(w.Name, v.Name))
}

func (v *Volume) weight() int {
	switch {
	case v.Verdict.Stuck:
		return 3
	case v.Waiting():
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
	Volume *Volume
	// Deadline is when Velero cancels the operation, zero for one that has ended.
	Deadline time.Time
}

// Operations joins item operations with volumes: open ones by age, failed ones, others by item. Velero
// cancels one itemOperationTimeout after its creation (pkg/controller/backup_operations_controller.go,
// restore_operations_controller.go).
func (a *Assessment) Operations(j *job.Job, operations []artifact.Operation, volumes []Volume) []Operation {
	byID := make(map[string]*Volume, len(volumes))
	for i := range volumes {
		if id := volumes[i].Volume.Operation; id != "" {
			byID[id] = &volumes[i]
		}
	}
	limit := velero.ItemOperationTimeout(j.Object, a.Environment.Server.Flags)
	all := make([]Operation, len(operations))
	for i, o := range operations {
		all[i] = Operation{Operation: o, Volume: byID[o.ID]}
		if !all[i].Ended() && !o.Created.IsZero() && !j.Terminal() {
			all[i].Deadline = o.Created.Add(limit)
		}
	}
	slices.SortStableFunc(all, func(a, b Operation) int {
		c := cmp.Compare(a.order(), b.order())
		if c == 0 && !a.Ended() {
			c = a.Created.Compare(b.Created)
		}
		return cmp.Or(c, cmp.Compare(a.Item(), b.Item()))
	})
	return all
}

func (o *Operation) order() int {
	switch o.Phase {
	case velero.OperationCompleted:
		return 2
	case velero.OperationFailed:
		return 1
	}
	return 0
}

func (o *Operation) Ended() bool { return o.order() > 0 }

func (o *Operation) Failed() bool { return o.Phase == velero.OperationFailed }

// ItemKind is the kind of what the operation is about, as widgets.example.com.
func (o *Operation) ItemKind() string { return o.Resource + human.Clause(".", o.Group) }

func (o *Operation) ItemName() string { return strings.TrimPrefix(o.Namespace+"/"+o.Name, "/") }

func (o *Operation) Item() string { return o.ItemKind() + " " + o.ItemName() }

// Amount is n of m in the operation's unit, empty if the plugin says neither.
func (o *Operation) Amount() string {
	switch {
	case o.Done == 0 && o.Total == 0:
		return ""
	case strings.EqualFold(o.Units, "bytes") || strings.EqualFold(o.Units, "byte"):
		return human.BytesOf(o.Done, o.Total)
	}
	n := fmt.Sprint(o.Done)
	if o.Total > 0 {
		n += fmt.Sprintf("/%d", o.Total)
	}
	return strings.TrimSpace(n + " " + o.Units)
}
