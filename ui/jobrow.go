package ui

import (
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/job"
)

// The columns of a table of jobs. At 80 cells all but RATE and FROM fit;
// below, they go by priority: name, stage and bar are never dropped.
var jobColumns = []column{
	{width: 2}, // cursor and mark
	{width: 1}, // kind
	{title: "NAME", width: 22, grow: 3, limit: 45},
	{title: "STAGE", width: 16},
	{title: "PROGRESS", width: 14, grow: 1, limit: 40},
	{title: "DONE", width: 11, priority: 2, right: true},
	{title: "RATE", width: 8, priority: 3, right: true},
	{title: "ETA", width: 8, priority: 1, right: true},
	{title: "FROM", width: 20, grow: 1, limit: 40, priority: 4},
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
func (c canvas) jobRow(j *job.Job, v diagnosis.Verdict, s diagnosis.Environment, widths []int, selected bool) string {
	cells := make([]string, len(jobColumns))
	name := c.theme.text
	if selected {
		name = c.theme.selected
	}
	cells[colMark] = c.mark(j, v, selected, widths[colMark])
	cells[colKind] = c.theme.dim.Render(kindLetter(j.Kind))
	cells[colName] = c.cell(name, j.Name, widths[colName], false)
	cells[colFrom] = c.cell(c.theme.dim, origin(j), widths[colFrom], false)
	style, stage := c.stageCell(j, v, widths[colStage])
	cells[colStage] = c.cell(style, stage, widths[colStage], false)

	if len(j.Malformed) > 0 {
		return c.spanned(cells, widths, colProgress, colETA, c.malformedText(j.Malformed[0], spanWidth(widths, colProgress, colETA)))
	}
	if j.Terminal() {
		return c.spanned(cells, widths, colProgress, colETA, c.outcome(j))
	}
	if position, reason, waits := diagnosis.Queue(j, s); waits {
		if position > 0 {
			cells[colStage] = c.cell(style, string(j.Stage)+" "+ordinal(position), widths[colStage], false)
		}
		return c.spanned(cells, widths, colProgress, colETA, c.theme.waiting.Render(reason))
	}
	cells[colProgress] = c.progressCell(j, widths[colProgress])
	if done, total, unit, known := j.Progress(); known {
		cells[colDone] = c.cell(c.theme.text, c.estimated(j, unit)+Amount(done, total, unit), widths[colDone], true)
	} else {
		cells[colDone] = c.fit("", widths[colDone])
	}
	cells[colRate] = c.fit("", widths[colRate])
	if perSecond, ok := j.Rate(s.Now); ok {
		_, _, unit, _ := j.Progress()
		cells[colRate] = c.cell(c.theme.dim, Rate(perSecond, unit), widths[colRate], true)
	}
	cells[colETA] = c.etaCell(j, v, s, widths[colETA])
	return joinCells(cells, widths)
}

// spanned joins the cells with one text in the place of those from first to last.
func (c canvas) spanned(cells []string, widths []int, first, last int, text string) string {
	width := spanWidth(widths, first, last)
	merged := append(append([]string{}, cells[:first]...), c.fit(text, width))
	mergedWidths := append(append([]int{}, widths[:first]...), width)
	return joinCells(append(merged, cells[last+1:]...), append(mergedWidths, widths[last+1:]...))
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

func (c canvas) mark(j *job.Job, v diagnosis.Verdict, selected bool, width int) string {
	cursor := " "
	if selected {
		cursor = c.glyphs.cursor
	}
	glyph, style := " ", c.theme.text
	switch {
	case troubled(v.State), len(j.Malformed) > 0:
		glyph, style = c.glyphs.attention, c.theme.bad
	case j.Terminal():
		glyph, style = c.ending(j)
	}
	return c.fit(c.theme.accent.Render(cursor)+style.Render(glyph), width)
}

// ending is the sign and the style of how a job ended.
func (c canvas) ending(j *job.Job) (string, lipgloss.Style) {
	switch j.Phase {
	case "Completed":
		return c.glyphs.done, c.theme.good
	case "PartiallyFailed":
		return c.glyphs.partly, c.theme.waiting
	default:
		return c.glyphs.failed, c.theme.bad
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
func (c canvas) stageCell(j *job.Job, v diagnosis.Verdict, width int) (lipgloss.Style, string) {
	if j.Terminal() {
		_, style := c.ending(j)
		return style, j.Phase
	}
	stage := string(j.Stage)
	if j.Stage == job.StageUnknown {
		stage = j.Phase
	}
	switch v.State {
	case diagnosis.Quiet, diagnosis.Stuck, diagnosis.Orphaned:
		style, quiet := c.theme.waiting, "quiet "+since(c.now, j.QuietSince())
		if troubled(v.State) {
			style = c.theme.bad
		}
		if text := stage + " " + quiet; len(text) <= width {
			return style, text
		}
		return style, quiet
	case diagnosis.Waiting:
		return c.theme.waiting, strings.TrimSpace(stage + " " + since(c.now, stageBegan(j)))
	}
	return c.theme.running, strings.TrimSpace(stage + " " + since(c.now, stageBegan(j)))
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
func (c canvas) progressCell(j *job.Job, width int) string {
	if !j.FractionKnown {
		return c.noBar(width)
	}
	label := c.fitRight(c.estimated(j, job.UnitItems)+Percent(j.Fraction), 5)
	if width < 8 {
		return c.fitRight(label, width)
	}
	return c.bar(j.Fraction, width-5) + label
}

// estimated is the mark in front of figures that are veltui's own estimate.
func (c canvas) estimated(j *job.Job, unit job.Unit) string {
	if unit == job.UnitItems && j.Items.Estimated && (j.Stage == job.StageItems || j.Stage == job.StageQueued) {
		return c.glyphs.approx
	}
	return ""
}

func (c canvas) etaCell(j *job.Job, v diagnosis.Verdict, s diagnosis.Environment, width int) string {
	if troubled(v.State) {
		return c.cell(c.theme.bad, string(v.State), width, true)
	}
	if left, ok := j.ETA(s.Now); ok {
		return c.cell(c.theme.text, TimeLeft(left), width, true)
	}
	return c.fit("", width)
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
func (c canvas) outcome(j *job.Job) string {
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
	text := c.theme.dim.Render(fmt.Sprintf("%-6s %-6s %-10s ", clock(c.now, endedAt(j)), took, items))
	if j.Errors > 0 {
		text += c.theme.bad.Render(fmt.Sprintf("%d err", j.Errors)) + " "
	}
	if j.Warnings > 0 {
		text += c.theme.waiting.Render(fmt.Sprintf("%d warn", j.Warnings)) + " "
	}
	if len(j.ValidationErrors) > 0 && j.Errors == 0 {
		text += c.theme.bad.Render("not valid")
	}
	return text
}
