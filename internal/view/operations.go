package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// OperationsTitle is the title of the counts of a job's item operations.
const OperationsTitle = "Item operations"

// OperationCounts describes how many of a job's item operations have ended.
type OperationCounts struct {
	Completed, Failed Text
	Open              Text // the operations that have not ended, empty if all have
}

// NewOperationCounts describes the counters of item operations.
func NewOperationCounts(o job.Operations) OperationCounts {
	counts := OperationCounts{
		Completed: Toned(Good, fmt.Sprintf("%d of %d completed", o.Completed, o.Attempted)),
		Failed:    Toned(Plain, fmt.Sprintf("%d failed", o.Failed)),
	}
	if o.Failed > 0 {
		counts.Failed.Tone = Bad
	}
	if open := o.Attempted - o.Completed - o.Failed; open > 0 {
		counts.Open = Toned(Running, fmt.Sprintf("%d open", open))
	}
	return counts
}

// String returns the counts of the operations that have ended.
func (c OperationCounts) String() string { return c.Completed.Text + ", " + c.Failed.Text }

// NoOperations says that a job has no item operations.
func NoOperations(j *job.Job) string {
	return "Plugins have started no asynchronous operation for this job" + soFar(j) + "."
}

// OperationState returns the phase of an operation.
func OperationState(o *assess.Operation) MarkedState {
	switch {
	case o.HasFailed():
		return markState(MarkFailed, Bad, o.Phase)
	case o.HasEnded():
		return markState(MarkDone, Good, o.Phase)
	case o.Phase == velero.OperationNew || o.Phase == "":
		return markState(MarkAhead, Waiting, o.Phase)
	}
	return markState(MarkNow, Running, o.Phase)
}

// OperationColumns are the columns of a job's item operations. Only the screen shows them.
var OperationColumns = []Column{
	{Name: "item", CutMiddle: true, Screen: ScreenColumn{Title: "ITEM", Width: 24, Grow: 2, Limit: 60}},
	{Name: "phase", Screen: ScreenColumn{Title: "PHASE", Width: 10}},
	{Name: "done", Screen: ScreenColumn{Title: "DONE", Width: 12, Grow: 1, Limit: 20, Right: true}},
	{Name: "updated", Priority: 2, Screen: ScreenColumn{Title: "UPDATED", Width: 7, Right: true}},
	{Name: "deadline", Priority: 1, Screen: ScreenColumn{Title: "DEADLINE", Width: 8, Right: true}},
	{Name: "created", Priority: 4, Screen: ScreenColumn{Title: "CREATED", Width: 7, Right: true}},
	{Name: "kind", Priority: 3, Screen: ScreenColumn{Title: "KIND", Width: 22, Grow: 1, Limit: 40}},
	{Name: "plugin", Priority: 5, Screen: ScreenColumn{Title: "PLUGIN", Width: 28, Grow: 1, Limit: 50}},
	{Name: "volume", Priority: 6, Screen: ScreenColumn{Title: "VOLUME", Width: 26, Grow: 1, Limit: 50}},
}

// OperationRow is an operation in the list of its job's item operations.
type OperationRow struct {
	*assess.Operation
	Now time.Time // by the cluster's clock
}

// Cells returns the cells of the row, under [OperationColumns].
func (r OperationRow) Cells() []Cell {
	volume := ""
	if r.Volume != nil {
		volume = r.Volume.Ref().String()
	}
	return []Cell{
		TextCell(Plain, r.ItemName()),
		StateCell(OperationState(r.Operation).Text),
		TextCell(Plain, r.ProgressText()),
		AgeCell(Dim, r.Updated, r.Now, ""),
		r.deadlineCell(),
		AgeCell(Dim, r.Created, r.Now, ""),
		TextCell(Dim, r.ItemKind()),
		TextCell(Dim, r.Action),
		TextCell(Dim, volume),
	}
}

// soonDeadline is the time before a deadline from which the deadline needs attention.
const soonDeadline = 10 * time.Minute

// deadlineCell returns how long Velero still waits for the operation.
func (r OperationRow) deadlineCell() Cell {
	left := r.Deadline.Sub(r.Now)
	switch text := "in " + human.Duration(left); {
	case r.Deadline.IsZero():
		return Cell{}
	case left <= 0:
		return TextCell(Waiting, "passed")
	case left < soonDeadline:
		return TextCell(Waiting, text)
	default:
		return TextCell(Dim, text)
	}
}

// Fields are all that is known of the operation, and of the volume that it moves.
func (r OperationRow) Fields() []PageField {
	amount := r.ProgressText()
	if r.Total > 0 && strings.EqualFold(r.Units, "bytes") {
		amount = fmt.Sprintf("%s (%d of %d bytes)", amount, r.Done, r.Total)
	}
	fields := plainFields(
		"Item", r.ItemText(), "Plugin", r.Action, "Operation", r.ID, "Phase", r.Phase,
		"Done", amount, "Description", r.Description, "Updates", r.PostOperationItems, "Error", r.Error,
	)
	if v := r.Volume; v != nil {
		fields = append(fields, plainFields(
			"Volume", v.Ref().String()+", "+v.Target, "Volume phase", VolumePhase(v.Phase),
			"Bytes moved", human.BytesProgress(v.Done, v.Total), "Cause", v.Verdict.Cause, "Message", v.Message,
		)...)
	}
	return append(fields, plainFields(
		"Created", MomentWithAge(r.Created, r.Now), "Started", MomentWithAge(r.Started, r.Now),
		"Updated", MomentWithAge(r.Updated, r.Now), "Deadline", r.deadlineText(),
	)...)
}

func (r OperationRow) deadlineText() string {
	text := ""
	switch {
	case r.Deadline.IsZero():
		return ""
	case r.Deadline.After(r.Now):
		text = "Velero cancels it in " + human.Duration(r.Deadline.Sub(r.Now))
	default:
		text = "passed " + human.Ago(r.Deadline, r.Now)
	}
	return text + " (itemOperationTimeout, from its creation)"
}

// OperationLine describes an operation in one line.
func OperationLine(o *assess.Operation) string {
	return o.Phase + ": " + o.Resource + " " + o.ItemName() + " by " + o.Action + human.Prefixed(": ", o.Error)
}
