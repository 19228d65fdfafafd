package ui

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/draw"
)

// recently is how long an ended job stays on the active tab.
const recently = time.Hour

// tab is one of the dashboard's lists.
type tab int

const (
	tabActive tab = iota
	tabRestores
	tabBackups
	tabSchedules
	tabStorage
	tabCount
)

var tabNames = [tabCount]string{"Active", "Restores", "Backups", "Schedules", "Storage"}

// dashboard is the first screen: tabs of tables with one selected row.
type dashboard struct {
	tab    tab
	tables [tabCount]table
	counts [tabCount]int
	order  int
	filter filter
	// input is open while the filter is being typed.
	input  textinput.Model
	typing bool
	// marked are the jobs to finalize after one another.
	marked marks
}

func newDashboard() dashboard {
	input := textinput.New()
	input.Prompt = "/"
	input.CharLimit = 100
	input.SetVirtualCursor(true)
	d := dashboard{input: input, marked: marks{}}
	for i := range d.tables {
		d.tables[i].cursor = -1
	}
	return d
}

// load makes the rows of every tab out of a digest.
func (d *dashboard) load(dg *digest) {
	if dg == nil {
		return
	}
	d.marked.prune(dg)
	now := dg.surroundings.Now
	var backups, restores, ended []*job.Job
	for _, j := range dg.snap.Jobs {
		if j.Kind == job.Restore {
			restores = append(restores, j)
		} else {
			backups = append(backups, j)
		}
		if j.Terminal() && now.Sub(endedAt(j)) < recently {
			ended = append(ended, j)
		}
	}
	active := dg.byUrgency()
	if d.order > 0 {
		active = orders[d.order].sorted(dg.snap.Active)
	}
	activeRows := d.jobRows(active)
	d.counts = [tabCount]int{len(active), len(restores), len(backups), len(dg.snap.Schedules), len(dg.snap.Locations)}
	if endedRows := d.jobRows(byEnd(ended)); len(endedRows) > 0 {
		activeRows = append(activeRows, row{heading: "finished in the last hour"})
		activeRows = append(activeRows, endedRows...)
	}
	d.tables[tabActive].setRows(activeRows)
	d.tables[tabRestores].setRows(d.jobRows(orders[d.order].sorted(restores)))
	d.tables[tabBackups].setRows(d.jobRows(orders[d.order].sorted(backups)))
	d.tables[tabSchedules].setRows(d.scheduleRows(dg.snap.Schedules))
	d.tables[tabStorage].setRows(d.locationRows(dg.snap.Locations))
}

func (d *dashboard) jobRows(jobs []*job.Job) []row {
	rows := make([]row, 0, len(jobs))
	for _, j := range jobs {
		if d.filter.matchesJob(j) {
			rows = append(rows, row{key: string(j.UID), item: j})
		}
	}
	return rows
}

// selectedJob is the job under the cursor, or nil.
func (d *dashboard) selectedJob() *job.Job {
	r, ok := d.tables[d.tab].selected()
	if !ok {
		return nil
	}
	j, _ := r.item.(*job.Job)
	return j
}

// update acts on an action; opened is the job to open, if any.
func (d *dashboard) update(a action, k string, dg *digest) (opened types.UID, cmd tea.Cmd) {
	t := &d.tables[d.tab]
	switch a {
	case actUp:
		t.move(-1)
	case actDown:
		t.move(1)
	case actPageUp:
		t.move(-max(t.height-1, 1))
	case actPageDown:
		t.move(max(t.height-1, 1))
	case actHome:
		t.home()
	case actEnd:
		t.end()
	case actNextTab:
		d.tab = (d.tab + 1) % tabCount
	case actPrevTab:
		d.tab = (d.tab + tabCount - 1) % tabCount
	case actTab:
		if n := tab(k[0] - '1'); n < tabCount {
			d.tab = n
		}
	case actSort:
		d.order = (d.order + 1) % len(orders)
		d.load(dg)
	case actFilter:
		d.typing = true
		d.input.SetValue(d.filter.text)
		d.input.CursorEnd()
		return "", d.input.Focus()
	case actMark:
		d.marked.toggle(d.selectedJob().UID)
	case actBack:
		if d.filter.empty() {
			clear(d.marked)
		}
		d.setFilter("", dg)
	case actOpen:
		if j := d.selectedJob(); j != nil {
			return j.UID, nil
		}
	}
	return "", nil
}

