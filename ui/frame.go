package ui

import (
	"cmp"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/view/narrate"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/terminal"
)

// Below the first size, jobs are listed one a line; below the second nothing is shown.
const (
	minWidth, minHeight   = 40, 12
	tinyWidth, tinyHeight = 16, 3
)

func (m *Model) readable() bool { return m.width >= minWidth && m.height >= minHeight }

// View draws the frame, or returns the last one if nothing changed since.
func (m *Model) View() tea.View {
	if m.stale {
		m.frame = m.render()
		m.stale = false
	}
	return m.frame
}

func (m *Model) render() tea.View {
	v := tea.NewView(m.content())
	v.AltScreen = !m.options.NoAltScreen
	if m.options.Mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	if m.options.Terminal.Title {
		v.WindowTitle = m.windowTitle()
	}
	if m.options.Terminal.Progress {
		v.ProgressBar = m.terminalProgress()
	}
	return v
}

func (m *Model) content() string {
	c := draw.Canvas{
		Width:  m.width,
		Height: m.height,
		Theme:  m.theme,
		Glyphs: m.glyphs,
		Now:    m.focus().now(m.options.Clock),
	}
	switch {
	case m.width == 0 || m.height == 0:
		return ""
	case m.width < tinyWidth || m.height < tinyHeight:
		return c.Page([]string{c.Cut("too small", m.width)})
	}
	corner := c.Sized(c.Width-1, c.Height) // a character in the last cell could scroll the screen
	bottom := []string{corner.Cut(m.bottomLine(corner), corner.Width)}
	if notice := cmp.Or(m.notice, m.switchingText()); notice != "" {
		bottom = c.Note(c.Theme.Waiting, notice, 1, 3)
	}
	if m.saveAs.Typing() {
		bottom = []string{corner.Cut(m.saveAs.View(corner.Width), corner.Width)}
	}
	if m.command.Typing() {
		bottom = m.command.View(c.Sized(c.Width, min(c.Height/3, 2)))
	}
	bottom = bottom[:min(len(bottom), max(c.Height-2, 1))]
	if g := m.options.Guide; g != nil && len(bottom) == 1 && find[*formScreen](m) == nil {
		on, ended := m.guideScreen()
		bottom = append(g.Draw(c, on, ended, m.screenKeys()), bottom...)
	}
	screen := m.top().View(c.Sized(c.Width, c.Height-1-len(bottom)))
	return strings.Join([]string{m.header(c), screen, strings.Join(bottom, "\n")}, "\n")
}

// bottomLine names the keys, or is where text is typed. A deaf dialog names none.
func (m *Model) bottomLine(c draw.Canvas) string {
	if p := m.prompting(); p != nil {
		return p.Prompt(c.Width)
	}
	switch top := m.top().(type) {
	case *helpScreen:
		return keys.Footer(c, top.Keys())
	case *dialogScreen:
		if top.Deaf() {
			return c.Theme.Dim.Render(" " + c.Glyphs.Ellipsis)
		}
	}
	return keys.Footer(c, m.screenKeys())
}

func (m *Model) watched() (assess.Judged, bool) {
	active := activeJobs(m.clusters...)
	var shown clusterJob
	selected := m.dashboard.selectedJob()
	switch s := m.job(); {
	case s != nil:
		shown = clusterJob{s.of, s.Job()}
	case find[*otherScreen](m) == nil && selected != nil && !selected.Terminal():
		row, _ := m.dashboard.tab.selected()
		shown = clusterJob{row.cluster, selected}
	case len(active) == 1:
		shown = active[0]
	}
	if shown.Job == nil || shown.Terminal() {
		return assess.Judged{}, false
	}
	return shown.judged(), true
}

func (m *Model) windowTitle() string {
	title, counts := "veltui ", m.titleCounts()
	j, ok := m.watched()
	switch {
	case counts != "" && ok:
		title += counts + ": "
	case counts != "":
		title += counts + " in "
	}
	switch {
	case !ok:
		return title + m.placeText()
	case !j.FractionKnown:
		return title + j.Name + " " + string(j.Stage)
	}
	return title + j.Name + " " + human.Percent(j.Fraction)
}

// titleCounts counts what has not ended, empty where that is one job or none.
func (m *Model) titleCounts() string {
	attention, _ := m.dashboard.openFindings("", m.clusters...)
	if len(activeJobs(m.clusters...)) < 2 {
		return attentionCount(attention)
	}
	n := countJobs(m.clusters)
	return joined(", ", n.stuck, attentionCount(attention), n.running, n.queued)
}

// terminalProgress is that of the watched job, else the least: a full bar means that all is done.
func (m *Model) terminalProgress() *tea.ProgressBar {
	j, ok := m.watched()
	if !ok {
		j, ok = m.leastFar()
	}
	if !ok || !j.FractionKnown {
		return nil
	}
	state := tea.ProgressBarDefault
	if j.Troubled() {
		state = tea.ProgressBarError
	}
	return tea.NewProgressBar(state, min(int(j.Fraction*100), 99))
}

// leastFar is the job with the least progress of those whose progress is known.
func (m *Model) leastFar() (least assess.Judged, found bool) {
	for _, active := range activeJobs(m.clusters...) {
		if j := active.judged(); j.FractionKnown && (!found || j.Fraction < least.Fraction) {
			least, found = j, true
		}
	}
	return least, found
}

// callDue says that a person may be called again.
type callDue struct{}

func (m *Model) hear(c *clusterState) {
	if notify := m.options.Terminal.Notify; notify == "" || notify == terminal.NoNotification {
		return
	}
	lines := c.news.Since(c.assessed)
	if narrate.Complete(c.assessed.Snapshot) {
		lines = append(lines, c.newFindings.Since(c.findings)...)
	}
	for _, line := range lines {
		if line.About = c.key(line.About); len(m.clusters) > 1 {
			line.Text = c.Context + ": " + line.Text
		}
		m.calls.Add(line)
	}
}

// call calls a person if that is due, or arms the clock for it.
func (m *Model) call() tea.Cmd {
	text, wait := m.calls.Due(m.options.Clock())
	switch {
	case text != "":
		return func() tea.Msg { return terminal.Notified{Text: text} }
	case wait > 0 && !m.calling:
		m.calling = true
		return tea.Tick(wait, func(time.Time) tea.Msg { return callDue{} })
	}
	return nil
}
