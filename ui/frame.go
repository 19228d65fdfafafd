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

// Below the first size, jobs are listed one per line; below the second, nothing is shown.
const (
	minWidth, minHeight               = 40, 12
	compactMinWidth, compactMinHeight = 16, 3
)

func (m *Model) isLargeEnough() bool { return m.width >= minWidth && m.height >= minHeight }

// View draws the frame, or returns the last one if nothing changed since.
func (m *Model) View() tea.View {
	if m.isFrameStale {
		m.frame = m.renderFrame()
		m.isFrameStale = false
	}
	return m.frame
}

func (m *Model) renderFrame() tea.View {
	v := tea.NewView(m.renderContent())
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

func (m *Model) renderContent() string {
	c := draw.Canvas{
		Width:  m.width,
		Height: m.height,
		Theme:  m.theme,
		Glyphs: m.glyphs,
		Now:    m.focusedCluster().clusterTime(m.options.Clock),
	}
	switch {
	case m.width == 0 || m.height == 0:
		return ""
	case m.width < compactMinWidth || m.height < compactMinHeight:
		return c.RenderPage([]string{c.Truncate("too small", m.width)})
	}
	corner := c.WithSize(c.Width-1, c.Height) // a character in the last cell could scroll the screen

	// The bottom line is drawn after the screen: its keys depend on what the screen selects.
	const bottomLine = ""
	bottom := []string{bottomLine}
	if notice := cmp.Or(m.notice, m.switchingText()); notice != "" {
		bottom = c.RenderIndented(c.Theme.Waiting, notice, 1, 3)
	}
	if m.savePrompt.IsTyping() {
		bottom = []string{corner.Truncate(m.savePrompt.View(corner.Width), corner.Width)}
	}
	if m.commandLine.IsTyping() {
		bottom = m.commandLine.View(c.WithSize(c.Width, min(c.Height/3, 2)))
	}
	bottom = bottom[:min(len(bottom), max(c.Height-2, 1))]
	if g := m.options.Guide; g != nil && len(bottom) == 1 && findScreen[*restoreFormScreen](m) == nil {
		on, ended := m.guideState()
		bottom = append(g.RenderHint(c, on, ended, m.screenBindings()), bottom...)
	}
	screen := m.topScreen().View(c.WithSize(c.Width, c.Height-1-len(bottom)))
	if last := len(bottom) - 1; bottom[last] == bottomLine {
		bottom[last] = corner.Truncate(m.renderBottomLine(corner), corner.Width)
	}
	return strings.Join([]string{m.renderHeader(c), screen, strings.Join(bottom, "\n")}, "\n")
}

// renderBottomLine draws the key hints, or the prompt while text is typed. A dialog that ignores keys shows an
// ellipsis.
func (m *Model) renderBottomLine(c draw.Canvas) string {
	if p := m.activePrompt(); p != nil {
		return p.RenderPrompt(c.Width)
	}
	switch top := m.topScreen().(type) {
	case *helpScreen:
		return keys.RenderFooter(c, top.Bindings())
	case *dialogScreen:
		if top.IgnoresKeys() {
			return c.Theme.Dim.Render(" " + c.Glyphs.Ellipsis)
		}
	}
	return keys.RenderFooter(c, m.screenBindings())
}

func (m *Model) titleJob() (assess.JudgedJob, bool) {
	active := activeJobs(m.clusters...)
	var shown clusterJob
	selected := m.dashboard.selectedJob()
	switch s := m.findJobScreen(); {
	case s != nil:
		shown = clusterJob{s.clusterState, s.Job()}
	case findScreen[*resourceScreen](m) == nil && selected != nil && !selected.IsTerminal():
		row, _ := m.dashboard.openTab.selectedRow()
		shown = clusterJob{row.cluster, selected}
	case len(active) == 1:
		shown = active[0]
	}
	if shown.Job == nil || shown.IsTerminal() {
		return assess.JudgedJob{}, false
	}
	return shown.judgedJob(), true
}

func (m *Model) windowTitle() string {
	title, counts := "veltui ", m.titleCountsText()
	j, ok := m.titleJob()
	switch {
	case counts != "" && ok:
		title += counts + ": "
	case counts != "":
		title += counts + " in "
	}
	switch {
	case !ok:
		return title + m.contextText()
	case !j.FractionKnown:
		return title + j.Name + " " + string(j.Stage)
	}
	return title + j.Name + " " + human.Percent(j.Fraction)
}

// titleCountsText counts findings and jobs for the window title; it leaves out the jobs if at most one has not ended.
func (m *Model) titleCountsText() string {
	attention, _ := m.dashboard.countOpenFindings("", m.clusters...)
	if len(activeJobs(m.clusters...)) < 2 {
		return attentionCountText(attention)
	}
	n := countJobs(m.clusters)
	return joinNonEmpty(", ", n.Stuck, attentionCountText(attention), n.Running, n.Queued)
}

// terminalProgress returns the progress of the watched job, or else the least progress of all jobs: a full bar means
// that everything is done.
func (m *Model) terminalProgress() *tea.ProgressBar {
	j, ok := m.titleJob()
	if !ok {
		j, ok = m.leastAdvancedJob()
	}
	if !ok || !j.FractionKnown {
		return nil
	}
	state := tea.ProgressBarDefault
	if j.IsTroubled() {
		state = tea.ProgressBarError
	}
	return tea.NewProgressBar(state, min(int(j.Fraction*100), 99))
}

// leastAdvancedJob returns the job with the least known progress.
func (m *Model) leastAdvancedJob() (least assess.JudgedJob, found bool) {
	for _, active := range activeJobs(m.clusters...) {
		if j := active.judgedJob(); j.FractionKnown && (!found || j.Fraction < least.Fraction) {
			least, found = j, true
		}
	}
	return least, found
}

// notifyDueMsg says that the next notification may be sent.
type notifyDueMsg struct{}

func (m *Model) collectNotifications(c *clusterState) {
	if notify := m.options.Terminal.Notify; notify == "" || notify == terminal.NoNotification {
		return
	}
	lines := c.jobNews.CollectLines(c.assessment)
	if narrate.IsSnapshotComplete(c.assessment.Snapshot) {
		lines = append(lines, c.newFindings.CollectLines(c.findings)...)
	}
	for _, line := range lines {
		if line.Subject = c.rowKey(line.Subject); len(m.clusters) > 1 {
			line.Text = c.Context + ": " + line.Text
		}
		m.notifications.AddLines(line)
	}
}

// sendNotification sends a notification if one is due, or arms a timer for it.
func (m *Model) sendNotification() tea.Cmd {
	text, wait := m.notifications.NextNotification(m.options.Clock())
	switch {
	case text != "":
		return func() tea.Msg { return terminal.NotifyMsg{Text: text} }
	case wait > 0 && !m.notifyArmed:
		m.notifyArmed = true
		return tea.Tick(wait, func(time.Time) tea.Msg { return notifyDueMsg{} })
	}
	return nil
}
