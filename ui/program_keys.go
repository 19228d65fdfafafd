package ui

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/detail"
	"github.com/veltui/veltui/ui/dialog"
	"github.com/veltui/veltui/ui/guide"
	"github.com/veltui/veltui/ui/jobview"
	"github.com/veltui/veltui/ui/keys"
)

// changeKeys lead to an action on the job or the jobs that are meant.
func (m *Model) changeKeys() []keys.Binding {
	onJobs := func() bool {
		return m.dialog == nil && m.form == nil && (m.job != nil || m.other == nil && m.dashboard.showsJobs())
	}
	elsewhere := func() bool { return m.dialog == nil && m.form == nil && !onJobs() }
	onDashboard := func() bool { return m.dialog == nil && m.form == nil && m.job == nil && m.other == nil }
	return []keys.Binding{
		{Name: "preview", Keys: []string{"R"}, Label: "R", What: "preview a restore", Group: keys.Look, On: onJobs, WhyNot: m.whyNotForm,
			Do: run(func() tea.Cmd { return m.openForm(m.focus(), m.meant()) })},
		{Name: "finalize", Keys: []string{"f"}, Label: "f", What: "finalize", Group: keys.Change, Short: true, Writes: true,
			On: onJobs, WhyNot: m.whyNotFinalize, Do: run(m.openFinalize)},
		{Name: "finalize", Keys: []string{"f"}, Label: "f", What: "finalize", Group: keys.Change, Writes: true,
			On: elsewhere, WhyNot: m.whyNotFinalize, Do: run(m.openFinalize)},
		{Name: "mark", Keys: []string{"m"}, Label: "m", What: "mark to finalize several jobs", Group: keys.Change, Writes: true,
			On: onDashboard, WhyNot: m.whyNotMark, Do: keys.Run(m.dashboard.toggleMark)},
	}
}

func run(cmd func() tea.Cmd) func(string) tea.Cmd { return func(string) tea.Cmd { return cmd() } }

// programKeys are the keys that belong to no single screen.
func (m *Model) programKeys() []keys.Binding {
	onDashboard := func() bool { return m.dialog == nil && m.form == nil && m.job == nil && m.other == nil }
	command := run(func() tea.Cmd { return m.command.Open() })
	return []keys.Binding{
		{Name: "reconnect", Keys: []string{"r"}, Label: "r", What: "reconnect now", Group: keys.App, On: func() bool { return m.dialog == nil && m.form == nil }, Do: run(m.retry)},
		{Name: "redraw", Keys: []string{"ctrl+l"}, Label: "ctrl+l", What: "redraw the screen", Group: keys.App, Always: true, Do: run(func() tea.Cmd { return tea.ClearScreen })},
		{Name: "suspend", Keys: []string{"ctrl+z"}, Label: "ctrl+z", What: "suspend", Group: keys.App, Always: true,
			On: func() bool { return m.dialog == nil || m.dialog.Stage() != dialog.Applying }, Do: run(func() tea.Cmd { return tea.Suspend })},
		{Name: "command", Keys: []string{":"}, Label: ":", What: "command", Group: keys.App, Short: true, On: onDashboard, Do: command},
		{Name: "command", Keys: []string{":"}, Label: ":", What: "command", Group: keys.App,
			On: func() bool { return m.dialog == nil && !onDashboard() && !m.writing() }, Do: command},
		{Name: "help", Keys: []string{"?"}, Label: "?", What: "help", Group: keys.App, Short: true,
			On: func() bool { return m.helping || !m.writing() && (m.dialog == nil || m.dialog.HasHelp()) }, Do: keys.Run(m.toggleHelp)},
		{Name: "form-help", Keys: []string{"f1"}, Label: "f1", What: "help", Group: keys.App, Short: true, On: m.writing, Do: keys.Run(m.toggleHelp)},
		{Name: "quit", Keys: []string{"q"}, Label: "q", What: "quit", WhatNow: m.quitSays, Group: keys.App, Short: true,
			On: func() bool { return m.form == nil && (m.dialog == nil || m.dialog.Stage() != dialog.Typing) }, Do: run(m.quit)},
		{Keys: []string{"ctrl+c"}, Label: "ctrl+c", What: "quit at once", Group: keys.App, Always: true, Do: run(m.interrupt)},
	}
}

// guided tells the guide what is on the screen, and whether its job has ended.
func (m *Model) guided() (on guide.Screen, ended bool) {
	g := m.options.Guide
	if g == nil || m.unguided || m.helping || m.at.assessed == nil {
		return guide.Elsewhere, false
	}
	jobs := m.at.assessed.Snapshot.Jobs
	led := slices.IndexFunc(jobs, func(j *job.Job) bool { return j.Name == g.Job })
	if led < 0 {
		return guide.Elsewhere, false
	}
	ended = jobs[led].Terminal()
	selected := m.dashboard.selectedJob()
	switch {
	case m.dialog != nil:
		return guide.Dialog, ended
	case m.job != nil && m.job.Job().Name == g.Job:
		return guide.Job, ended
	case m.job != nil, m.other != nil, m.dashboard.tab != m.dashboard.active && !ended:
		return guide.Elsewhere, ended
	case selected != nil && selected.Name == g.Job:
		return guide.Row, ended
	}
	return guide.List, ended
}

