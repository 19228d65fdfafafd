package jobview

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/draw"
)

// Contents is what was read from the backup of a job. It does not change.
type Contents struct {
	// Done of Total bytes, 0 if unknown, have come while Pending.
	Pending     bool
	Done, Total int64

	Estimate  collector.Estimate        // of what a restore restores
	Resources []collector.ResourceCount // that a backup holds
	Err       error
}

// NoArtifacts stands for the contents where none may be read.
var NoArtifacts = &Contents{}

// contentsLines show what a restore restores and where it is in that, or what a backup holds.
func contentsLines(c draw.Canvas, s *Screen) []string {
	contents := s.contents
	if why := whyNoContents(s.job.Job, contents); why != "" {
		lines := append([]string{""}, c.Note(c.Theme.Dim, why, 2, 6)...)
		if contents != nil && contents.Pending && contents.Done > 0 {
			lines = append(lines, "", "  "+downloadLine(c, contents.Done, contents.Total))
		}
		return lines
	}
	if s.job.Kind == job.Backup {
		return contentsPage(c, contents.Resources)
	}
	return restoredPage(c, s.job.Job, contents.Estimate)
}

// whyNoContents says why there is nothing to show, and what would help.
func whyNoContents(j *job.Job, contents *Contents) string {
	switch {
	case contents == NoArtifacts:
		return "With --no-artifacts veltui does not read the contents of backups."
	case contents == nil && j.Kind == job.Backup && (j.Stage == job.StageOperations || j.Stage == job.StageFinalizing):
		return "Velero may write the contents of this backup anew until it has ended; veltui reads them then."
	case contents == nil && j.Kind == job.Backup && !j.Terminal():
		return "Velero stores what is in a backup when all items are done."
	case contents == nil && j.Kind == job.Restore && j.BackupName == "":
		return "The restore has no backup yet."
	case contents == nil:
		return "Nobody has asked for the backup's contents yet."
	case contents.Pending:
		return "Reading the backup's contents (downloaded only once)..."
	case contents.Err != nil:
		return "The backup's contents are unknown: " + contents.Err.Error()
	case len(contents.Estimate.Refused) > 0:
		return "Velero refuses this restore: " + strings.Join(contents.Estimate.Refused, " ")
	}
	return ""
}

// downloadLine is how much of a backup has come, with a bar if the total is known.
func downloadLine(c draw.Canvas, done, total int64) string {
	if total <= 0 {
		return c.Theme.Text.Render(human.Bytes(done) + " so far")
	}
	fraction := min(float64(done)/float64(total), 1)
	text := fmt.Sprintf(" %4s  %s", human.Percent(fraction), human.BytesOf(min(done, total), total))
	return c.Bar(fraction, min(max(c.Width-4-len(text), 4), 40)) + c.Theme.Text.Render(text)
}

var stepColumns = []view.ScreenColumn{
	{Width: 1},
	{Title: "RESOURCE (restore order)", Width: 18, Grow: 2, Limit: 50},
	{Width: 1},
	{Title: "RESTORED", Width: 8, Right: true},
	{Title: "OF", Width: 7, Right: true},
	{Width: 20, Grow: 1, Limit: 40, Priority: 1},
}

// restoredPage lists the steps of a restore: done, now and to come.
func restoredPage(c draw.Canvas, j *job.Job, e collector.Estimate) []string {
	at := e.Position(j.Items.Done)
	if j.Stage == job.StageQueued {
		at = collector.Position{Step: -1} // all is to come
	}
	itemsDone := j.Stage != job.StageQueued && j.Stage != job.StageItems
	if itemsDone && !j.Terminal() || j.Phase == velero.PhaseCompleted {
		// Whatever the estimate says, no item is to come.
		at = collector.Position{Step: len(e.Steps)}
	}
	columns := slices.Clone(stepColumns)
	widths := view.FitColumns(columns, c.Width)
	if j.Errors > 0 { // which items they are about, the counts do not tell
		columns[3].Title = "TRIED"
	}
	if columns[5].Title = "from the tarball, " + c.Glyphs.Approx; widths[5] == 0 {
		columns[4].Title = c.Glyphs.Approx + columns[4].Title
	}
	var lines []string
	if now := stepsLine(c, j, e, at); now != "" {
		lines = append(lines, now)
	}
	lines = append(lines, c.Titles(columns, widths, draw.Sorting{}))
	for i := range e.Steps {
		lines = append(lines, stepLines(c, e, i, at, j.Terminal(), widths)...)
	}
	return append(lines, caveats(c, j, e)...)
}

