package ui

import (
	"fmt"
	"math"
	"slices"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/draw"
)

// jobColumns are the columns of jobs on the screen. The first has the cursor and the mark.
var jobColumns = append(
	[]view.JobColumn{{Column: view.Column{Screen: view.ScreenColumn{Width: 2}}}},
	slices.DeleteFunc(
		slices.Clone(view.JobColumns),
		func(c view.JobColumn) bool { return c.Screen.Width == 0 },
	)...)

const colMark = 0

// The columns that the layout of a row names.
var (
	colCluster  = columnNamed("context")
	colKind     = columnNamed("kind")
	colName     = columnNamed("name")
	colStage    = columnNamed("stage")
	colProgress = columnNamed("progress")
	colETA      = columnNamed("eta")
	colErrors   = columnNamed("errors")
	colWarnings = columnNamed("warnings")
	colLocation = columnNamed("location")
	colFrom     = columnNamed("from")
)

func columnNamed(name string) int {
	return slices.IndexFunc(jobColumns, func(c view.JobColumn) bool { return c.Name == name })
}

// Columns are the names of the columns that can be chosen, in their usual order. The others, up to the name, come
// first.
func Columns() (names []string) {
	for _, c := range jobColumns[colStage:] {
		names = append(names, c.Name)
	}
	return names
}

// columnOrder is that of the chosen columns, or all. From the bar to the warnings they stay
// together in their usual order: one text takes their place where a job has ended or waits.
func columnOrder(chosen []string) []int {
	if len(chosen) == 0 {
		chosen = Columns()
	}
	order := []int{colMark, colCluster, colKind, colName}
	together := func(column int) bool { return column >= colProgress && column <= colWarnings }
	var group []int
	for _, name := range chosen {
		if column := columnNamed(name); together(column) {
			group = append(group, column)
		}
	}
	slices.Sort(group)
	for _, name := range chosen {
		switch column := columnNamed(name); {
		case !together(column):
			order = append(order, column)
		case !slices.ContainsFunc(order, together):
			order = append(order, group...)
		}
	}
	return order
}

func ordered[T any](of []T, order []int) []T {
	shown := make([]T, len(order))
	for i, column := range order {
		shown[i] = of[column]
	}
	return shown
}

// columnsFor gives names no more room than the longest needs, so that others can grow.
func columnsFor(rows []row, several bool, order []int) []view.ScreenColumn {
	columns := make([]view.ScreenColumn, len(jobColumns))
	for i, c := range jobColumns {
		if columns[i] = c.Screen; !slices.Contains(order, i) || i == colCluster && !several {
			columns[i].Width = 0
		}
	}
	if several {
		columns[colName].Width = 18
	}
	name, from, location, in := 0, 0, 0, 0
	for _, r := range rows {
		if j, ok := r.item.(*job.Job); ok {
			_, origin := view.Origin(j)
			name, from, location = max(name, len(j.Name)), max(from, len(origin)), max(location, len(j.StorageLocation))
			in = max(in, len(r.cluster.Context))
		}
	}
	for column, longest := range map[int]int{colCluster: in, colName: name, colFrom: from, colLocation: location} {
		columns[column].Limit = min(max(longest, columns[column].Width), columns[column].Limit)
	}
	return columns
}

// jobAt is the job of a row at the canvas's present.
func jobAt(c draw.Canvas, r row, j *job.Job) view.JobRow {
	return view.JobRow{Judged: r.cluster.assessed.Of(j), Context: r.cluster.Context, Now: c.Now}
}

func jobRow(c draw.Canvas, r view.JobRow, widths, order []int, selected bool) string {
	cells := make([]string, len(jobColumns))
	cells[colMark] = mark(c, r.Judged, selected, widths[colMark])
	last, text := spanOf(c, r, widths)
	for i, column := range jobColumns {
		switch spans := i >= colProgress && i <= last; {
		case i == colMark || spans || widths[i] == 0:
		case i == colProgress:
			cells[i] = progressCell(c, r, widths[i])
		default:
			cells[i] = jobCell(c, column, r, widths[i])
		}
	}
	if last > 0 {
		widths = spanned(c, cells, widths, colProgress, last, text)
	}
	return draw.JoinCells(ordered(cells, order), ordered(widths, order))
}