// guideKeys end the guide.
func (m *Model) guideKeys() []keys.Binding {
	if m.options.Guide == nil {
		return nil
	}
	return []keys.Binding{{Keys: []string{"x"}, Label: "x", What: "hide the hints", Group: keys.App,
		On: func() bool { _, text := m.options.Guide.Hint(m.guided()); return text != "" && m.dialog == nil },
		Do: func(string) tea.Cmd { m.unguided = true; return nil }}}
}

// keysOfHelp are those of the help screen itself.
func (m *Model) keysOfHelp() []keys.Binding {
	leave := func(key string) {
		if m.helpView.Searching() && key == "esc" {
			m.helpView.EndSearch()
			return
		}
		m.toggleHelp()
	}
	back := keys.Binding{Keys: []string{"esc", "left", "h", "backspace"}, Label: "esc", What: "back", Group: keys.Look, Short: true,
		Do: func(key string) tea.Cmd { leave(key); return nil }}
	quit := keys.Binding{Keys: []string{"q"}, Label: "q", What: "back", Group: keys.Look, Do: keys.Run(m.toggleHelp)}
	return append([]keys.Binding{back, quit}, m.helpView.Keys()...)
}

// screenKeys are the keys of the screen on top, help left out, and the program's.
func (m *Model) screenKeys() []keys.Binding {
	own := m.dashboard.keys
	switch {
	case m.dialog != nil:
		own = m.dialog.Keys()
	case m.form != nil:
		own = m.form.Keys()
	case m.job != nil:
		own = m.job.Keys()
	case m.other != nil:
		own = m.other.Keys()
	}
	return m.options.Keys.Apply(slices.Concat(own, m.changes, m.keys, m.guideKeys()))
}

// keysNow are all keys that there are now.
func (m *Model) keysNow() []keys.Binding {
	if m.helping {
		return m.options.Keys.Apply(slices.Concat(m.helpKeys, m.keys))
	}
	return m.screenKeys()
}

// pressed acts on a key.
func (m *Model) pressed(msg tea.KeyPressMsg) tea.Cmd {
	key := msg.String()
	if b := keys.Find(m.keysNow(), key); b != nil && b.Name == "suspend" { // also while text is typed
		return b.Do(key)
	}
	switch {
	case m.command.Typing():
		return m.typedCommand(msg)
	case m.dashboard.typing:
		return m.dashboard.typed(msg)
	case m.searching() != nil:
		cmd, _ := m.searching().Update(msg)
		return cmd
	}
	m.notice = ""
	if key == "esc" && m.dialog == nil && !m.helping { // there it has a meaning of its own
		if cmd, handled := m.stopSwitching(); handled {
			return cmd
		}
	}
	b := keys.Find(m.keysNow(), key)
	deaf := m.dialog != nil && !m.helping && (b == nil || !b.Always) && m.dialog.Swallows()
	switch {
	case deaf:
		return nil
	case m.writing() && m.form.Takes(msg) && (b == nil || !b.Always):
		return m.form.Type(msg)
	case b == nil && msg.Mod == tea.ModAlt:
		// On a slow line esc and the next key arrive as one: two were meant.
		second := tea.KeyPressMsg{Code: msg.Code, Text: string(msg.Code)}
		return tea.Sequence(m.pressed(tea.KeyPressMsg{Code: tea.KeyEscape}), m.pressed(second))
	case b == nil && m.dialog != nil && !m.helping:
		return m.dialog.Type(msg)
	case b == nil:
		return nil
	}
	if why := b.Why(); why != "" {
		m.notice = key + ": " + why
		m.focus().rights.Outdate() // a right may have been given meanwhile
		return m.checkAccess(m.focus())
	}
	cmd := b.Do(key)
	if m.dialog != nil && m.dialog.Closed() {
		m.closeDialog()
	}
	return tea.Batch(cmd, m.ask(), m.look())
}

func (m *Model) pasted(msg tea.PasteMsg) tea.Cmd {
	switch {
	case m.dialog != nil && !m.helping:
		return m.dialog.Paste(msg)
	case m.writing():
		return m.form.Type(msg)
	case m.command.Typing():
		return m.typedCommand(msg)
	case m.dashboard.typing:
		return m.dashboard.typed(msg)
	case m.searching() != nil:
		cmd, _ := m.searching().Update(msg)
		return cmd
	}
	return nil
}

// paged is a screen whose pages can be searched.
type paged interface {
	// Typing reports whether it takes all keys for what is searched for.
	Typing() bool
	Prompt(width int) string
	Update(tea.Msg) (cmd tea.Cmd, handled bool)
}