// stepsLine says in words where the restore is.
func stepsLine(c draw.Canvas, j *job.Job, e collector.Estimate, at collector.Position) string {
	if j.Terminal() || j.Stage != job.StageItems || at.Resource == "" {
		return ""
	}
	text := fmt.Sprintf(" Now %s, %d of %s%d", at.Resource, at.Done, c.Glyphs.Approx, at.Of)
	if c.Width >= 60 {
		text += fmt.Sprintf(", the %s of %s", human.Ordinal(at.Step+1), human.Count(len(e.Steps), "kind"))
	}
	return c.Theme.Strong.Render(text)
}

// stepLines are the rows of a step's own resource and of those that it brings along, so that a resource's rows
// sum up to what `veltui estimate` says. How much of the present step is whose is unknown: each has its share.
func stepLines(
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
		glyph, style, done = c.Glyphs.Partly, c.Theme.Waiting, at.Done
	case i == at.Step:
		glyph, style, done = c.Glyphs.Now, c.Theme.Running, at.Done
		bar = c.Bar(float64(at.Done)/float64(max(at.Of, 1)), widths[5]-1)
	}
	name := c.Theme.Text
	if i > at.Step {
		name = c.Theme.Dim
	}
	row := func(name lipgloss.Style, resource, glyph string, done, of int, bar string) string {
		return tableRow(c, stepColumns, widths, cell{}, cell{name, resource}, cell{style, glyph},
			cell{c.Theme.Text, fmt.Sprint(done)}, cell{c.Theme.Dim, fmt.Sprint(of)}, cell{text: bar})
	}
	left := done
	for _, b := range e.Brought {
		if b.Step != i {
			continue
		}
		share := done * b.Items / max(e.Steps[i].Items, 1)
		lines = append(lines, row(c.Theme.Dim, "  with "+b.Resource, "", share, b.Items, ""))
		own.Items, left = own.Items-b.Items, left-share
	}
	return append([]string{row(name, own.Resource, glyph, left, own.Items, bar)}, lines...)
}

// caveats are assumptions, and how the estimate compares with what Velero counted.
func caveats(c draw.Canvas, j *job.Job, e collector.Estimate) []string {
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
	if j.Terminal() && j.Items.Known && j.Items.Done == j.Items.Total && j.Items.Total != e.Total {
		texts = append(
			texts,
			fmt.Sprintf(
				"Velero counted %s; the estimate was %s.",
				human.Count(j.Items.Total, "item"),
				human.Number(e.Total),
			),
		)
	} else if !j.Terminal() && j.Items.Known && !j.Items.Estimated && j.Items.Total > e.Total {
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
		lines = append(lines, note(c, c.Theme.Dim, text, 3)...)
	}
	return lines
}

var contentColumns = []view.ScreenColumn{
	{Width: 1},
	{Title: "IN THE BACKUP", Width: 18, Grow: 1, Limit: 50},
	{Title: "ITEMS", Width: 8, Right: true},
	{Title: "NAMESPACES", Width: 24, Grow: 2, Priority: 1},
}

// contentsPage lists a backup's items by kind, and the namespaces with most of them.
func contentsPage(c draw.Canvas, contents []collector.ResourceCount) []string {
	widths := view.FitColumns(contentColumns, c.Width)
	total := 0
	for _, r := range contents {
		total += r.Items
	}
	lines := []string{
		c.Theme.Strong.Render(fmt.Sprintf(" %s of %s", human.Count(total, "item"), human.Count(len(contents), "kind"))),
		c.Titles(contentColumns, widths, draw.Sorting{}),
	}
	for _, r := range contents {
		lines = append(lines, tableRow(c, contentColumns, widths, cell{}, cell{c.Theme.Text, r.Resource},
			cell{c.Theme.Text, fmt.Sprint(r.Items)}, cell{c.Theme.Dim, human.Largest(r.Namespaces, -1)}))
	}
	return lines
}
