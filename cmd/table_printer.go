package cmd

import (
	"cmp"
	"fmt"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/job"
)

type row struct {
	assess.Judged
	context string
	// age is how long ago the job began, as text and in seconds.
	age     string
	began   any
	deleted bool
}

func rowOf(c clusterJobs, j *job.Job) row {
	r := row{Judged: c.assessed.Of(j), context: sanitize.String(c.context), deleted: c.deleted}
	if began, now := r.Began(), c.assessed.Environment.Now; !began.IsZero() {
		r.age, r.began = human.Age(began, now), now.Sub(began).Seconds()
	}
	return r
}

var contextColumn = column{title: "CONTEXT", rank: 1, least: 6, middle: true, usual: 20, text: func(r row) string { return r.context }}

// tableColumns are those of `get`. The ranks are documented in its help.
var tableColumns = []column{
	{title: "KIND", rank: 2, usual: len("restore"), text: func(r row) string { return r.Kind.Word() }},
	{title: "NAME", least: 6, middle: true, usual: 40, text: func(r row) string { return r.Name }},
	{title: "STAGE", least: 5, usual: len("PartiallyFailed"), text: row.stage},
	{title: "PROGRESS", rank: 3, text: func(r row) string {
		if !r.FractionKnown {
			return ""
		}
		return human.Percent(r.Fraction)
	}, order: func(r row) any { return known(r.FractionKnown, r.Fraction) }},
	{title: "DONE", rank: 8, usual: len("10000/10000"), text: func(r row) string { return r.Amount() }, order: func(r row) any {
		done, _, _, is := r.Progress()
		return known(is, float64(done))
	}},
	{title: "ETA", rank: 5, usual: len("10 to 15m"), text: func(r row) string { return r.ETA.String() }, order: func(r row) any { return known(r.ETA.Known, r.ETA.Left.Seconds()) }},
	{title: "ERRORS", rank: 4, text: func(r row) string { return countText(r.Errors) }, order: func(r row) any { return float64(r.Errors) }},
	{title: "WARNINGS", rank: 7, text: func(r row) string { return countText(r.Warnings) }, order: func(r row) any { return float64(r.Warnings) }},
	{title: "VERDICT", least: 7, usual: len("progressing"), text: row.verdict},
	{title: "AGE", rank: 6, usual: len("10h10m"), text: func(r row) string { return r.age }, order: func(r row) any { return r.began }},
	{title: "PHASE", wide: true, least: 5, usual: len("PartiallyFailed"), text: func(r row) string { return r.Phase }},
	{title: "RATE", wide: true, usual: len("100.0 MiB/s"), text: func(r row) string { return r.Rate.String() }, order: func(r row) any { return known(r.Rate.Known, r.Rate.PerSecond) }},
	{title: "VOLUMES", wide: true, text: func(r row) string { return fmt.Sprint(len(r.Volumes)) }, order: func(r row) any { return float64(len(r.Volumes)) }},
	{title: "OPERATIONS", wide: true, text: func(r row) string {
		return fmt.Sprintf("%d/%d", r.Operations.Completed+r.Operations.Failed, r.Operations.Attempted)
	}, order: func(r row) any { return float64(r.Operations.Completed + r.Operations.Failed) }},
	{title: "FROM", wide: true, least: 6, middle: true, usual: 40, text: func(r row) string { return from(r.Job) }},
}

// known is a number, or nil where nobody knows it.
func known(is bool, n float64) any {
	if !is {
		return nil
	}
	return n
}

func (r row) stage() string {
	switch {
	case r.deleted:
		return "Deleted"
	case r.Stage == job.StageDeleting:
		return string(r.Stage)
	case !r.DeletionAt.IsZero():
		return r.phaseOrStage() + ",deleting"
	}
	return r.phaseOrStage()
}

func (r row) phaseOrStage() string {
	if r.Terminal() || r.Stage == job.StageUnknown {
		return r.Phase
	}
	return string(r.Stage)
}

func (r row) verdict() string {
	if len(r.Malformed) > 0 {
		return fmt.Sprintf("malformed: %s %s", r.Malformed[0].Field, r.Malformed[0].Value)
	}
	return string(r.Verdict.State())
}

// tablePrinter writes a line a job, in columns as kubectl does.
type tablePrinter struct {
	table
	wide bool
	// sorted is the title of the column that --sort-by names: it is not dropped.
	sorted string
}

func (p *tablePrinter) columns(several bool) []column {
	all := tableColumns
	if several {
		all = sortColumns()
	}
	return chooseColumns(all, p.wide, p.sorted)
}

func (p *tablePrinter) list(clusters []clusterJobs, several bool) error {
	columns := p.columns(several)
	var rows [][]string
	for _, c := range clusters {
		for _, j := range c.jobs {
			r := rowOf(c, j)
			cells := make([]string, len(columns))
			for i, column := range columns {
				cells[i] = column.text(r)
			}
			rows = append(rows, cells)
		}
	}
	return p.print(columns, rows)
}

func countText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func from(j *job.Job) string {
	switch {
	case j.BackupName != "":
		return "backup/" + j.BackupName
	case j.ScheduleName != "":
		return "schedule/" + j.ScheduleName
	}
	return ""
}

func dash(s string) string { return cmp.Or(s, "-") }
