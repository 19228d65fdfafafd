package ui

import (
	"fmt"
	"math"
	"slices"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/draw"
)

// jobColumns are the columns of jobs on the screen. The first column has the cursor and the mark.
var jobColumns = append(
	[]view.JobColumn{{Column: view.Column{Screen: view.ScreenColumn{Width: 2}}}},
	slices.DeleteFunc(
		slices.Clone(view.JobColumns),
		func(c view.JobColumn) bool { return c.Screen.Width == 0 },
	)...)

const colMark = 0

// The columns that the layout of a row refers to.
var (
	colCluster  = findColumn("context")
	colKind     = findColumn("kind")
	colName     = findColumn("name")
	colStage    = findColumn("stage")
	colProgress = findColumn("progress")
	colETA      = findColumn("eta")
	colErrors   = findColumn("errors")
	colWarnings = findColumn("warnings")
	colLocation = findColumn("location")
	colFrom     = findColumn("from")
)

func findColumn(name string) int {
	return slices.IndexFunc(jobColumns, func(c view.JobColumn) bool { return c.Name == name })
}

// ColumnNames returns the names of the columns that can be chosen, in their usual order. The columns up to the name
// are always shown, before the chosen ones.
func ColumnNames() (names []string) {
	for _, c := range jobColumns[colStage:] {
		names = append(names, c.Name)
	}
	return names
}

// columnOrder returns the order of the chosen columns, or of all columns. The columns from the bar to the warnings
// stay together in their usual order, because a single text replaces them where a job has ended or waits.
func columnOrder(chosen []string) []int {
	if len(chosen) == 0 {
		chosen = ColumnNames()
	}
	order := []int{colMark, colCluster, colKind, colName}
	together := func(column int) bool { return column >= colProgress && column <= colWarnings }
	var group []int
	for _, name := range chosen {
		if column := findColumn(name); together(column) {
			group = append(group, column)
		}
	}
	slices.Sort(group)
	for _, name := range chosen {
		switch column := findColumn(name); {
		case !together(column):
			order = append(order, column)
		case !slices.ContainsFunc(order, together):
			order = append(order, group...)
		}
	}
	return order
}

func pickColumns[T any](of []T, order []int) []T {
	shown := make([]T, len(order))
	for i, column := range order {
		shown[i] = of[column]
	}
	return shown
}

// fitJobColumns limits columns such as the name to their longest text, so that others can grow.
func fitJobColumns(rows []tableRow, several bool, order []int) []view.ScreenColumn {
	columns := make([]view.ScreenColumn, len(jobColumns))
	for i, c := range jobColumns {
		if columns[i] = c.ScreenLayout(); !slices.Contains(order, i) || i == colCluster && !several {
			columns[i].Width = 0
		}
	}
	if several {
		columns[colName].Width = 18
	}
	name, from, location, in := 0, 0, 0, 0
	for _, r := range rows {
		if j, ok := r.item.(*job.Job); ok {
			_, origin := view.JobOrigin(j)
			name, from, location = max(name, len(j.Name)), max(from, len(origin)), max(location, len(j.StorageLocation))
			in = max(in, len(r.cluster.Context))
		}
	}
	for column, longest := range map[int]int{colCluster: in, colName: name, colFrom: from, colLocation: location} {
		columns[column].Limit = min(max(longest, columns[column].Width), columns[column].Limit)
	}
	return columns
}

// newJobRow returns a job's row data at the canvas's time.
func newJobRow(c draw.Canvas, r tableRow, j *job.Job) view.JobRow {
	return view.JobRow{JudgedJob: r.cluster.assessment.AssessJob(j), Context: r.cluster.Context, Now: c.Now}
}

