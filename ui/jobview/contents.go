package jobview

import (
	"fmt"
	"slices"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/draw"
)

// Contents are the contents of a job's backup, as far as they were read. A value is never changed.
type Contents struct {
	// While Pending, Done of Total bytes were read; Total is 0 if unknown.
	Pending     bool
	Done, Total int64

	Estimate  collector.Estimate        // the items that a restore restores
	Resources []collector.ResourceCount // the items that a backup holds
	Err       error
}

// ForbiddenContents replaces the contents where veltui may not read any.
var ForbiddenContents = &Contents{}

// renderContents draws what a restore restores and how far it is, or what a backup holds.
func renderContents(c draw.Canvas, s *Screen) []string {
	contents := s.contents
	if why := contentsUnavailable(s.job.Job, contents); why != "" {
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

// contentsUnavailable returns why there are no contents to show, with what would help; empty if there are.
func contentsUnavailable(j *job.Job, contents *Contents) string {
	switch {
	case contents == ForbiddenContents:
		return "With --no-artifacts veltui does not read the contents of backups."
	case contents == nil && j.Kind == job.Backup && (j.Stage == job.StageOperations || j.Stage == job.StageFinalizing):
		return "Velero may write the contents of this backup anew until it has ended; veltui reads them then."
	case contents == nil && j.Kind == job.Backup && !j.IsTerminal():
		return "Velero stores what is in a backup when all items are done."
	case contents == nil && j.Kind == job.Restore && j.BackupName == "":
		return "The restore has no backup yet."
	case contents == nil:
		return "Nobody has asked for the backup's contents yet."
	case contents.Pending:
		return "Reading the backup's contents (downloaded only once)..."
	case contents.Err != nil:
		return "The backup's contents are unknown: " + contents.Err.Error()
	case len(contents.Estimate.Refusals) > 0:
		return view.EstimateRefusal(contents.Estimate.Refusals)
	}
	return ""
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

var stepColumns = []view.ScreenColumn{
	{Width: 1},
	{Title: "RESOURCE (restore order)", Width: 18, Grow: 2, Limit: 50},
	{Width: 1},
	{Title: "RESTORED", Width: 8, Right: true},
	{Title: "OF", Width: 7, Right: true},
	{Width: 20, Grow: 1, Limit: 40, Priority: 1},
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
	columns := slices.Clone(stepColumns)
	widths := view.FitColumns(columns, c.Width)
	if j.Errors > 0 { // the counts do not tell which items the errors are about
		columns[3].Title = "TRIED"
	}
	if columns[5].Title = "from the tarball, " + c.Glyphs.Approx; widths[5] == 0 {
		columns[4].Title = c.Glyphs.Approx + columns[4].Title
	}
	var lines []string
	if now := renderCurrentStep(c, j, e, at); now != "" {
		lines = append(lines, now)
	}
	lines = append(lines, c.RenderTableHeader(columns, widths, draw.SortOrder{}))
	for i := range e.Steps {
		lines = append(lines, renderStep(c, e, i, at, j.IsTerminal(), widths)...)
	}
	return append(lines, renderCaveats(c, j, e)...)
}

// renderCurrentStep describes the current step of the restore in words.
func renderCurrentStep(c draw.Canvas, j *job.Job, e collector.Estimate, at collector.Position) string {
	if j.IsTerminal() || j.Stage != job.StageItems || at.Resource == "" {
		return ""
	}
	text := fmt.Sprintf(" Now %s, %d of %s%d", at.Resource, at.Done, c.Glyphs.Approx, at.Total)
	if c.Width >= 60 {
		text += fmt.Sprintf(", the %s of %s", human.Ordinal(at.Step+1), human.Count(len(e.Steps), "kind"))
	}
	return c.Theme.Strong.Render(text)
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
		return renderTableRow(c, stepColumns, widths, tableCell{}, tableCell{name, resource}, tableCell{style, glyph},
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

// renderCaveats draws the assumptions, and how the estimate compares with Velero's counts.
func renderCaveats(c draw.Canvas, j *job.Job, e collector.Estimate) []string {
	var texts []string
	if j.Errors > 0 {
		texts = append(
			texts,
			"Velero reports "+human.Count(
				j.Errors,
				"error",
			)+": it tried to restore these items, and not all of them are restored.",
		)
	}
	if j.IsTerminal() && j.Items.Known && j.Items.Done == j.Items.Total && j.Items.Total != e.Total {
		texts = append(
			texts,
			fmt.Sprintf(
				"Velero counted %s; the estimate was %s.",
				human.Count(j.Items.Total, "item"),
				human.Number(e.Total),
			),
		)
	} else if !j.IsTerminal() && j.Items.Known && !j.Items.Estimated && j.Items.Total > e.Total {
		texts = append(
			texts,
			fmt.Sprintf("Velero already counts %s; the estimate is %d.", human.Count(j.Items.Total, "item"), e.Total),
		)
	}
	texts = append(texts, e.Assumptions...)
	if len(texts) == 0 {
		return nil
	}
	lines := []string{""}
	for _, text := range texts {
		lines = append(lines, wrapNote(c, c.Theme.Dim, text, 3)...)
	}
	return lines
}

var contentColumns = []view.ScreenColumn{
	{Width: 1},
	{Title: "IN THE BACKUP", Width: 18, Grow: 1, Limit: 50},
	{Title: "ITEMS", Width: 8, Right: true},
	{Title: "NAMESPACES", Width: 24, Grow: 2, Priority: 1},
}

// renderBackupContents lists a backup's items by kind, with the namespaces that have the most.
func renderBackupContents(c draw.Canvas, contents []collector.ResourceCount) []string {
	widths := view.FitColumns(contentColumns, c.Width)
	total := 0
	for _, r := range contents {
		total += r.Items
	}
	lines := []string{
		c.Theme.Strong.Render(fmt.Sprintf(" %s of %s", human.Count(total, "item"), human.Count(len(contents), "kind"))),
		c.RenderTableHeader(contentColumns, widths, draw.SortOrder{}),
	}
	for _, r := range contents {
		lines = append(lines, renderTableRow(c, contentColumns, widths, tableCell{}, tableCell{c.Theme.Text, r.Resource},
			tableCell{c.Theme.Text, fmt.Sprint(r.Items)}, tableCell{c.Theme.Dim, human.TopCounts(r.Namespaces, -1)}))
	}
	return lines
}
