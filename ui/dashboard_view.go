package ui

import (
	"cmp"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/resource"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/jobview"
)

func (d *dashboard) HandleWheel(lines int) { d.openTab.scrollLines(lines) }

// View draws the dashboard. The text about the selected row takes up to a quarter of the height.
func (d *dashboard) View(c draw.Canvas) string {
	if !d.model.isLargeEnough() {
		return d.renderCompact(c)
	}
	about := d.renderSelectedDetails(c, max(c.Height/4, 1))
	for len(about) < min(2, c.Height/8) {
		about = append(about, "")
	}
	lines := []string{d.renderTabsLine(c), c.RenderRule()}
	d.firstRowLine = len(lines) + 1 // below the titles
	body := c.WithSize(c.Width, c.Height-len(lines)-len(about)-1)
	lines = append(lines, d.renderBody(body)...)
	lines = append(lines, d.renderBottomRule(c))
	return c.RenderPage(append(lines, about...))
}

// renderBottomRule draws the bottom rule, with the position in a list that is longer than the screen.
func (d *dashboard) renderBottomRule(c draw.Canvas) string {
	t := d.openTab
	var words []string
	if len(t.rows) > t.height && t.cursor >= 0 {
		words = append(words, fmt.Sprintf("%d/%d", t.cursor+1, len(t.rows)))
	}
	if left := d.countAgedOut(t); left > 0 {
		words = append(words, fmt.Sprintf("%d older not shown", left))
	}
	if len(words) == 0 {
		return c.RenderRule()
	}
	place := " " + strings.Join(words, ", ") + " "
	line := strings.Repeat(c.Glyphs.Rule, max(c.Width-len(place)-2, 0))
	return c.Theme.Dim.Render(line + place + strings.Repeat(c.Glyphs.Rule, 2))
}

// countAgedOut returns how many jobs of a tab are not kept because they ended too long ago.
func (d *dashboard) countAgedOut(t *dashboardTab) (left int) {
	for _, c := range knownClusters(d.model.clusters) {
		if t == d.backupsTab {
			left += c.assessment.Snapshot.AgedOutBackups
		}
		if t == d.restoresTab {
			left += c.assessment.Snapshot.AgedOutRestores
		}
	}
	return left
}

func (d *dashboard) renderCompact(c draw.Canvas) string {
	t := d.openTab
	t.setHeight(c.Height)
	d.tabSpans, d.firstRowLine = nil, 0
	from, to := t.visibleRange()
	var lines []string
	for i := from; i < to; i++ {
		lines = append(lines, d.highlightRow(c, i, d.renderCompactRow(d.canvasFor(t.rows[i], c), t.rows[i], i == t.cursor)))
	}
	if len(t.rows) == 0 {
		for _, text := range d.emptyTableReasons() {
			lines = append(lines, c.Truncate(text, c.Width))
		}
	}
	return c.RenderPage(lines)
}

func (d *dashboard) renderCompactRow(c draw.Canvas, r tableRow, selected bool) string {
	if other, ok := r.item.(*view.Row); ok {
		return renderCompactResourceRow(c, other, r.finding, selected)
	}
	if f, ok := r.item.(*clusterFinding); ok {
		sign, _, _ := f.signAndStyles(c)
		return c.FitLeft(
			renderCursor(c, selected)+sign,
			2,
		) + " " + c.Truncate(
			d.clusterPrefix(r)+f.Ref()+" "+f.Reason.String(),
			max(c.Width-3, 1),
		)
	}
	j, ok := r.item.(*job.Job)
	if !ok {
		return c.Theme.Dim.Render(c.Truncate(r.heading, c.Width))
	}
	judged := clusterJob{r.cluster, j}.judgedJob()
	tail := " " + view.StageText(newJobRow(c, r, j)).FitWidth(16)
	if len(j.MalformedFields) > 0 {
		tail = " " + renderMalformedField(c, j.MalformedFields[0], 22)
	} else if !j.IsTerminal() && j.FractionKnown {
		tail = " " + human.Percent(j.Fraction)
		if judged.IsTroubled() {
			tail += " " + string(judged.State)
		}
	}
	width := max(c.Width-3-lipgloss.Width(tail), 4)
	return renderJobSign(
		c,
		judged,
		selected,
		2,
	) + " " + c.FitLeft(
		c.TruncateMiddle(d.clusterPrefix(r)+view.KindLetter(j.Kind)+" "+j.Name, width),
		width,
	) + tail
}