func (d *dashboard) setFilter(text string, dg *digest) {
	if text != d.filter.text {
		d.filter = newFilter(text)
		d.load(dg)
	}
}

// typed handles what happens while the filter is being typed. Rows follow at
// once; enter keeps the filter and esc takes it away.
func (d *dashboard) typed(msg tea.Msg, dg *digest) tea.Cmd {
	if k, ok := msg.(tea.KeyPressMsg); ok {
		switch k.String() {
		case "enter", "up", "down":
			d.typing = false
			d.input.Blur()
			return nil
		case "esc", "ctrl+c":
			d.typing = false
			d.input.Blur()
			d.setFilter("", dg)
			return nil
		}
	}
	var cmd tea.Cmd
	d.input, cmd = d.input.Update(msg)
	d.setFilter(d.input.Value(), dg)
	return cmd
}

// view draws the dashboard between the header and the footer.
func (d *dashboard) view(c draw.Canvas, dg *digest) string {
	about := 2
	if c.Height < 16 {
		about = 1
	}
	lines := []string{d.tabsLine(c, dg), c.Rule()}
	body := c.Sized(c.Width, c.Height-len(lines)-about-1)
	lines = append(lines, d.body(body, dg)...)
	lines = append(lines, d.bottomRule(c))
	return c.Page(append(lines, d.explain(c, dg, about)...))
}

// bottomRule says where in a table that is longer than the screen we are.
func (d *dashboard) bottomRule(c draw.Canvas) string {
	t := &d.tables[d.tab]
	if len(t.rows) <= t.height || t.cursor < 0 {
		return c.Rule()
	}
	place := fmt.Sprintf(" %d/%d ", t.cursor+1, len(t.rows))
	line := strings.Repeat(c.Glyphs.Rule, max(c.Width-len(place)-2, 0))
	return c.Theme.Dim.Render(line + place + strings.Repeat(c.Glyphs.Rule, 2))
}

// compact draws one line a job for terminals that have no room for more.
func (d *dashboard) compact(c draw.Canvas, dg *digest) string {
	t := &d.tables[d.tab]
	t.setHeight(c.Height)
	from, to := t.visible()
	var lines []string
	for i := from; i < to; i++ {
		r := t.rows[i]
		j, ok := r.item.(*job.Job)
		if !ok {
			lines = append(lines, c.Theme.Dim.Render(c.Cut(cmp.Or(r.heading, r.key), c.Width)))
			continue
		}
		v := dg.verdict(j)
		_, stage := stageCell(c, j, v, 16)
		tail := " " + stage
		if !j.Terminal() && j.FractionKnown {
			tail = " " + Percent(j.Fraction)
			if troubled(v.State) {
				tail += " " + string(v.State)
			}
		}
		mark := mark(c, j, v, i == t.cursor, 2)
		line := mark + " " + c.Fit(kindLetter(j.Kind)+" "+j.Name, max(c.Width-3-lipgloss.Width(tail), 4)) + tail
		lines = append(lines, d.marked.on(c, r, line))
	}
	if len(t.rows) == 0 {
		lines = append(lines, c.Cut(d.emptyText(dg), c.Width))
	}
	return c.Page(lines)
}

