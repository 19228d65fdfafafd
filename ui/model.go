package ui

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/watch"
)

// The smallest terminals: below the first, jobs are listed one a line; below
// the second nothing can be shown.
const (
	minWidth, minHeight   = 40, 12
	tinyWidth, tinyHeight = 16, 3
)

// idleTick is the slow clock's pace while nothing runs.
const idleTick = time.Minute

// Model is the root: it routes messages to the screens and draws the frame
// around them. The pointer is the tea.Model.
type Model struct {
	options  Options
	bindings []binding
	// next is the command that waits for the next snapshot.
	next   tea.Cmd
	theme  *draw.Theme
	glyphs *draw.Glyphs

	width, height int
	digest        *digest
	dashboard     dashboard
	// job is the open job's screen, nil on the dashboard.
	job       *jobScreen
	estimates estimates
	// dialog is the finalize dialog over the screen, nil while there is none.
	dialog     *finalizeDialog
	finalizing *finalizing
	rights     rights
	// notice answers a key that could do nothing; it goes with the next key.
	notice string
	// said are lines for the user's own terminal when the program has ended.
	said []string
	// help is how far the help text is scrolled, -1 while it is closed.
	help int
	// ticking is true while the slow clock is armed, at pace.
	ticking bool
	pace    time.Duration

	// frame is the last drawn view; it is drawn again only when stale.
	frame tea.View
	stale bool

	// err is why the program ends, if it is not the user's wish.
	err error
}

func newModel(ctx context.Context, o Options) (*Model, error) {
	m := &Model{options: o, bindings: keyMap(), next: awaitSnapshot(ctx, o), estimates: newEstimates(ctx, o), finalizing: newFinalizing(ctx, o), glyphs: &draw.Unicode, dashboard: newDashboard(), help: -1, stale: true}
	if o.ASCII {
		m.glyphs = &draw.ASCII
	}
	name := o.Theme
	switch {
	case o.NoColor:
		name = "mono"
	case name == "" || name == draw.ThemeAuto:
		name = "dark"
	}
	var err error
	m.theme, err = draw.LoadTheme(name)
	return m, err
}

// Init asks for the first snapshot and for the terminal's background.
func (m *Model) Init() tea.Cmd {
	cmds := []tea.Cmd{m.next}
	if m.autoTheme() {
		cmds = append(cmds, tea.RequestBackgroundColor)
	}
	if m.options.QuerySync {
		cmds = append(cmds, tea.Raw(ansi.RequestModeSynchronizedOutput))
	}
	return tea.Batch(cmds...)
}

func (m *Model) autoTheme() bool {
	return !m.options.NoColor && (m.options.Theme == "" || m.options.Theme == draw.ThemeAuto)
}

// awaitSnapshot makes the command that waits for news; never more than one of
// it is outstanding.
func awaitSnapshot(ctx context.Context, o Options) tea.Cmd {
	return guarded(func() tea.Msg {
		snap, err := o.Source.Next(ctx)
		if err != nil {
			return watchEnded{err}
		}
		return snapshotArrived{digestOf(snap, o.Clock())}
	})
}

// refresh digests the last snapshot for the present moment: verdicts, rates
// and ages change while nothing happens.
func (m *Model) refresh() tea.Cmd {
	snap, clock := m.digest.snap, m.options.Clock
	return guarded(func() tea.Msg { return digestRefreshed{digestOf(snap, clock())} })
}

// guarded turns a panic in a command into a message.
func guarded(cmd tea.Cmd) tea.Cmd {
	return func() (msg tea.Msg) {
		defer func() {
			if value := recover(); value != nil {
				msg = panicked{value, debug.Stack()}
			}
		}()
		return cmd()
	}
}

// tick arms the slow clock: while jobs move for their ages and verdicts, else
// only for what ages by the minute.
func (m *Model) tick() tea.Cmd {
	if m.ticking || m.digest == nil {
		return nil
	}
	m.ticking, m.pace = true, m.options.Tick
	if len(m.digest.snap.Active) == 0 && m.digest.snap.Health.State == watch.Live {
		m.pace = idleTick
	}
	return tea.Tick(m.pace, func(at time.Time) tea.Msg { return ticked{at} })
}