// canvasFor returns the canvas with the time of the row's cluster.
func (d *dashboard) canvasFor(r tableRow, c draw.Canvas) draw.Canvas {
	if r.cluster == nil {
		return c
	}
	return c.WithNow(r.cluster.clusterTime(d.model.options.Clock))
}

func (d *dashboard) clusterPrefix(r tableRow) string {
	if !d.hasSeveralClusters() {
		return ""
	}
	return r.cluster.Context + " "
}

type tabLabelOptions struct {
	withNames, useShortNames                        bool
	abbreviateOthers, abbreviateMore, abbreviateAll bool
	withCounts, numbersOnly                         bool
}

// renderTabsLine draws the tabs, with a note at the right. The filter's count always shows in full, and the labels
// become shorter before the filter does.
func (d *dashboard) renderTabsLine(c draw.Canvas) string {
	whole := lipgloss.Width(d.renderTabNote(c, c.Width))
	for _, l := range []tabLabelOptions{
		{withNames: true, withCounts: true},
		{withNames: true},
		{withNames: true, useShortNames: true},
		{withNames: true, useShortNames: true, abbreviateOthers: true},
		{abbreviateOthers: true, abbreviateMore: true},
		{abbreviateOthers: true, abbreviateMore: true, abbreviateAll: true},
		{},
		{numbersOnly: true},
	} {
		tabs := d.renderTabLabels(c, l)
		room := c.Width - lipgloss.Width(tabs) - 2
		if whole > room && l.withNames && !d.openTab.filter.isEmpty() {
			continue
		}
		note := d.renderTabNote(c, room)
		// With several clusters, the header names the one in trouble.
		if lipgloss.Width(note) <= room || l.numbersOnly || l.abbreviateOthers && d.hasSeveralClusters() {
			return c.AlignEnds(tabs+" ", c.Truncate(note, room)+" ")
		}
	}
	return ""
}

// renderTabNote draws the note beside the tabs, in room cells if possible.
func (d *dashboard) renderTabNote(c draw.Canvas, room int) string {
	switch {
	case !d.openTab.filter.isEmpty():
		count := fmt.Sprintf("  %d of %d", d.countShownRows(), d.openTab.rowCount)
		return c.Theme.Accent.Render("/" + c.Truncate(d.openTab.filter.text, max(min(room-len(count)-1, 40), 6)) + count)
	case d.renderConnectionProblem(c) != "":
		return d.renderConnectionProblem(c)
	case d.countMarked() > 0:
		return c.Theme.Accent.Render(fmt.Sprintf("%d marked", d.countMarked()))
	case d.sortOrderIndex > 0 && d.showsJobs():
		note := "sorted by " + sortOrders[d.sortOrderIndex].name
		if d.isReversed {
			note += ", reversed"
		}
		return c.Theme.Dim.Render(note)
	}
	return ""
}

func (d *dashboard) renderTabLabels(c draw.Canvas, l tabLabelOptions) string {
	var named []string
	for i, t := range d.shownTabs() {
		label := fmt.Sprint(i + 1)
		switch {
		case l.abbreviateMore && (l.abbreviateAll || t != d.openTab):
			label += " " + t.name[:3]
		case l.abbreviateOthers && t != d.openTab:
			label += " " + cmp.Or(t.shortName, t.name[:min(len(t.name), 4)])
		case l.useShortNames:
			label += " " + cmp.Or(t.shortName, t.name)
		case l.withNames, t == d.openTab:
			label += " " + t.name
		}
		switch unread := t.rowCount == 0 && t.name == resource.CoverageTabName; {
		case l.withCounts && unread:
			label += " ?"
		case l.withCounts && t != d.activeTab:
			label += fmt.Sprintf(" %d", t.rowCount)
		}
		alarms := d.attentionText(c, t.configName(), true, d.model.clusters...)
		switch {
		case l.numbersOnly:
			alarms = ""
		case !l.abbreviateOthers:
			alarms = human.Prefixed(" ", alarms)
		}
		if t == d.openTab {
			named = append(named, c.Theme.Accent.Render("["+label)+alarms+c.Theme.Accent.Render("]"))
		} else {
			if !l.abbreviateAll {
				label = " " + label
			}
			label = c.Theme.Dim.Render(label) + alarms
			if !l.abbreviateMore {
				label += " "
			}
			named = append(named, label)
		}
	}
	line, at := draw.JoinLabels(named)
	d.tabSpans = at
	return line
}

