package ui

import (
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/draw"
)

// The columns of a table of jobs. At 80 cells all but RATE and FROM fit;
// below, they go by priority: name, stage and bar are never dropped.
var jobColumns = []draw.Column{
	{Width: 2}, // cursor and mark
	{Width: 1}, // kind
	{Title: "NAME", Width: 22, Grow: 3, Limit: 45},
	{Title: "STAGE", Width: 16},
	{Title: "PROGRESS", Width: 14, Grow: 1, Limit: 40},
	{Title: "DONE", Width: 11, Priority: 2, Right: true},
	{Title: "RATE", Width: 8, Priority: 3, Right: true},
	{Title: "ETA", Width: 8, Priority: 1, Right: true},
	{Title: "FROM", Width: 20, Grow: 1, Limit: 40, Priority: 4},
}

const (
	colMark = iota
	colKind
	colName
	colStage
	colProgress
	colDone
	colRate
	colETA
	colFrom
)

// jobRow draws one job into the columns.
func jobRow(c draw.Canvas, j assess.Judged, widths []int, selected bool) string {
	cells := make([]string, len(jobColumns))
	cells[colMark] = mark(c, j, selected, widths[colMark])
	cells[colKind] = c.Theme.Dim.Render(draw.KindLetter(j.Kind))
	cells[colName] = c.Cell(c.Theme.Text, c.CutMiddle(j.Name, widths[colName]), widths[colName], false)
	_, from := draw.Origin(j.Job)
	cells[colFrom] = c.Cell(c.Theme.Dim, c.CutMiddle(from, widths[colFrom]), widths[colFrom], false)
	style, stage := stageCell(c, j, widths[colStage])
	if j.Queue.Waits && j.Queue.Position > 0 {
		stage = string(j.Stage) + " " + human.Ordinal(j.Queue.Position)
	}
	cells[colStage] = c.Cell(style, stage, widths[colStage], false)
	switch {
	case len(j.Malformed) > 0:
		return spanned(c, cells, widths, colProgress, colETA, malformedText(c, j.Malformed[0], spanWidth(widths, colProgress, colETA)))
	case j.Terminal():
		return spanned(c, cells, widths, colProgress, colETA, outcome(c, j.Job))
	case j.Queue.Waits:
		return spanned(c, cells, widths, colProgress, colETA, c.Theme.Waiting.Render(j.Queue.Reason))
	}
	amount := j.Amount()
	if amount != "" {
		_, _, unit, _ := j.Progress()
		amount = c.Estimated(j.Job, unit) + amount
	}
	cells[colProgress] = progressCell(c, j.Job, widths[colProgress])
	cells[colDone] = c.Cell(c.Theme.Text, amount, widths[colDone], true)
	cells[colRate] = c.Cell(c.Theme.Dim, j.Speed(), widths[colRate], true)
	cells[colETA] = c.Cell(c.Theme.Text, j.TimeLeft(), widths[colETA], true)
	if j.Troubled() {
		cells[colETA] = c.Cell(c.Theme.Bad, string(j.State), widths[colETA], true)
	}
	return draw.JoinCells(cells, widths)
}

// spanned joins the cells with one text in the place of those from first to last.
func spanned(c draw.Canvas, cells []string, widths []int, first, last int, text string) string {
	width := spanWidth(widths, first, last)
	merged := append(append([]string{}, cells[:first]...), c.Fit(text, width))
	mergedWidths := append(append([]int{}, widths[:first]...), width)
	return draw.JoinCells(append(merged, cells[last+1:]...), append(mergedWidths, widths[last+1:]...))
}

// spanWidth is the width of the columns from first to last as one.
func spanWidth(widths []int, first, last int) int {
	width := -1
	for _, w := range widths[first : last+1] {
		if w > 0 {
			width += w + 1
		}
	}
	return width
}

// mark is the sign of the selected row, and the one that a job has.
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

// stageCell is the stage and how long it lasts, or how long nothing moved.
func stageCell(c draw.Canvas, j assess.Judged, width int) (lipgloss.Style, string) {
	if j.Terminal() {
		_, style := c.Ending(j.Phase)
		return style, j.Phase
	}
	stage := string(j.Stage)
	if j.Stage == job.StageUnknown {
		stage = j.Phase
	}
	style := c.Mood(j.State)
	switch j.State {
	case diagnosis.Quiet, diagnosis.Stuck, diagnosis.Orphaned:
		quiet := "quiet " + human.Age(j.QuietSince(), c.Now)
		if text := stage + " " + quiet; len(text) <= width {
			return style, text
		}
		return style, quiet
	}
	return style, strings.TrimSpace(stage + " " + draw.StageAge(j.Job, c.Now))
}

// progressCell is a bar with its percentage.
func progressCell(c draw.Canvas, j *job.Job, width int) string {
	if !j.FractionKnown {
		return c.NoBar(width)
	}
	label := c.FitRight(c.Estimated(j, job.UnitItems)+human.Percent(j.Fraction), 5)
	if width < 8 {
		return c.FitRight(label, width)
	}
	return c.Bar(j.Fraction, width-5) + label
}

// endedAt is when an ended job ended. Velero gives no time to one that failed
// validation; its last move then is the end.
func endedAt(j *job.Job) time.Time {
	if j.Completed.IsZero() {
		return j.QuietSince()
	}
	return j.Completed
}

// outcome tells in fixed places how a job ended: when, how long it took, how
// many items, and what went wrong.
func outcome(c draw.Canvas, j *job.Job) string {
	took := ""
	if !j.Started.IsZero() && !j.Completed.IsZero() {
		took = human.Duration(j.Completed.Sub(j.Started))
	}
	items := ""
	if j.Items.Known {
		items = human.Count(j.Items.Done, "item")
		if j.Items.Done < j.Items.Total {
			items = fmt.Sprintf("%d/%d", j.Items.Done, j.Items.Total)
		}
	}
	text := c.Theme.Dim.Render(fmt.Sprintf("%-6s %-6s %-10s ", human.Day(endedAt(j), c.Now), took, items))
	if j.Errors > 0 {
		text += c.Theme.Bad.Render(fmt.Sprintf("%d err", j.Errors)) + " "
	}
	if j.Warnings > 0 {
		text += c.Theme.Waiting.Render(fmt.Sprintf("%d warn", j.Warnings)) + " "
	}
	if len(j.ValidationErrors) > 0 && j.Errors == 0 {
		text += c.Theme.Bad.Render("not valid")
	}
	return text
}