func (d *dashboard) tabsLine(c draw.Canvas, dg *digest) string {
	note := ""
	switch {
	case !d.filter.empty():
		note = fmt.Sprintf("/%s  %d of %d ", c.Cut(d.filter.text, 20), d.shown(), d.counts[d.tab])
		note = c.Theme.Accent.Render(note)
	case dg != nil:
		note = trouble(c, dg.snap)
	}
	if lipgloss.Width(note) == 0 && len(d.marked) > 0 {
		note = c.Theme.Accent.Render(fmt.Sprintf("%d marked", len(d.marked)))
	}
	if lipgloss.Width(note) == 0 && d.order > 0 {
		note = c.Theme.Dim.Render("sorted by " + orders[d.order].name)
	}
	tabs := d.tabs(c, true, true)
	if lipgloss.Width(tabs)+lipgloss.Width(note) > c.Width {
		tabs = d.tabs(c, true, false)
	}
	if lipgloss.Width(tabs)+lipgloss.Width(note) > c.Width {
		tabs = d.tabs(c, false, false)
	}
	return c.Split(tabs+" ", c.Cut(note, c.Width-lipgloss.Width(tabs)-2)+" ")
}

func (d *dashboard) tabs(c draw.Canvas, names, counts bool) string {
	var labels []string
	for i := range tabCount {
		label := fmt.Sprint(int(i) + 1)
		if names || i == d.tab {
			label += " " + tabNames[i]
		}
		if counts && i != tabActive {
			label += fmt.Sprintf(" %d", d.counts[i])
		}
		style := c.Theme.Dim
		if i == d.tab {
			style = c.Theme.Accent
		}
		labels = append(labels, style.Render("["+label+"]"))
	}
	return " " + strings.Join(labels, " ")
}

// shown counts the rows that the filter let through.
func (d *dashboard) shown() int {
	n := 0
	for _, r := range d.tables[d.tab].rows {
		j, ok := r.item.(*job.Job)
		if r.key != "" && (!ok || d.tab != tabActive || !j.Terminal()) {
			n++
		}
	}
	return n
}

func (d *dashboard) body(c draw.Canvas, dg *digest) []string {
	t := &d.tables[d.tab]
	t.setHeight(c.Height - 1)
	columns, drawRow := d.columns(c, dg)
	widths := draw.FitColumns(columns, c.Width)
	lines := []string{c.Titles(columns, widths, orders[d.order].column)}
	from, to := t.visible()
	for i := from; i < to; i++ {
		if r := t.rows[i]; r.key == "" {
			lines = append(lines, c.Heading(r.heading))
		} else {
			lines = append(lines, d.marked.on(c, r, drawRow(c, r, widths, i == t.cursor)))
		}
	}
	if len(t.rows) == 0 {
		lines = append(lines, "")
		for _, line := range c.Sized(c.Width-4, 0).Wrap(d.emptyText(dg), 4) {
			lines = append(lines, "  "+c.Theme.Dim.Render(line))
		}
	}
	return strings.Split(c.Page(lines), "\n")
}

// columns are the columns of the present tab and the way to draw a row of it.
func (d *dashboard) columns(c draw.Canvas, dg *digest) ([]draw.Column, func(c draw.Canvas, r row, widths []int, selected bool) string) {
	switch d.tab {
	case tabSchedules:
		return scheduleColumns, scheduleRow
	case tabStorage:
		return locationColumns, locationRow
	default:
		return jobColumns, func(c draw.Canvas, r row, widths []int, selected bool) string {
			j := r.item.(*job.Job)
			return jobRow(c, j, dg.verdict(j), dg.surroundings, widths, selected)
		}
	}
}

// explain says about the selected row in words what its cells cannot.
func (d *dashboard) explain(c draw.Canvas, dg *digest, lines int) []string {
	r, ok := d.tables[d.tab].selected()
	if !ok || dg == nil {
		return nil
	}
	text := ""
	style := c.Theme.Text
	switch item := r.item.(type) {
	case *job.Job:
		v := dg.verdict(item)
		text = v.Summary
		if troubled(v.State) {
			style = c.Theme.Strong
			if v.Advice != "" {
				text += ". " + v.Advice
			}
		}
	default:
		text = explainOther(item)
	}
	var explained []string
	for _, line := range c.Sized(c.Width-2, 0).Wrap(text, lines) {
		explained = append(explained, " "+style.Render(line))
	}
	return explained
}
