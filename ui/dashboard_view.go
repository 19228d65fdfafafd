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

func (d *dashboard) Wheel(lines int) { d.tab.wheel(lines) }

// View draws the dashboard. The text about the selected row takes up to a quarter.
func (d *dashboard) View(c draw.Canvas) string {
	if !d.m.readable() {
		return d.compact(c)
	}
	about := d.about(c, max(c.Height/4, 1))
	for len(about) < min(2, c.Height/8) {
		about = append(about, "")
	}
	lines := []string{d.tabsLine(c), c.Rule()}
	d.rowsAt = len(lines) + 1 // below the titles
	body := c.Sized(c.Width, c.Height-len(lines)-len(about)-1)
	lines = append(lines, d.body(body)...)
	lines = append(lines, d.bottomRule(c))
	return c.Page(append(lines, about...))
}

// bottomRule says where in a list that is longer than the screen we are.
func (d *dashboard) bottomRule(c draw.Canvas) string {
	t := d.tab
	var words []string
	if len(t.rows) > t.height && t.cursor >= 0 {
		words = append(words, fmt.Sprintf("%d/%d", t.cursor+1, len(t.rows)))
	}
	if left := d.leftOut(t); left > 0 {
		words = append(words, fmt.Sprintf("%d older not shown", left))
	}
	if len(words) == 0 {
		return c.Rule()
	}
	place := " " + strings.Join(words, ", ") + " "
	line := strings.Repeat(c.Glyphs.Rule, max(c.Width-len(place)-2, 0))
	return c.Theme.Dim.Render(line + place + strings.Repeat(c.Glyphs.Rule, 2))
}

// leftOut is how many jobs of a tab are not kept because they ended too long ago.
func (d *dashboard) leftOut(t *tab) (left int) {
	for _, c := range known(d.m.clusters) {
		if t == d.backups {
			left += c.assessed.Snapshot.LeftBackups
		}
		if t == d.restores {
			left += c.assessed.Snapshot.LeftRestores
		}
	}
	return left
}

func (d *dashboard) compact(c draw.Canvas) string {
	t := d.tab
	t.setHeight(c.Height)
	d.tabsAt, d.rowsAt = nil, 0
	from, to := t.visible()
	var lines []string
	for i := from; i < to; i++ {
		lines = append(lines, d.highlighted(c, i, d.compactRow(d.in(t.rows[i], c), t.rows[i], i == t.cursor)))
	}
	if len(t.rows) == 0 {
		for _, text := range d.emptyTexts() {
			lines = append(lines, c.Cut(text, c.Width))
		}
	}
	return c.Page(lines)
}

func (d *dashboard) compactRow(c draw.Canvas, r row, selected bool) string {
	if other, ok := r.item.(*view.Row); ok {
		return shortRow(c, other, r.finding, selected)
	}
	if f, ok := r.item.(*clusterFinding); ok {
		sign, _, _ := f.look(c)
		return c.Fit(
			pointer(c, selected)+sign,
			2,
		) + " " + c.Cut(
			d.inCluster(r)+f.Ref()+" "+string(f.Reason),
			max(c.Width-3, 1),
		)
	}
	j, ok := r.item.(*job.Job)
	if !ok {
		return c.Theme.Dim.Render(c.Cut(r.heading, c.Width))
	}
	judged := clusterJob{r.cluster, j}.judged()
	tail := " " + view.JobStage(jobAt(c, r, j)).Fit(16)
	if len(j.Malformed) > 0 {
		tail = " " + malformedText(c, j.Malformed[0], 22)
	} else if !j.Terminal() && j.FractionKnown {
		tail = " " + human.Percent(j.Fraction)
		if judged.Troubled() {
			tail += " " + string(judged.State)
		}
	}
	width := max(c.Width-3-lipgloss.Width(tail), 4)
	return mark(
		c,
		judged,
		selected,
		2,
	) + " " + c.Fit(
		c.CutMiddle(d.inCluster(r)+view.KindLetter(j.Kind)+" "+j.Name, width),
		width,
	) + tail
}

// in is a canvas at the present of a row's cluster.
func (d *dashboard) in(r row, c draw.Canvas) draw.Canvas {
	if r.cluster == nil {
		return c
	}
	return c.AtTime(r.cluster.now(d.m.options.Clock))
}

func (d *dashboard) inCluster(r row) string {
	if !d.several() {
		return ""
	}
	return r.cluster.Context + " "
}

type labels struct{ names, short, tight, tightest, dense, counts, bare bool }

// tabsLine names the tabs, and a note at the right. The filter's count always shows in full, and labels
// become shorter before the filter does.
func (d *dashboard) tabsLine(c draw.Canvas) string {
	whole := lipgloss.Width(d.note(c, c.Width))
	for _, l := range []labels{
		{names: true, counts: true},
		{names: true},
		{names: true, short: true},
		{names: true, short: true, tight: true},
		{tight: true, tightest: true},
		{tight: true, tightest: true, dense: true},
		{},
		{bare: true},
	} {
		tabs := d.tabLabels(c, l)
		room := c.Width - lipgloss.Width(tabs) - 2
		if whole > room && l.names && !d.tab.filter.empty() {
			continue
		}
		note := d.note(c, room)
		// Of several clusters, the header names the one that something is wrong with.
		if lipgloss.Width(note) <= room || l.bare || l.tight && d.several() {
			return c.Split(tabs+" ", c.Cut(note, room)+" ")
		}
	}
	return ""
}

