package ui

import (
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

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
func jobRow(c draw.Canvas, j *job.Job, v job.Verdict, s job.Surroundings, widths []int, selected bool) string {
	cells := make([]string, len(jobColumns))
	name := c.Theme.Text
	if selected {
		name = c.Theme.Selected
	}
	cells[colMark] = mark(c, j, v, selected, widths[colMark])
	cells[colKind] = c.Theme.Dim.Render(kindLetter(j.Kind))
	cells[colName] = c.Cell(name, j.Name, widths[colName], false)
	cells[colFrom] = c.Cell(c.Theme.Dim, origin(j), widths[colFrom], false)
	style, stage := stageCell(c, j, v, widths[colStage])
	cells[colStage] = c.Cell(style, stage, widths[colStage], false)

	if j.Terminal() {
		return spanned(c, cells, widths, colProgress, colETA, outcome(c, j))
	}
	if position, reason, waits := j.Queue(s); waits {
		if position > 0 {
			cells[colStage] = c.Cell(style, string(j.Stage)+" "+ordinal(position), widths[colStage], false)
		}
		return spanned(c, cells, widths, colProgress, colETA, c.Theme.Waiting.Render(reason))
	}
	cells[colProgress] = progressCell(c, j, widths[colProgress])
	if done, total, unit, known := j.Progress(); known {
		cells[colDone] = c.Cell(c.Theme.Text, estimated(c, j, unit)+Amount(done, total, unit), widths[colDone], true)
	} else {
		cells[colDone] = c.Fit("", widths[colDone])
	}
	cells[colRate] = c.Fit("", widths[colRate])
	if perSecond, ok := j.Rate(s.Now); ok {
		_, _, unit, _ := j.Progress()
		cells[colRate] = c.Cell(c.Theme.Dim, Rate(perSecond, unit), widths[colRate], true)
	}
	cells[colETA] = etaCell(c, j, v, s, widths[colETA])
	return draw.JoinCells(cells, widths)
}

// spanned joins the cells with one text in the place of those from first to last.
func spanned(c draw.Canvas, cells []string, widths []int, first, last int, text string) string {
	width := -1
	for i := first; i <= last; i++ {
		if widths[i] > 0 {
			width += widths[i] + 1
		}
	}
	merged := append(append([]string{}, cells[:first]...), c.Fit(text, width))
	mergedWidths := append(append([]int{}, widths[:first]...), width)
	return draw.JoinCells(append(merged, cells[last+1:]...), append(mergedWidths, widths[last+1:]...))
}

func mark(c draw.Canvas, j *job.Job, v job.Verdict, selected bool, width int) string {
	cursor := " "
	if selected {
		cursor = c.Glyphs.Cursor
	}
	glyph, style := " ", c.Theme.Text
	switch {
	case troubled(v.State):
		glyph, style = c.Glyphs.Attention, c.Theme.Bad
	case j.Terminal():
		glyph, style = ending(c, j)
	}
	return c.Fit(c.Theme.Accent.Render(cursor)+style.Render(glyph), width)
}

// ending is the sign and the style of how a job ended.
func ending(c draw.Canvas, j *job.Job) (string, lipgloss.Style) {
	switch j.Phase {
	case "Completed":
		return c.Glyphs.Done, c.Theme.Good
	case "PartiallyFailed":
		return c.Glyphs.Partly, c.Theme.Waiting
	default:
		return c.Glyphs.Failed, c.Theme.Bad
	}
}

func kindLetter(k job.Kind) string {
	if k == job.Restore {
		return "R"
	}
	return "B"
}

// origin is what a job was made from: a restore's backup, a backup's schedule.
func origin(j *job.Job) string {
	if j.Kind == job.Restore && j.BackupName != "" {
		return j.BackupName
	}
	return j.ScheduleName
}

// stageCell is the stage and how long it lasts, or how long nothing moved.
func stageCell(c draw.Canvas, j *job.Job, v job.Verdict, width int) (lipgloss.Style, string) {
	if j.Terminal() {
		_, style := ending(c, j)
		return style, j.Phase
	}
	stage := string(j.Stage)
	if j.Stage == job.StageUnknown {
		stage = j.Phase
	}
	switch v.State {
	case job.Quiet, job.Stuck, job.Orphaned:
		style, quiet := c.Theme.Waiting, "quiet "+since(c.Now, j.QuietSince())
		if troubled(v.State) {
			style = c.Theme.Bad
		}
		if text := stage + " " + quiet; len(text) <= width {
			return style, text
		}
		return style, quiet
	case job.Waiting:
		return c.Theme.Waiting, strings.TrimSpace(stage + " " + since(c.Now, stageBegan(j)))
	}
	return c.Theme.Running, strings.TrimSpace(stage + " " + since(c.Now, stageBegan(j)))
}

// stageBegan is when the present stage began, zero if that is not known.
func stageBegan(j *job.Job) (began time.Time) {
	for _, record := range j.Stages {
		if record.Stage == j.Stage {
			began = record.Began
		}
	}
	return began
}

// progressCell is a bar with its percentage.
func progressCell(c draw.Canvas, j *job.Job, width int) string {
	if !j.FractionKnown {
		return c.NoBar(width)
	}
	label := c.FitRight(estimated(c, j, job.UnitItems)+Percent(j.Fraction), 5)
	if width < 8 {
		return c.FitRight(label, width)
	}
	return c.Bar(j.Fraction, width-5) + label
}

// estimated is the mark in front of figures that are veltui's own estimate.
func estimated(c draw.Canvas, j *job.Job, unit job.Unit) string {
	if unit == job.UnitItems && j.Items.Estimated && (j.Stage == job.StageItems || j.Stage == job.StageQueued) {
		return c.Glyphs.Approx
	}
	return ""
}

func etaCell(c draw.Canvas, j *job.Job, v job.Verdict, s job.Surroundings, width int) string {
	if troubled(v.State) {
		return c.Cell(c.Theme.Bad, string(v.State), width, true)
	}
	if left, ok := j.ETA(s.Now); ok {
		return c.Cell(c.Theme.Text, TimeLeft(left), width, true)
	}
	return c.Fit("", width)
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
		took = Duration(j.Completed.Sub(j.Started))
	}
	items := ""
	if j.Items.Known {
		items = count(j.Items.Done, "item")
		if j.Items.Done < j.Items.Total {
			items = fmt.Sprintf("%d/%d", j.Items.Done, j.Items.Total)
		}
	}
	text := c.Theme.Dim.Render(fmt.Sprintf("%-6s %-6s %-10s ", clock(c.Now, endedAt(j)), took, items))
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