// paged are the open screens with pages, the one on top first.
func (m *Model) paged() []paged {
	var open []paged
	if m.helping {
		open = append(open, m.helpView)
	}
	if m.job != nil {
		open = append(open, m.job)
	}
	if m.other != nil {
		open = append(open, m.other)
	}
	return open
}

// searching is the screen that takes all keys for what is searched for, or nil.
func (m *Model) searching() paged {
	if open := m.paged(); len(open) > 0 && (m.dialog == nil || m.helping) && open[0].Typing() {
		return open[0]
	}
	return nil
}

func (m *Model) openOther(of *cluster, t detail.Tab, key string) tea.Cmd {
	m.at = of
	m.other = detail.New(t, key, of.assessed, m.closeOther, func(uid types.UID) tea.Cmd { return m.openJob(of, uid, jobview.Overview) })
	if t.Reads == nil || of.EtcdLogs == nil {
		return nil
	}
	pod := t.Reads(of.assessed, key)
	if pod == "" {
		return nil
	}
	cmd, _ := of.sources.Start(func(ctx context.Context) tea.Msg { of.EtcdLogs.ReadEtcdLog(ctx, pod); return nil })
	return cmd
}

func (m *Model) closeOther() tea.Cmd {
	m.other = nil
	return nil
}

func (m *Model) openJob(of *cluster, uid types.UID, at jobview.Page) tea.Cmd {
	m.at = of
	m.job = jobview.New(uid, at, of.assessed, of.sources, m.closeJob)
	return nil // what its page lacks is asked for after every key
}

func (m *Model) closeJob() tea.Cmd {
	m.job.Close()
	m.job = nil
	m.at.looks.last.About(nil)
	m.dropQuestions(m.at)
	return nil
}

func (m *Model) retry() tea.Cmd {
	var cmds []tea.Cmd
	for _, c := range m.clusters {
		c.forgetContents(func(_ types.UID, q *question) bool { return q.answer.Err == nil })
		c.looks.last.Outdate()
		cmds = append(cmds, guarded(func() tea.Msg { c.Source.Retry(); return nil }))
	}
	if m.job != nil {
		m.job.AskAgain()
	}
	return tea.Batch(cmds...)
}

func (m *Model) toggleHelp() {
	m.helping = !m.helping
	m.helpView.Reset()
}

func (m *Model) quitSays() string {
	if m.dialog != nil && m.dialog.Stage() == dialog.Applying {
		return "stop and quit"
	}
	return "quit"
}

// quit ends the program, after what is under way.
func (m *Model) quit() tea.Cmd {
	if m.dialog != nil {
		return m.dialog.Leave(false)
	}
	return tea.Quit
}

func (m *Model) interrupt() tea.Cmd {
	m.err = ErrInterrupted
	if m.dialog != nil {
		return m.dialog.Leave(true)
	}
	return tea.Quit
}

// wheelLines is how far one notch of the wheel scrolls.
const wheelLines = 3

// headerLines is how many lines there are above a screen.
const headerLines = 1

// clicked takes a click on a tab or a row. A click on the row that is selected
// already opens it. Where something is typed, in help and in a dialog, a click
// does nothing: a change is never confirmed with the mouse.
func (m *Model) clicked(at tea.MouseClickMsg) tea.Cmd {
	if at.Button != tea.MouseLeft || at.Mod != 0 || m.helping || m.dialog != nil || m.command.Typing() || m.dashboard.typing || m.searching() != nil {
		m.stale = false
		return nil
	}
	m.notice = ""
	var again bool
	var cmd tea.Cmd
	switch y := at.Y - headerLines; {
	case m.form != nil:
		m.form.Click(at.X, y)
	case m.job != nil:
		again, cmd = m.job.Click(at.X, y)
	case m.other != nil:
		again = m.other.Click(y)
	default:
		again = m.dashboard.clicked(at.X, y)
	}
	if open := keys.Named(m.keysNow(), "open"); again && open != nil && open.Why() == "" {
		cmd = open.Do(open.Keys[0])
	}
	return tea.Batch(cmd, m.ask(), m.look())
}

// wheeled scrolls what is on top.
func (m *Model) wheeled(at tea.MouseWheelMsg) tea.Cmd {
	lines := wheelLines
	switch at.Button {
	case tea.MouseWheelUp:
		lines = -wheelLines
	case tea.MouseWheelDown:
	default:
		m.stale = false
		return nil
	}
	switch {
	case m.helping:
		m.helpView.Wheel(lines)
	case m.dialog != nil:
		m.dialog.Wheel(lines)
	case m.form != nil:
		m.form.Wheel(lines)
	case m.job != nil:
		m.job.Wheel(lines)
	case m.other != nil:
		m.other.Wheel(lines)
	default:
		m.dashboard.tab.wheel(lines)
	}
	return nil
}
