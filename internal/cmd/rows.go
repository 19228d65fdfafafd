package cmd

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/internal/view/resource"
)

// targetAnswer is the answer of one target.
type targetAnswer struct {
	context  string // of the kubeconfig, empty if none is in use
	assessed *assess.Assessment
	rows     []listRow
	err      error
}

func (a targetAnswer) malformedDocuments() []document.Malformed {
	return document.NewMalformedResources(a.assessed.World.MalformedResources, a.context)
}

// listRow is a job or another thing, printed as a row of the table, a document or a name.
type listRow struct {
	assess.JudgedJob                 // of a job
	thing            *resource.Entry // nil for a job
	object           job.Object
	uid              types.UID
	ref              jobRef
	ageSince         time.Time
	assessed         *assess.Assessment
	context          string
	deleted          bool // it existed until now
}

func newRow(context string, a *assess.Assessment, j *job.Job) listRow {
	return listRow{
		JudgedJob: a.AssessJob(j),
		object:    j.Object,
		uid:       j.UID,
		ref:       jobRefOf(j),
		ageSince:  j.AgeSince(),
		assessed:  a,
		context:   context,
	}
}

// buildRows returns the rows of the selected jobs or things in a cluster.
func (s selection) buildRows(context string, a *assess.Assessment) (rows []listRow) {
	if s.thingKind == nil {
		rows = mapSlice(selectJobs(a.Snapshot.Jobs, s), func(j *job.Job) listRow { return newRow(context, a, j) })
		return slices.DeleteFunc(rows, func(r listRow) bool { return s.stuck && !r.IsTroubled() })
	}
	for _, t := range s.thingKind.JudgeEntries(a) {
		o, ref := t.Object, jobRef{cmp.Or(t.Kind, s.thingKind.Kind), t.Object.GetName()}
		if s.matchesObject(o, ref) {
			rows = append(
				rows,
				listRow{
					thing:    &t,
					object:   o,
					uid:      o.GetUID(),
					ref:      ref,
					ageSince: o.GetCreationTimestamp().Time,
					assessed: a,
					context:  context,
				},
			)
		}
	}
	return rows
}

func rowRefs(rows []listRow) []jobRef {
	return mapSlice(rows, func(r listRow) jobRef { return r.ref })
}

// stateKey returns a key that also changes without an event, because of time or of other objects.
func (r listRow) stateKey() string {
	if r.thing != nil {
		return fmt.Sprint(
			r.thing.ChangeKey,
			r.object.GetResourceVersion(),
			len(r.thing.Notes),
			assess.WorstTone(r.thing.Notes),
		)
	}
	return fmt.Sprint(
		r.Verdict.State(),
		r.Verdict.Reason,
		r.Verdict.Action,
		r.Queue.Position,
		r.Queue.Reason,
		r.DeletionRequestedAt.IsZero(),
	)
}

// newDocument returns the document that -o json prints of the row. alone adds the version of the format.
func (r listRow) newDocument(alone bool) document.Placed {
	var d document.Placed
	if r.thing != nil {
		d = r.thing.Document()
	} else {
		d = new(document.NewJob(r.JudgedJob, r.assessed.JudgeVolumes(r.Job)))
	}
	d.Place(r.context, r.deleted, alone)
	return d
}

var namespaceColumn = listColumn{Column: view.NamespaceColumn, Cell: func(r listRow) view.Cell {
	return view.TextCell(view.Dim, sanitize.String(r.assessed.Snapshot.Namespace))
}}

// sortableColumns returns the columns of a kind, nil for jobs, with those of the context and the namespace.
func sortableColumns(k *resource.Kind) []listColumn {
	if k == nil {
		return jobColumns()
	}
	columns := []listColumn{
		{Column: view.FindJobColumn("context").Column, Cell: func(r listRow) view.Cell {
			return view.TextCell(view.Dim, sanitize.String(r.context))
		}},
		namespaceColumn,
		{Column: view.FindJobColumn("name").Column, Cell: func(r listRow) view.Cell {
			return view.TextCell(view.Plain, r.ref.name)
		}},
	}
	for i, c := range k.Columns {
		if c.ScreenOnly {
			continue
		}
		cell := func(r listRow) view.Cell { return r.thing.Cells(r.assessed.World.Now)[i] }
		column := listColumn{Column: c, Cell: cell}
		switch {
		case c.Name == "state":
			column.MinWidth, column.TypicalWidth = 5, 11
			column.Cell = func(r listRow) view.Cell {
				if r.deleted {
					return view.TextCell(view.Plain, "Deleted")
				}
				return cell(r)
			}
		case !c.Screen.Right && !c.Wide:
			column.MinWidth = min(len(c.Name), 6)
		}
		columns = append(columns, column)
	}
	return append(columns, thingColumns...)
}

// jobColumns returns the columns of jobs, the wide ones last.
func jobColumns() (columns []listColumn) {
	for _, wide := range []bool{false, true} {
		for _, c := range view.JobColumns {
			if !c.ScreenOnly && c.Wide == wide {
				cell := func(r listRow) view.Cell { return c.Cell(r.jobRow()) }
				columns = append(columns, listColumn{Column: c.Column, Cell: cell})
			}
		}
	}
	return slices.Insert(columns, 1, namespaceColumn) // after the context
}

// jobRow returns the row of a job as the screen also shows it.
func (r listRow) jobRow() view.JobRow {
	return view.JobRow{
		JudgedJob: r.JudgedJob,
		Context:   sanitize.String(r.context),
		Now:       r.assessed.World.Now,
		Deleted:   r.deleted,
	}
}

// thingColumns are the last columns of all kinds other than jobs.
var thingColumns = []listColumn{
	{Column: view.Column{Name: "verdict", MinWidth: 7, TypicalWidth: len("alarming")}, Cell: func(r listRow) view.Cell {
		worst := assess.WorstTone(r.thing.Notes)
		cell := view.TextCell(view.Plain, worst.String())
		cell.SortKey = float64(worst)
		return cell
	}},
	{Column: view.Column{Name: "age", Priority: 8, TypicalWidth: 6}, Cell: func(r listRow) view.Cell {
		return view.AgeCell(view.Dim, r.ageSince, r.assessed.World.Now, "")
	}},
	{Column: view.Column{Name: "note", MinWidth: 12, TypicalWidth: 60}, Cell: func(r listRow) view.Cell {
		if len(r.thing.Notes) == 0 {
			return view.Cell{}
		}
		return view.TextCell(view.Plain, r.thing.Notes[0].Text)
	}},
}
