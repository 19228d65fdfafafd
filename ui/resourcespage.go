package ui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/job"
)

// resourcesPage shows what a restore restores, kind by kind and where it is in
// that, or what a backup holds.
func (c canvas) resourcesPage(j *job.Job, a *answer, asks bool) []string {
	if quiet := noAnswer(j, a, asks); quiet != "" {
		lines := []string{""}
		for _, line := range c.sized(c.width-4, 0).wrap(quiet, 6) {
			lines = append(lines, "  "+c.theme.dim.Render(line))
		}
		if a != nil && a.pending && a.done > 0 {
			lines = append(lines, "", "  "+c.downloadLine(a.done, a.total))
		}
		return lines
	}
	if j.Kind == job.Backup {
		return c.contentsPage(a.contents)
	}
	return c.restoredPage(j, a.estimate)
}

// noAnswer says why there is nothing to show, and what would help.
func noAnswer(j *job.Job, a *answer, asks bool) string {
	switch {
	case !asks:
		return "With --no-artifacts the dashboard does not look at what is in backups."
	case a == nil && j.Kind == job.Backup && !j.Terminal():
		return "What is in a backup is known when it has ended."
	case a == nil && j.Kind == job.Restore && j.BackupName == "":
		return "The restore has not been given a backup yet."
	case a == nil:
		return "What is in the backup was not asked for."
	case a.pending:
		return "Reading what is in the backup (it is downloaded once)..."
	case a.err != nil:
		return "What is in the backup is not known: " + a.err.Error()
	case len(a.estimate.Refused) > 0:
		return "Velero refuses this restore: " + strings.Join(a.estimate.Refused, " ")
	}
	return ""
}

// downloadLine is how much of a backup has come, with a bar if it is known how
// much there is.
func (c canvas) downloadLine(done, total int64) string {
	if total <= 0 {
		return c.theme.text.Render(size(done) + " so far")
	}
	fraction := min(float64(done)/float64(total), 1)
	text := fmt.Sprintf(" %4s  %s", Percent(fraction), sizes(min(done, total), total))
	return c.bar(fraction, min(max(c.width-4-len(text), 4), 40)) + c.theme.text.Render(text)
}

var stepColumns = []column{
	{width: 1},
	{title: "RESOURCE (restore order)", width: 18, grow: 2, limit: 50},
	{width: 1},
	{title: "RESTORED", width: 8, right: true},
	{title: "OF", width: 7, right: true},
	{width: 20, grow: 1, limit: 40, priority: 1},
}

// restoredPage lists the steps of a restore: done, now and to come.
func (c canvas) restoredPage(j *job.Job, e collector.Estimate) []string {
	at := e.Position(j.Items.Done)
	if j.Stage == job.StageQueued {
		at = collector.Position{Step: -1} // all is to come
	}
	itemsDone := j.Stage != job.StageQueued && j.Stage != job.StageItems
	if itemsDone && !j.Terminal() || j.Phase == "Completed" {
		// Whatever the estimate says, no item is to come.
		at = collector.Position{Step: len(e.Steps)}
	}
	columns := slices.Clone(stepColumns)
	widths := fitColumns(columns, c.width)
	if columns[5].title = "from the tarball, " + c.glyphs.approx; widths[5] == 0 {
		columns[4].title = c.glyphs.approx + columns[4].title
	}
	var lines []string
	if now := c.stepsLine(j, e, at); now != "" {
		lines = append(lines, now)
	}
	lines = append(lines, c.titles(columns, widths, ""))
	for i, step := range e.Steps {
		lines = append(lines, c.stepLine(step, i, at, j.Terminal(), widths))
	}
	return append(lines, c.caveats(j, e)...)
}

// stepsLine says in words where the restore is.
func (c canvas) stepsLine(j *job.Job, e collector.Estimate, at collector.Position) string {
	if j.Terminal() || j.Stage != job.StageItems || at.Resource == "" {
		return ""
	}
	text := fmt.Sprintf(" Now %s, %d of %s%d", at.Resource, at.Done, c.glyphs.approx, at.Of)
	if c.width >= 60 {
		text += fmt.Sprintf(", the %s of %d kinds", ordinal(at.Step+1), len(e.Steps))
	}
	return c.theme.strong.Render(text)
}

func (c canvas) stepLine(step collector.Step, i int, at collector.Position, over bool, widths []int) string {
	glyph, style, done, bar := c.glyphs.ahead, c.theme.dim, 0, ""
	switch {
	case i < at.Step:
		glyph, style, done = c.glyphs.done, c.theme.good, step.Items
	case i == at.Step && over:
		glyph, style, done = c.glyphs.partly, c.theme.waiting, at.Done
	case i == at.Step:
		glyph, style, done = c.glyphs.now, c.theme.running, at.Done
		bar = c.bar(float64(at.Done)/float64(max(at.Of, 1)), widths[5]-1)
	}
	name := c.theme.text
	if i > at.Step {
		name = c.theme.dim
	}
	return joinCells([]string{
		" ",
		c.cell(name, step.Resource, widths[1], false),
		c.cell(style, glyph, widths[2], false),
		c.cell(c.theme.text, fmt.Sprint(done), widths[3], true),
		c.cell(c.theme.dim, fmt.Sprint(step.Items), widths[4], true),
		bar,
	}, widths)
}

// caveats are what was taken for granted, and how the estimate compares with
// what Velero counted in the end.
func (c canvas) caveats(j *job.Job, e collector.Estimate) []string {
	var texts []string
	if j.Terminal() && j.Items.Known && j.Items.Done == j.Items.Total && j.Items.Total != e.Total {
		texts = append(texts, fmt.Sprintf("Velero counted %s in the end, the estimate was %d.", count(j.Items.Total, "item"), e.Total))
	} else if !j.Terminal() && j.Items.Known && !j.Items.Estimated && j.Items.Total > e.Total {
		texts = append(texts, fmt.Sprintf("Velero counts %s already, the estimate is %d.", count(j.Items.Total, "item"), e.Total))
	}
	texts = append(texts, e.Assumptions...)
	if len(texts) == 0 {
		return nil
	}
	lines := []string{""}
	for _, text := range texts {
		for _, line := range c.sized(c.width-2, 0).wrap(text, 3) {
			lines = append(lines, " "+c.theme.dim.Render(line))
		}
	}
	return lines
}

var contentColumns = []column{
	{width: 1},
	{title: "IN THE BACKUP", width: 18, grow: 1, limit: 50},
	{title: "ITEMS", width: 8, right: true},
	{title: "NAMESPACES", width: 24, grow: 2, priority: 1},
}

// contentsPage lists what a backup holds by kind, and the namespaces that hold
// most of it.
func (c canvas) contentsPage(contents []collector.ResourceCount) []string {
	widths := fitColumns(contentColumns, c.width)
	total := 0
	for _, r := range contents {
		total += r.Items
	}
	lines := []string{
		c.theme.strong.Render(fmt.Sprintf(" %s of %s", count(total, "item"), count(len(contents), "kind"))),
		c.titles(contentColumns, widths, ""),
	}
	for _, r := range contents {
		lines = append(lines, joinCells([]string{
			" ",
			c.cell(c.theme.text, r.Resource, widths[1], false),
			c.cell(c.theme.text, fmt.Sprint(r.Items), widths[2], true),
			c.cell(c.theme.dim, largest(r.Namespaces), widths[3], false),
		}, widths))
	}
	return lines
}

// largest names namespaces with their counts, the fullest first.
func largest(counts map[string]int) string {
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, counts[name])
	}
	return strings.Join(names, ", ")
}