func renderJobRow(c draw.Canvas, r view.JobRow, widths, order []int, selected bool) string {
	cells := make([]string, len(jobColumns))
	cells[colMark] = renderJobSign(c, r.JudgedJob, selected, widths[colMark])
	last, text := spanText(c, r, widths)
	for i, column := range jobColumns {
		switch spans := i >= colProgress && i <= last; {
		case i == colMark || spans || widths[i] == 0:
		case i == colProgress:
			cells[i] = renderProgressCell(c, r, widths[i])
		default:
			cells[i] = renderJobCell(c, column, r, widths[i])
		}
	}
	if last > 0 {
		widths = spanCells(c, cells, widths, colProgress, last, text)
	}
	return draw.JoinCells(pickColumns(cells, order), pickColumns(widths, order))
}

// spanText returns the text that replaces the columns from the bar to the column last. last is 0 if no text does.
func spanText(c draw.Canvas, r view.JobRow, widths []int) (last int, text string) {
	switch {
	case len(r.MalformedFields) > 0:
		return colWarnings, renderMalformedField(c, r.MalformedFields[0], spanWidth(widths, colProgress, colWarnings))
	case r.IsTerminal():
		return colETA, renderJobEnd(c, r.Job, spanWidth(widths, colProgress, colETA), widths[colErrors] == 0)
	case r.Queue.IsWaiting:
		return colWarnings, c.Theme.Waiting.Render(r.Queue.Reason)
	}
	return 0, ""
}

func renderJobCell(c draw.Canvas, column view.JobColumn, r view.JobRow, width int) string {
	cell := column.Cell(r)
	text := c.WithEstimateMark(view.Text{Text: cell.FitWidth(width), Estimated: cell.Estimated})
	return c.RenderCell(c.Theme.ToneStyle(cell.Tone), c.TruncateMiddle(text, width), width, column.Screen.Right)
}

// spanCells replaces the cells from first to last with one text, and returns the new widths.
func spanCells(c draw.Canvas, cells []string, widths []int, first, last int, text string) []int {
	width := spanWidth(widths, first, last)
	widths = slices.Clone(widths)
	for column := first; column <= last; column++ {
		if widths[column] > 0 {
			cells[column], widths[column] = c.FitLeft(text, width), width
			width = 0 // the first cell has all of it
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

func renderJobSign(c draw.Canvas, j assess.JudgedJob, selected bool, width int) string {
	sign := " "
	switch {
	case j.IsTroubled(), len(j.MalformedFields) > 0:
		sign = c.Theme.Bad.Render(c.Glyphs.Attention)
	case j.IsTerminal():
		glyph, style := c.EndPhaseGlyph(j.Phase)
		sign = style.Render(glyph)
	}
	return c.FitLeft(renderCursor(c, selected)+sign, width)
}

// renderProgressCell draws the bar with the percentage beside it.
func renderProgressCell(c draw.Canvas, r view.JobRow, width int) string {
	if !r.FractionKnown || r.IsEmpty() {
		return c.RenderEmptyBar(width)
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
	return c.RenderBar(floorFraction(r.Fraction), width-5) + label
}

// floorFraction rounds the bar like the percentage beside it, so that both change in the same frame.
func floorFraction(fraction float64) float64 {
	if whole := math.Floor(fraction*100+1e-9) / 100; whole > 0 { // as human.Percent rounds
		return whole
	}
	return fraction
}

// renderJobEnd draws in fixed positions how a job ended; wrong adds its errors and warnings.
func renderJobEnd(c draw.Canvas, j *job.Job, width int, wrong bool) string {
	o := view.NewJobOutcome(j)
	text := c.Theme.Dim.Render(fmt.Sprintf("%-6s %-6s %-10s", human.CompactClock(o.Ended, c.Now), o.Took, o.Items))
	problems := []view.Text{o.Invalid}
	if wrong {
		problems = []view.Text{o.Errors, o.Warnings, o.Invalid}
	}
	for _, problem := range problems {
		part := human.Prefixed(" ", problem.FitWidth(0))
		if part != "" && lipgloss.Width(text+part) <= width {
			text += c.Theme.ToneStyle(problem.Tone).Render(part)
		}
	}
	return text
}