func (d *dashboard) countShownRows() int {
	n := 0
	for _, r := range d.openTab.rows {
		if r.key != "" {
			n++
		}
	}
	return n
}

func (d *dashboard) renderBody(c draw.Canvas) []string {
	t := d.openTab
	t.setHeight(c.Height - 1)
	columns := fitJobColumns(t.rows, d.hasSeveralClusters(), d.columns)
	widths := view.FitColumns(columns, c.Width)
	titles := c.RenderTableHeader(pickColumns(columns, d.columns), pickColumns(widths, d.columns), d.titleSortOrder())
	if t.resourceTab != nil {
		columns = groupColumns(t.groups, 0)
		titles = c.RenderTableHeader(columns, view.FitColumns(columns, c.Width), draw.SortOrder{})
	}
	lines := []string{titles}
	from, to := t.visibleRange()
	for i := from; i < to; i++ {
		switch r := t.rows[i]; item := r.item.(type) {
		case *job.Job:
			line := renderJobRow(d.canvasFor(r, c), newJobRow(d.canvasFor(r, c), r, item), widths, d.columns, i == t.cursor)
			if r.finding != nil {
				line = d.overlayFindingSign(d.canvasFor(r, c), r, line, i == t.cursor)
			}
			lines = append(lines, d.highlightRow(c, i, line))
		case *clusterFinding:
			lines = append(lines, d.highlightRow(c, i, d.renderFindingRow(d.canvasFor(r, c), r, i == t.cursor)))
		case *view.Row:
			columns := groupColumns(t.groups, r.group)
			lines = append(
				lines,
				d.highlightRow(c, i, renderResourceRow(d.canvasFor(r, c), item, r.finding, columns, i == t.cursor)),
			)
		default:
			lines = append(lines, renderHeading(c, t.groups, r))
		}
	}
	if len(t.rows) == 0 {
		lines = append(lines, "")
		for _, text := range d.emptyTableReasons() {
			lines = append(lines, c.RenderIndented(c.Theme.Dim, text, 2, 4)...)
		}
	}
	return c.FitLines(lines)
}

func (d *dashboard) highlightRow(c draw.Canvas, i int, line string) string {
	t := d.openTab
	line = d.marked.overlayMark(c, t.rows[i], line)
	if i != t.cursor {
		return line
	}
	return c.HighlightRow(line)
}

// renderSelectedDetails describes the selected row in words, beyond what its cells say.
func (d *dashboard) renderSelectedDetails(c draw.Canvas, lines int) []string {
	r, ok := d.openTab.selectedRow()
	if !ok {
		return nil
	}
	text, style := "", c.Theme.Text
	if other, isOther := r.item.(*view.Row); isOther {
		if text = other.Summary; other.Malformed != nil {
			text = malformedSentence(other.Malformed)
		}
		if other.NeedsAttention || other.Malformed != nil {
			style = c.Theme.Strong
		}
	}
	if f, isFinding := r.item.(*clusterFinding); isFinding {
		text = d.findingText(d.canvasFor(r, c), f)
	}
	if j, isJob := r.item.(*job.Job); isJob {
		judged := clusterJob{r.cluster, j}.judgedJob()
		text = judged.Verdict.Summary()
		if judged.IsTroubled() || len(j.MalformedFields) > 0 {
			style = c.Theme.Strong
			text += human.Prefixed(". ", jobview.FormatAdvice(judged, d.model.options.Keys, r.cluster.jobDependencies.MayChange))
		}
	}
	if trouble := r.cluster.connectionProblem(); trouble != "" {
		text, style = strings.TrimSpace(trouble+" "+text), c.Theme.Strong
	}
	return c.RenderIndented(style, text, 1, lines)
}

// HandleClick selects a tab or a row; again is true if the row was already selected.
func (d *dashboard) HandleClick(x, y int) (again bool, cmd tea.Cmd) {
	if y == 0 {
		if i := draw.SpanAt(d.tabSpans, x); i >= 0 {
			d.showTab(d.shownTabs()[i])
			return false, nil
		}
	}
	return y >= d.firstRowLine && d.openTab.selectLine(y-d.firstRowLine), nil
}