// note is what stands beside the tabs, in room cells if that is possible.
func (d *dashboard) note(c draw.Canvas, room int) string {
	switch {
	case !d.tab.filter.empty():
		count := fmt.Sprintf("  %d of %d", d.shown(), d.tab.count)
		return c.Theme.Accent.Render("/" + c.Cut(d.tab.filter.text, max(min(room-len(count)-1, 40), 6)) + count)
	case d.trouble(c) != "":
		return d.trouble(c)
	case len(d.marked) > 0:
		return c.Theme.Accent.Render(fmt.Sprintf("%d marked", len(d.marked)))
	case d.order > 0 && d.showsJobs():
		note := "sorted by " + orders[d.order].name
		if d.reversed {
			note += ", reversed"
		}
		return c.Theme.Dim.Render(note)
	}
	return ""
}

func (d *dashboard) tabLabels(c draw.Canvas, l labels) string {
	var named []string
	for i, t := range d.shownTabs() {
		label := fmt.Sprint(i + 1)
		switch {
		case l.tightest && (l.dense || t != d.tab):
			label += " " + t.name[:3]
		case l.tight && t != d.tab:
			label += " " + cmp.Or(t.short, t.name[:min(len(t.name), 4)])
		case l.short:
			label += " " + cmp.Or(t.short, t.name)
		case l.names, t == d.tab:
			label += " " + t.name
		}
		switch unread := t.count == 0 && t.name == resource.CoverageName; {
		case l.counts && unread:
			label += " ?"
		case l.counts && t != d.active:
			label += fmt.Sprintf(" %d", t.count)
		}
		alarms := d.attentionText(c, t.setting(), true, d.m.clusters...)
		switch {
		case l.bare:
			alarms = ""
		case !l.tight:
			alarms = human.Clause(" ", alarms)
		}
		if t == d.tab {
			named = append(named, c.Theme.Accent.Render("["+label)+alarms+c.Theme.Accent.Render("]"))
		} else {
			if !l.dense {
				label = " " + label
			}
			label = c.Theme.Dim.Render(label) + alarms
			if !l.tightest {
				label += " "
			}
			named = append(named, label)
		}
	}
	line, at := draw.Labels(named)
	d.tabsAt = at
	return line
}

func (d *dashboard) shown() int {
	n := 0
	for _, r := range d.tab.rows {
		if r.key != "" {
			n++
		}
	}
	return n
}

func (d *dashboard) body(c draw.Canvas) []string {
	t := d.tab
	t.setHeight(c.Height - 1)
	columns := columnsFor(t.rows, d.several(), d.columns)
	widths := view.FitColumns(columns, c.Width)
	titles := c.Titles(ordered(columns, d.columns), ordered(widths, d.columns), d.sorting())
	if t.other != nil {
		columns = columnsOf(t.groups, 0)
		titles = c.Titles(columns, view.FitColumns(columns, c.Width), draw.Sorting{})
	}
	lines := []string{titles}
	from, to := t.visible()
	for i := from; i < to; i++ {
		switch r := t.rows[i]; item := r.item.(type) {
		case *job.Job:
			line := jobRow(d.in(r, c), jobAt(d.in(r, c), r, item), widths, d.columns, i == t.cursor)
			if r.finding != nil {
				line = d.alarmed(d.in(r, c), r, line, i == t.cursor)
			}
			lines = append(lines, d.highlighted(c, i, line))
		case *clusterFinding:
			lines = append(lines, d.highlighted(c, i, d.findingRow(d.in(r, c), r, i == t.cursor)))
		case *view.Row:
			columns := columnsOf(t.groups, r.group)
			lines = append(lines, d.highlighted(c, i, otherRow(d.in(r, c), item, r.finding, columns, i == t.cursor)))
		default:
			lines = append(lines, headingLine(c, t.groups, r))
		}
	}
	if len(t.rows) == 0 {
		lines = append(lines, "")
		for _, text := range d.emptyTexts() {
			lines = append(lines, c.Note(c.Theme.Dim, text, 2, 4)...)
		}
	}
	return c.Lines(lines)
}

func (d *dashboard) highlighted(c draw.Canvas, i int, line string) string {
	t := d.tab
	line = d.marked.on(c, t.rows[i], line)
	if i != t.cursor {
		return line
	}
	return c.Selected(line)
}

// about tells of the selected row in words what its cells cannot.
func (d *dashboard) about(c draw.Canvas, lines int) []string {
	r, ok := d.tab.selected()
	if !ok {
		return nil
	}
	text, style := "", c.Theme.Text
	if other, isOther := r.item.(*view.Row); isOther {
		if text = other.About; other.Malformed != nil {
			text = aboutMalformed(other.Malformed)
		}
		if other.Alarm || other.Malformed != nil {
			style = c.Theme.Strong
		}
	}
	if f, isFinding := r.item.(*clusterFinding); isFinding {
		text = d.aboutFinding(d.in(r, c), f)
	}
	if j, isJob := r.item.(*job.Job); isJob {
		judged := clusterJob{r.cluster, j}.judged()
		text = judged.Verdict.Summary()
		if judged.Troubled() || len(j.Malformed) > 0 {
			style = c.Theme.Strong
			text += human.Clause(". ", jobview.Advice(judged, d.m.options.Keys))
		}
	}
	if trouble := r.cluster.trouble(); trouble != "" {
		text, style = strings.TrimSpace(trouble+" "+text), c.Theme.Strong
	}
	return c.Note(style, text, 1, lines)
}

// Click selects a tab or a row; again is true for the row that was selected.
func (d *dashboard) Click(x, y int) (again bool, cmd tea.Cmd) {
	if y == 0 {
		if i := draw.SpanAt(d.tabsAt, x); i >= 0 {
			d.show(d.shownTabs()[i])
			return false, nil
		}
	}
	return y >= d.rowsAt && d.tab.click(y-d.rowsAt), nil
}