// spanOf is the text that stands in place of the columns from the bar to the last one, 0 if none does.
func spanOf(c draw.Canvas, r view.JobRow, widths []int) (last int, text string) {
	switch {
	case len(r.Malformed) > 0:
		return colWarnings, malformedText(c, r.Malformed[0], spanWidth(widths, colProgress, colWarnings))
	case r.Terminal():
		return colETA, outcome(c, r.Job, spanWidth(widths, colProgress, colETA), widths[colErrors] == 0)
	case r.Queue.Waits:
		return colWarnings, c.Theme.Waiting.Render(r.Queue.Reason)
	}
	return 0, ""
}

func jobCell(c draw.Canvas, column view.JobColumn, r view.JobRow, width int) string {
	cell := column.Cell(r)
	text := cell.Fit(width)
	if cell.Estimated {
		text = human.Clause(c.Glyphs.Approx, text)
	}
	return c.Cell(c.Theme.Tone(cell.Tone), c.CutMiddle(text, width), width, column.Screen.Right)
}

// spanned puts one text in place of the cells from first to last, and returns the widths then.
func spanned(c draw.Canvas, cells []string, widths []int, first, last int, text string) []int {
	width := spanWidth(widths, first, last)
	widths = slices.Clone(widths)
	for column := first; column <= last; column++ {
		if widths[column] > 0 {
			cells[column], widths[column] = c.Fit(text, width), width
			width = 0 // one of them has it all
		}
	}
	return widths
}

func spanWidth(widths []int, first, last int) int {
	width := -1
	for _, w := range widths[first : last+1] {
		if w > 0 {
			width += w + 1
		}
	}
	return width
}

func mark(c draw.Canvas, j assess.Judged, selected bool, width int) string {
	sign := " "
	switch {
	case j.Troubled(), len(j.Malformed) > 0:
		sign = c.Theme.Bad.Render(c.Glyphs.Attention)
	case j.Terminal():
		glyph, style := c.Ending(j.Phase)
		sign = style.Render(glyph)
	}
	return c.Fit(pointer(c, selected)+sign, width)
}

// progressCell draws the bar, and its percentage beside it.
func progressCell(c draw.Canvas, r view.JobRow, width int) string {
	if !r.FractionKnown {
		return c.NoBar(width)
	}
	cell := jobColumns[colProgress].Cell(r)
	label := cell.Text.Text
	if cell.Estimated {
		label = c.Glyphs.Approx + label
	}
	label = c.FitRight(label, 5)
	if width < 8 {
		return c.FitRight(label, width)
	}
	return c.Bar(wholePercent(r.Fraction), width-5) + label
}

// wholePercent rounds as the percentage beside its bar, so that both change in one frame.
func wholePercent(fraction float64) float64 {
	if whole := math.Floor(fraction*100+1e-9) / 100; whole > 0 { // as human.Percent rounds
		return whole
	}
	return fraction
}

// endedAt is when a job ended. Velero gives no time to one that failed validation.
func endedAt(j *job.Job) time.Time {
	if j.Completed.IsZero() {
		return j.QuietSince()
	}
	return j.Completed
}

// outcome tells in fixed places how a job ended; wrong adds what went wrong.
func outcome(c draw.Canvas, j *job.Job, width int, wrong bool) string {
	took, items := "", ""
	if !j.Started.IsZero() && !j.Completed.IsZero() {
		took = human.Duration(j.Took())
	}
	if j.Items.Known {
		items = human.Count(j.Items.Done, "item")
		if j.Items.Done < j.Items.Total {
			items = fmt.Sprintf("%d/%d", j.Items.Done, j.Items.Total)
		}
	}
	text := c.Theme.Dim.Render(fmt.Sprintf("%-6s %-6s %-10s", human.Day(endedAt(j), c.Now), took, items))
	for _, part := range []struct {
		holds bool
		style lipgloss.Style
		text  string
	}{
		{wrong && j.Errors > 0, c.Theme.Bad, fmt.Sprintf(" %d err", j.Errors)},
		{wrong && j.Warnings > 0, c.Theme.Waiting, fmt.Sprintf(" %d warn", j.Warnings)},
		{len(j.ValidationErrors) > 0 && j.Errors == 0, c.Theme.Bad, " invalid"},
	} {
		if part.holds && lipgloss.Width(text+part.text) <= width {
			text += part.style.Render(part.text)
		}
	}
	return text
}
