package cmd

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/ui/tabs"
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
	assess.Judged             // of a job
	thing         *tabs.Thing // nil for a job
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

var contextColumn = column{
	title:  "CONTEXT",
	rank:   1,
	least:  6,
	middle: true,
	usual:  20,
	text:   func(r row) string { return sanitize.String(r.context) },
}

// sortColumns are those of a kind, nil for jobs, with that of the context.
func sortColumns(k *tabs.Kind) []column {
	if k == nil {
		return append([]column{contextColumn}, tableColumns...)
	}
	columns := []column{contextColumn, nameColumn}
	for i, c := range k.Columns {
		if c.Get == "" {
			continue
		}
		cell := func(r row) tabs.Cell { return r.thing.Cells(r.assessed.Environment.Now)[i] }
		of := column{title: c.Get, rank: c.Rank, wide: c.Wide, text: func(r row) string { return cell(r).Get }}
		switch {
		case c.Get == "STATE":
			of.least, of.usual, of.text = 5, 11, func(r row) string {
				if r.deleted {
					return "Deleted"
				}
				return cell(r).Get
			}
		case c.Right:
			of.order = func(r row) any { return cell(r).Order }
		case !c.Wide:
			of.least = min(len(c.Get), 6)
		}
		columns = append(columns, of)
	}
	return append(
		columns,
		column{
			title: "VERDICT",
			least: 7,
			usual: len("alarming"),
			text:  func(r row) string { return assess.Worst(r.thing.Notes).String() },
			order: func(r row) any { return float64(assess.Worst(r.thing.Notes)) },
		},
		ageColumn(8, 6),
		column{title: "NOTE", least: 12, usual: 60, text: func(r row) string {
			if len(r.thing.Notes) == 0 {
				return ""
			}
			return r.thing.Notes[0].Text
		}},
	)
}

var nameColumn = column{
	title:  "NAME",
	least:  6,
	middle: true,
	usual:  40,
	text:   func(r row) string { return r.ref.name },
}

func ageColumn(rank, usual int) column {
	return column{
		title: "AGE",
		rank:  rank,
		usual: usual,
		text:  func(r row) string { return human.Age(r.began, r.assessed.Environment.Now) },
		order: func(r row) any {
			return known(!r.began.IsZero(), r.assessed.Environment.Now.Sub(r.began).Seconds())
		},
	}
}
