package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/sanitize"
	"github.com/veltui/veltui/watch"
)

// row is one job of a table.
type row struct {
	assess.Judged
	context string
	// age is how long ago the job began, as text and in seconds.
	age     string
	began   any
	deleted bool
}

func rowOf(c watch.Change, a *assess.Assessment, context string) row {
	r := row{Judged: a.Of(c.Job), context: sanitize.String(context), deleted: c.Deleted}
	if began := r.Began(); !began.IsZero() {
		r.age, r.began = human.Age(began, a.Environment.Now), a.Environment.Now.Sub(began).Seconds()
	}
	return r
}

// column is one column of the table of `get`.
type column struct {
	title string
	text  func(row) string
	// order is what --sort-by compares, a number or a text; nil for a job that has
	// none. Without it, that is the text.
	order func(row) any
	// wide columns are only in -o wide.
	wide bool
}

// contextColumn is there if several contexts were asked for.
var contextColumn = column{title: "CONTEXT", text: func(r row) string { return r.context }}

var tableColumns = []column{
	{title: "KIND", text: func(r row) string { return r.Kind.Word() }},
	{title: "NAME", text: func(r row) string { return r.Name }},
	{title: "STAGE", text: row.stage},
	{title: "PROGRESS", text: func(r row) string {
		if !r.FractionKnown {
			return ""
		}
		return human.Percent(r.Fraction)
	}, order: func(r row) any { return known(r.FractionKnown, r.Fraction) }},
	{title: "DONE", text: func(r row) string { return r.Amount() }, order: func(r row) any {
		done, _, _, is := r.Progress()
		return known(is, float64(done))
	}},
	{title: "ETA", text: func(r row) string { return r.ETA.String() }, order: func(r row) any { return known(r.ETA.Known, r.ETA.Left.Seconds()) }},
	{title: "ERRORS", text: func(r row) string { return countText(r.Errors) }, order: func(r row) any { return float64(r.Errors) }},
	{title: "WARNINGS", text: func(r row) string { return countText(r.Warnings) }, order: func(r row) any { return float64(r.Warnings) }},
	{title: "VERDICT", text: row.verdict},
	{title: "AGE", text: func(r row) string { return r.age }, order: func(r row) any { return r.began }},
	{title: "PHASE", wide: true, text: func(r row) string { return r.Phase }},
	{title: "RATE", wide: true, text: func(r row) string { return r.Rate.String() }, order: func(r row) any { return known(r.Rate.Known, r.Rate.PerSecond) }},
	{title: "VOLUMES", wide: true, text: func(r row) string { return fmt.Sprint(len(r.Volumes)) }, order: func(r row) any { return float64(len(r.Volumes)) }},
	{title: "OPERATIONS", wide: true, text: func(r row) string {
		return fmt.Sprintf("%d/%d", r.Operations.Completed+r.Operations.Failed, r.Operations.Attempted)
	}, order: func(r row) any { return float64(r.Operations.Completed + r.Operations.Failed) }},
	{title: "FROM", wide: true, text: func(r row) string { return from(r.Job) }},
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
	return string(r.Verdict.State)
}

// tablePrinter writes one line a job, in columns as kubectl does. Changes, and
// contexts that answer later, keep to the columns of the table that came before
// them.
type tablePrinter struct {
	w         io.Writer
	wide      bool
	noHeaders bool
	// width is the terminal's, 0 for none: a table that is wider lets its longest
	// cells stand out, rather than pad every line to them.
	width  int
	widths []int
	// titled is true once the titles are written.
	titled bool
}

func (p *tablePrinter) shows() parts { return parts{volumes: p.wide, verdicts: true} }

func (p *tablePrinter) columns(several bool) []column {
	columns := slices.DeleteFunc(slices.Clone(tableColumns), func(c column) bool { return c.wide && !p.wide })
	if several {
		columns = slices.Insert(columns, 0, contextColumn)
	}
	return columns
}

func (p *tablePrinter) list(clusters []clusterJobs, several bool) error {
	columns := p.columns(several)
	var lines [][]string
	for _, c := range clusters {
		for _, j := range c.jobs {
			lines = append(lines, cells(columns, rowOf(watch.Change{Job: j}, c.assessed, c.context)))
		}
	}
	return p.print(p.withTitles(columns, lines))
}

// withTitles puts the titles before the first lines.
func (p *tablePrinter) withTitles(columns []column, lines [][]string) [][]string {
	if len(lines) == 0 || p.titled || p.noHeaders {
		return lines
	}
	p.titled = true
	titles := make([]string, len(columns))
	for i, c := range columns {
		titles[i] = c.title
	}
	return slices.Insert(lines, 0, titles)
}

func (p *tablePrinter) change(c watch.Change, a *assess.Assessment) error {
	columns := p.columns(false)
	return p.print(p.withTitles(columns, [][]string{cells(columns, rowOf(c, a, ""))}))
}

func cells(columns []column, r row) []string {
	texts := make([]string, len(columns))
	for i, c := range columns {
		texts[i] = dash(c.text(r))
	}
	return texts
}

// columnGap is how many spaces stand between two columns, as in kubectl's tables.
const columnGap = 3

// print aligns lines to columns that only ever get wider. Behind a cell that stands
// out, the line comes back to its columns as soon as it can.
func (p *tablePrinter) print(lines [][]string) error {
	p.widen(lines)
	var text strings.Builder
	for _, cells := range lines {
		at, start := 0, 0 // where the line is, and where the column begins
		for i, cell := range cells {
			if i > 0 {
				gap := max(start-at, columnGap)
				text.WriteString(strings.Repeat(" ", gap))
				at += gap
			}
			text.WriteString(cell)
			at += ansi.StringWidth(cell)
			start += p.widths[i] + columnGap
		}
		text.WriteByte('\n')
	}
	_, err := io.WriteString(p.w, text.String())
	return err
}

// widen makes room for lines. Where the table gets wider than the terminal, a
// column gives room back, the widest first, but at least half of its cells fit.
func (p *tablePrinter) widen(lines [][]string) {
	if len(lines) == 0 {
		return
	}
	before := append(p.widths, make([]int, max(0, len(lines[0])-len(p.widths)))...)
	p.widths = slices.Clone(before)
	all := make([][]int, len(p.widths))
	for _, cells := range lines {
		for i, cell := range cells {
			width := ansi.StringWidth(cell)
			all[i] = append(all[i], width)
			p.widths[i] = max(p.widths[i], width)
		}
	}
	if p.width <= 0 {
		return
	}
	order := make([]int, len(p.widths))
	for i := range order {
		order[i] = i
		slices.Sort(all[i])
	}
	slices.SortStableFunc(order, func(a, b int) int { return p.widths[b] - p.widths[a] })
	for _, i := range order {
		over := columnGap*(len(p.widths)-1) - p.width
		for _, width := range p.widths {
			over += width
		}
		if over <= 0 {
			return
		}
		room := max(p.widths[i]-over, all[i][len(all[i])/2])
		fits := before[i]
		for _, width := range all[i] {
			if width <= room {
				fits = max(fits, width)
			}
		}
		p.widths[i] = fits
	}
}

// countText is a count, empty for none.
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

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