// Update routes one message.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m.stale = true
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.BackgroundColorMsg:
		if m.autoTheme() && !msg.IsDark() {
			if light, err := draw.LoadTheme("light"); err == nil {
				m.theme = light
			}
		}
	case snapshotArrived:
		m.take(msg.digest)
		return m, tea.Batch(m.next, m.tick(), m.askAbout(), m.askRights())
	case answerArrived:
		if m.estimates.take(msg) && m.digest != nil {
			m.take(m.digest)
		}
		return m, m.askAbout()
	case downloadMoved:
		m.stale = m.job != nil && m.job.uid == msg.uid
		return m, m.estimates.advance(msg)
	case digestRefreshed:
		if m.digest != nil && msg.digest.snap == m.digest.snap {
			m.take(msg.digest)
		}
		return m, m.tick()
	case ticked:
		m.ticking = false
		if m.digest == nil {
			return m, nil
		}
		return m, m.refresh()
	case watchEnded:
		if !errors.Is(msg.err, context.Canceled) {
			m.err = fmt.Errorf("watching the cluster: %w", msg.err)
		}
		return m, tea.Quit
	case panicked:
		m.err = fmt.Errorf("veltui has a defect, please report it: %v\n%s", msg.value, msg.stack)
		return m, tea.Quit
	case tea.ResumeMsg:
		return m, tea.ClearScreen
	case rightsAnswered:
		m.takeRights(msg)
	case evidenceGathered, runProgressed, runEnded, graceEnded, dialogTicked:
		if m.dialog == nil {
			return m, nil
		}
		return m, m.dialog.take(msg)
	case tea.KeyPressMsg:
		return m, m.pressed(msg)
	case tea.PasteMsg:
		switch {
		case m.dialog != nil && m.help < 0:
			return m, m.dialog.pasted(msg)
		case m.dashboard.typing:
			return m, m.dashboard.typed(msg, m.digest)
		}
	default:
		if m.dashboard.typing {
			return m, m.dashboard.typed(msg, m.digest)
		}
		m.stale = false
	}
	return m, nil
}

// take makes a new digest the one that is shown.
func (m *Model) take(dg *digest) {
	dg = m.estimates.withTotals(dg)
	m.digest = dg
	m.dropAnswers()
	m.dashboard.load(dg)
	if m.job != nil {
		m.job.load(dg)
	}
}

// where is the screen that keys go to.
func (m *Model) where() place {
	switch {
	case m.help >= 0:
		return onHelp
	default:
		return m.behindHelp()
	}
}

func (m *Model) pressed(msg tea.KeyPressMsg) tea.Cmd {
	if m.dashboard.typing {
		return m.dashboard.typed(msg, m.digest)
	}
	m.notice = ""
	k := msg.String()
	b := bindingFor(m.bindingsNow(), m.where(), k)
	a := b.action
	if a == actNone && msg.Mod == tea.ModAlt {
		// On a slow line esc and the next key arrive as one: two were meant.
		second := tea.KeyPressMsg{Code: msg.Code, Text: string(msg.Code)}
		return tea.Sequence(m.pressed(tea.KeyPressMsg{Code: tea.KeyEscape}), m.pressed(second))
	}
	if b.why != "" {
		m.notice = k + ": " + b.why
		return m.askRightsAgain()
	}
	if m.dialog != nil && m.help < 0 && k != "ctrl+c" {
		return m.pressedInDialog(a, msg)
	}
	switch a {
	case actQuit:
		return m.leave(k)
	case actSuspend:
		return tea.Suspend
	case actRedraw:
		return tea.ClearScreen
	case actRetry:
		source := m.options.Source
		return tea.Batch(guarded(func() tea.Msg { source.Retry(); return nil }), m.askAgain())
	case actHelp:
		if m.help < 0 {
			m.help = 0
		} else {
			m.help = -1
		}
		return nil
	}
	if a == actFinalize {
		return m.openFinalize()
	}
	switch m.where() {
	case onHelp:
		m.scrollHelp(a)
		return nil
	case onJob:
		if a == actBack {
			m.job = nil
			m.dropAnswers()
			return nil
		}
		m.job.update(a, k)
		return m.askAbout()
	default:
		opened, cmd := m.dashboard.update(a, k, m.digest)
		if opened != "" {
			s := newJobScreen(opened, m.digest)
			m.job = &s
		}
		return cmd
	}
}

func (m *Model) scrollHelp(a action) {
	page := max(m.height-3, 1)
	switch a {
	case actBack:
		m.help = -1
	case actUp:
		m.help--
	case actDown:
		m.help++
	case actPageUp:
		m.help -= page
	case actPageDown:
		m.help += page
	case actHome:
		m.help = 0
	case actEnd:
		m.help = 1 << 20
	default:
		return
	}
	if a != actBack {
		m.help = max(m.help, 0)
	}
}

