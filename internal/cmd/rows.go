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

// answer is what there is in one context of what was asked for.
type answer struct {
	context  string // the kubeconfig's, empty where none is in use
	assessed *assess.Assessment
	rows     []row
	err      error
}

func (a answer) malformed() []document.Malformed {
	return document.NewMalformedResources(a.assessed.Environment.Malformed, a.context)
}

// row is a job or a thing, as a line of the table, a document or a name.
type row struct {
	assess.Judged                 // of a job
	thing         *resource.Thing // nil for a job
	object        job.Object
	uid           types.UID
	ref           jobName
	began         time.Time
	assessed      *assess.Assessment
	context       string
	deleted       bool // it was there until now
}

func newRow(context string, a *assess.Assessment, j *job.Job) row {
	return row{
		Judged:   a.Of(j),
		object:   j.Object,
		uid:      j.UID,
		ref:      nameOf(j),
		began:    j.Began(),
		assessed: a,
		context:  context,
	}
}

// rows are the selected jobs or things of a cluster.
func (s selection) rows(context string, a *assess.Assessment) (rows []row) {
	if s.things == nil {
		rows = mapSlice(pick(a.Snapshot.Jobs, s), func(j *job.Job) row { return newRow(context, a, j) })
		return slices.DeleteFunc(rows, func(r row) bool { return s.stuck && !r.Troubled() })
	}
	for _, t := range s.things.List(a) {
		o, ref := t.Object, jobName{cmp.Or(t.Kind, s.things.Kind), t.Object.GetName()}
		if s.selects(o, ref) {
			rows = append(
				rows,
				row{
					thing:    &t,
					object:   o,
					uid:      o.GetUID(),
					ref:      ref,
					began:    o.GetCreationTimestamp().Time,
					assessed: a,
					context:  context,
				},
			)
		}
	}
	return rows
}

func refs(rows []row) []jobName { return mapSlice(rows, func(r row) jobName { return r.ref }) }

// state differs if something changed without an event: by time, or by what is around it.
func (r row) state() string {
	if r.thing != nil {
		return fmt.Sprint(
			r.thing.Change,
			r.object.GetResourceVersion(),
			len(r.thing.Notes),
			assess.Worst(r.thing.Notes),
		)
	}
	return fmt.Sprint(
		r.Verdict.State(),
		r.Verdict.Reason,
		r.Verdict.Action,
		r.Queue.Position,
		r.Queue.Reason,
		r.DeletionAt.IsZero(),
	)
}

// document is what -o json prints of it. Alone, it says its version.
func (r row) document(alone bool) document.Placed {
	var d document.Placed
	if r.thing != nil {
		d = r.thing.Document()
	} else {
		d = new(document.NewJob(r.Judged, r.assessed.Volumes(r.Job)))
	}
	d.Place(r.context, r.deleted, alone)
	return d
}

// sortColumns are those of a kind, nil for jobs, with that of the context.
func sortColumns(k *resource.Kind) []column {
	if k == nil {
		return jobColumns()
	}
	columns := []column{
		{view.JobColumnNamed("context").Column, func(r row) view.Cell {
			return view.TextCell(view.Dim, sanitize.String(r.context))
		}},
		{view.JobColumnNamed("name").Column, func(r row) view.Cell { return view.TextCell(view.Plain, r.ref.name) }},
	}
	for i, c := range k.Columns {
		if c.ScreenOnly {
			continue
		}
		cell := func(r row) view.Cell { return r.thing.Cells(r.assessed.Environment.Now)[i] }
		of := column{c, cell}
		switch {
		case c.Name == "state":
			of.Least, of.Usual = 5, 11
			of.cell = func(r row) view.Cell {
				if r.deleted {
					return view.TextCell(view.Plain, "Deleted")
				}
				return cell(r)
			}
		case !c.Screen.Right && !c.Wide:
			of.Least = min(len(c.Name), 6)
		}
		columns = append(columns, of)
	}
	return append(columns, thingColumns...)
}

// jobColumns are those of jobs, the wide ones last.
func jobColumns() (columns []column) {
	for _, wide := range []bool{false, true} {
		for _, c := range view.JobColumns {
			if !c.ScreenOnly && c.Wide == wide {
				columns = append(columns, column{c.Column, func(r row) view.Cell { return c.Cell(r.job()) }})
			}
		}
	}
	return columns
}

// job is the row of a job as the screen has it, too.
func (r row) job() view.JobRow {
	return view.JobRow{
		Judged:  r.Judged,
		Context: sanitize.String(r.context),
		Now:     r.assessed.Environment.Now,
		Deleted: r.deleted,
	}
}

// thingColumns are the last ones of all kinds but jobs.
var thingColumns = []column{
	{view.Column{Name: "verdict", Least: 7, Usual: len("alarming")}, func(r row) view.Cell {
		worst := assess.Worst(r.thing.Notes)
		cell := view.TextCell(view.Plain, worst.String())
		cell.Order = float64(worst)
		return cell
	}},
	{view.Column{Name: "age", Rank: 8, Usual: 6}, func(r row) view.Cell {
		return view.AgeCell(view.Dim, r.began, r.assessed.Environment.Now, "")
	}},
	{view.Column{Name: "note", Least: 12, Usual: 60}, func(r row) view.Cell {
		if len(r.thing.Notes) == 0 {
			return view.Cell{}
		}
		return view.TextCell(view.Plain, r.thing.Notes[0].Text)
	}},
}
