package jobview

import (
	"fmt"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/draw"
)

// renderContents draws what a restore restores and how far it is, or what a backup holds.
func renderContents(c draw.Canvas, s *Screen) []string {
	contents := s.contents
	if why := contents.UnavailableText(s.job.Job); why != "" {
		lines := append([]string{""}, c.RenderIndented(c.Theme.Dim, why, 2, 6)...)
		if contents != nil && contents.Pending && contents.Done > 0 {
			lines = append(lines, "", "  "+renderDownload(c, contents.Done, contents.Total))
		}
		return lines
	}
	if s.job.Kind == job.Backup {
		return renderBackupContents(c, contents.Resources)
	}
	return renderRestoreSteps(c, s.job.Job, contents.Estimate)
}

// renderDownload draws how much of a backup was downloaded, with a bar if the total is known.
func renderDownload(c draw.Canvas, done, total int64) string {
	if total <= 0 {
		return c.Theme.Text.Render(human.Bytes(done) + " so far")
	}
	fraction := min(float64(done)/float64(total), 1)
	text := fmt.Sprintf(" %4s  %s", human.Percent(fraction), human.BytesProgress(min(done, total), total))
	return c.RenderBar(fraction, min(max(c.Width-4-len(text), 4), 40)) + c.Theme.Text.Render(text)
}

// renderRestoreSteps lists the steps of a restore: done, current and to come.
func renderRestoreSteps(c draw.Canvas, j *job.Job, e collector.Estimate) []string {
	at := e.PositionAfter(j.Items.Done)
	if j.Stage == job.StageQueued {
		at = collector.Position{Step: -1} // all steps are to come
	}
	itemsDone := j.Stage != job.StageQueued && j.Stage != job.StageItems
	if itemsDone && !j.IsTerminal() || j.Phase == velero.PhaseCompleted {
		// No item is to come, whatever the estimate says.
		at = collector.Position{Step: len(e.Steps)}
	}
	columns := view.RestoreStepColumns(j, c.Glyphs.Approx)
	widths := view.FitColumns(columns, c.Width)
	if widths[5] == 0 {
		columns[4].Title = c.Glyphs.Approx + columns[4].Title
	}
	var lines []string
	if now := view.CurrentStepText(j, &e, at, c.Glyphs.Approx); now.Text != "" {
		lines = append(lines, c.Theme.ToneStyle(now.Tone).Render(" "+now.FitWidth(c.Width-1)))
	}
	lines = append(lines, c.RenderTableHeader(columns, widths, draw.SortOrder{}))
	for i := range e.Steps {
		lines = append(lines, renderStep(c, e, i, at, j.IsTerminal(), columns, widths)...)
	}
	notes := view.RestoreStepNotes(j, &e)
	if len(notes) > 0 {
		lines = append(lines, "")
	}
	for _, note := range notes {
		lines = append(lines, wrapNote(c, c.Theme.Dim, note, 3)...)
	}
	return lines
}

// renderStep draws the rows of a step: of its own resource and of the resources that it brings along, so that the
// rows of a resource add up to the numbers of `veltui estimate`. How the progress of the current step divides among
// its resources is unknown, so each gets its share.
func renderStep(
	c draw.Canvas,
	e collector.Estimate,
	i int,
	at collector.Position,
	over bool,
	columns []view.ScreenColumn,
	widths []int,
) (lines []string) {
	own := e.Steps[i]
	glyph, style, done, bar := c.Glyphs.Ahead, c.Theme.Dim, 0, ""
	switch {
	case i < at.Step:
		glyph, style, done = c.Glyphs.Done, c.Theme.Good, own.Items
	case i == at.Step && over:
		glyph, style, done = c.Glyphs.PartiallyFailed, c.Theme.Waiting, at.Done
	case i == at.Step:
		glyph, style, done = c.Glyphs.Current, c.Theme.Running, at.Done
		bar = c.RenderBar(float64(at.Done)/float64(max(at.Total, 1)), widths[5]-1)
	}
	name := c.Theme.Text
	if i > at.Step {
		name = c.Theme.Dim
	}
	row := func(name lipgloss.Style, resource, glyph string, done, of int, bar string) string {
		return renderTableRow(c, columns, widths, tableCell{}, tableCell{name, resource}, tableCell{style, glyph},
			tableCell{c.Theme.Text, fmt.Sprint(done)}, tableCell{c.Theme.Dim, fmt.Sprint(of)}, tableCell{text: bar})
	}
	left := done
	for _, b := range e.AdditionalItems {
		if b.Step != i {
			continue
		}
		share := done * b.Items / max(e.Steps[i].Items, 1)
		lines = append(lines, row(c.Theme.Dim, "  with "+b.Resource, "", share, b.Items, ""))
		own.Items, left = own.Items-b.Items, left-share
	}
	return append([]string{row(name, own.Resource, glyph, left, own.Items, bar)}, lines...)
}

// renderBackupContents lists a backup's items by kind, with the namespaces that have the most.
func renderBackupContents(c draw.Canvas, contents []collector.ResourceCount) []string {
	widths := view.FitColumns(view.ContentsColumns, c.Width)
	total := 0
	for _, r := range contents {
		total += r.Items
	}
	lines := []string{
		c.Theme.Strong.Render(" " + view.ItemsOfKinds(total, len(contents))),
		c.RenderTableHeader(view.ContentsColumns, widths, draw.SortOrder{}),
	}
	for _, r := range contents {
		lines = append(lines, renderTableRow(c, view.ContentsColumns, widths, tableCell{},
			tableCell{c.Theme.Text, r.Resource},
			tableCell{c.Theme.Text, fmt.Sprint(r.Items)},
			tableCell{c.Theme.Dim, human.TopCounts(r.Namespaces, -1)}))
	}
	return lines
}