// clusterNow is the present in the cluster's clock.
func (m *Model) clusterNow() time.Time {
	now := m.options.Clock()
	if m.digest != nil {
		now = now.Add(m.digest.snap.ClockOffset)
	}
	return now
}

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
	if m.options.Terminal.Title {
		v.WindowTitle = m.windowTitle()
	}
	if m.options.Terminal.Progress {
		v.ProgressBar = m.terminalProgress()
	}
	return v
}

func (m *Model) content() string {
	c := draw.Canvas{Width: m.width, Height: m.height, Theme: m.theme, Glyphs: m.glyphs, Now: m.clusterNow()}
	switch {
	case m.width == 0 || m.height == 0:
		return ""
	case m.width < tinyWidth || m.height < tinyHeight:
		return c.Page([]string{c.Cut("too small", m.width)})
	}
	if m.help >= 0 {
		return m.withFrame(c, onHelp, func(c draw.Canvas) string {
			lines := helpText(c, m.bindingsNow(), m.behindHelp())
			m.help = min(m.help, max(len(lines)-c.Height, 0))
			return c.Page(lines[m.help:])
		})
	}
	return m.withFrame(c, m.where(), func(c draw.Canvas) string {
		behind := m.screen(c)
		if m.dialog != nil {
			return m.dialog.draw(c, behind)
		}
		return behind
	})
}

// screen is what is drawn between the header and the footer.
func (m *Model) screen(c draw.Canvas) string {
	switch {
	case m.job != nil:
		m.job.answer, m.job.asks = m.estimates.of(m.job.uid), m.estimates.ask != nil
		return m.job.draw(c, m.digest)
	case m.width < minWidth || m.height < minHeight:
		return m.dashboard.compact(c, m.digest)
	}
	return m.dashboard.view(c, m.digest)
}

// behindHelp is the screen that help was opened on.
func (m *Model) behindHelp() place {
	switch {
	case m.dialog != nil:
		return m.dialog.place()
	case m.job != nil:
		return onJob
	}
	return onDashboard
}

// withFrame puts the header above and the footer below a screen.
func (m *Model) withFrame(c draw.Canvas, where place, screen func(draw.Canvas) string) string {
	bottom := []string{c.Cut(m.bottomLine(c, where), c.Width)}
	if m.notice != "" {
		bottom = nil
		for _, line := range c.Sized(c.Width-1, 0).Wrap(m.notice, 3) {
			bottom = append(bottom, " "+c.Theme.Waiting.Render(line))
		}
	}
	bottom = bottom[:min(len(bottom), max(c.Height-2, 1))]
	return strings.Join([]string{m.header(c), screen(c.Sized(c.Width, c.Height-1-len(bottom))), strings.Join(bottom, "\n")}, "\n")
}

// bottomLine names the keys, or is where a filter is typed. A dialog that does
// not listen yet names none.
func (m *Model) bottomLine(c draw.Canvas, where place) string {
	switch {
	case m.dashboard.typing:
		m.dashboard.input.SetWidth(max(c.Width-4, 1))
		return " " + m.dashboard.input.View()
	case m.dialog != nil && m.help < 0 && !m.dialog.grace.over:
		return c.Theme.Dim.Render(" " + c.Glyphs.Ellipsis)
	}
	return footer(c, m.bindingsNow(), where)
}

// watched is the job that the terminal's own title and progress show: the open
// one, the selected one, or the only one that runs.
func (m *Model) watched() *job.Job {
	if m.digest == nil {
		return nil
	}
	if m.job != nil {
		return m.job.last
	}
	if j := m.dashboard.selectedJob(); j != nil && !j.Terminal() {
		return j
	}
	if len(m.digest.snap.Active) == 1 {
		return m.digest.snap.Active[0]
	}
	return nil
}

func (m *Model) windowTitle() string {
	j := m.watched()
	if j == nil || j.Terminal() {
		return "veltui " + m.placeText()
	}
	if !j.FractionKnown {
		return "veltui " + j.Name + " " + string(j.Stage)
	}
	return "veltui " + j.Name + " " + Percent(j.Fraction)
}

func (m *Model) terminalProgress() *tea.ProgressBar {
	j := m.watched()
	if j == nil || j.Terminal() || !j.FractionKnown {
		return nil
	}
	state := tea.ProgressBarDefault
	if troubled(m.digest.verdict(j).State) {
		state = tea.ProgressBarError
	}
	return tea.NewProgressBar(state, min(int(j.Fraction*100), 99))
}
