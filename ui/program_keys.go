package ui

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/ui/dialog"
	"github.com/veltui/veltui/ui/guide"
	"github.com/veltui/veltui/ui/keys"
)

func (m *Model) allowed(holds func(allowed) bool) func() bool {
	return func() bool { return holds(m.shown().allows()) }
}

func (m *Model) onDashboard() bool { return m.shown() == openScreen(m.dashboard) }

func (m *Model) changeKeys() []keys.Binding {
	onJobs := m.allowed(func(a allowed) bool { return a.jobs })
	deletion := changeKey(m, "delete", "X", "delete", m.deletable, m.deleteJobs)
	deletion.Short = false // the footer names what is wanted often
	return []keys.Binding{
		{
			Name:   "preview",
			Keys:   []string{"R"},
			Label:  "R",
			What:   "preview a restore",
			Group:  keys.Look,
			On:     onJobs,
			WhyNot: keys.Unless(func() bool { return m.meant() != nil }, noJobSelected),
			Do:     run(func() tea.Cmd { return m.openForm(m.focus(), m.meant()) }),
		},
		{
			Name:   "finalize",
			Keys:   []string{"f"},
			Label:  "f",
			What:   "finalize",
			Group:  keys.Change,
			Short:  true,
			Writes: true,
			Fits:   func() bool { return onJobs() && m.wantsFinalize() },
			On:     m.allowed(func(a allowed) bool { return a.main }),
			WhyNot: m.finalizeUnavailable,
			Do:     run(m.openFinalize),
		},
		{
			Name:   "cancel-volume",
			Keys:   []string{"X"},
			Label:  "X",
			What:   "cancel this volume",
			Brief:  "cancel",
			Group:  keys.Change,
			Short:  true,
			Writes: true,
			On:     func() bool { s, ok := m.shown().(*jobScreen); return ok && s.SelectedVolume() != nil },
			Fits:   func() bool { return !m.job().SelectedVolume().Ended() },
			WhyNot: func() string { return m.writesUnavailable(m.focus()) },
			Do:     run(m.openCancelVolume),
		},
		{
			Name:   "mark",
			Keys:   []string{"m"},
			Label:  "m",
			What:   "mark, to finalize or delete several",
			Group:  keys.Change,
			Writes: true,
			On:     m.onDashboard,
			WhyNot: m.markUnavailable,
			Do:     keys.Run(m.dashboard.toggleMark),
		},
		changeKey(m, "backup-now", "b", "back up now", m.dashboard.selectedSchedule, m.backUpNow),
		changeKey(m, "pause", "p", "pause, or let it go on", m.dashboard.selectedSchedule, m.pauseSchedule),
		deletion,
	}
}

// wantsFinalize reports whether a job that the key means is in trouble, or was marked.
func (m *Model) wantsFinalize() bool {
	of, jobs := m.subjects()
	return len(jobs) > 1 || jobs[0] != nil && of.assessed != nil && of.assessed.Of(jobs[0]).Troubled()
}

func run(cmd func() tea.Cmd) func(string) tea.Cmd { return func(string) tea.Cmd { return cmd() } }

func (m *Model) programKeys() []keys.Binding {
	applying := func() bool {
		d := find[*dialogScreen](m)
		return d != nil && d.Stage() == dialog.Applying
	}
	return []keys.Binding{
		{Name: "reconnect", Keys: []string{"r"}, Label: "r", What: "reconnect now", Group: keys.App,
			On: m.allowed(func(a allowed) bool { return a.main }), Do: run(m.retry)},
		{
			Name:   "redraw",
			Keys:   []string{"ctrl+l"},
			Label:  "ctrl+l",
			What:   "redraw the screen",
			Group:  keys.App,
			Always: true,
			Do:     run(func() tea.Cmd { return tea.ClearScreen }),
		},
		{Name: "suspend", Keys: []string{"ctrl+z"}, Label: "ctrl+z", What: "suspend", Group: keys.App, Always: true,
			On: m.allowed(func(a allowed) bool { return a.suspend }), Do: run(func() tea.Cmd { return tea.Suspend })},
		{
			Name:  "command",
			Keys:  []string{":"},
			Label: ":",
			What:  "command",
			Group: keys.App,
			Short: true,
			Fits:  m.onDashboard,
			On: m.allowed(
				func(a allowed) bool { return a.command },
			),
			Do: run(func() tea.Cmd { return m.command.Open() }),
		},
		{Name: "help", Keys: []string{"?"}, Label: "?", What: "help", Group: keys.App, Short: true,
			On: func() bool { return m.helping() || m.shown().allows().help }, Do: keys.Run(m.toggleHelp)},
		{
			Name:  "form-help",
			Keys:  []string{"f1"},
			Label: "f1",
			What:  "help",
			Group: keys.App,
			Short: true,
			On:    m.writing,
			Do:    keys.Run(m.toggleHelp),
		},
		{
			Name:    "quit",
			Keys:    []string{"q"},
			Label:   "q",
			What:    "quit",
			WhatNow: keys.Either(applying, "stop and quit", "quit"),
			Group:   keys.App,
			Short:   true,
			On:      m.allowed(func(a allowed) bool { return a.quit }),
			Do:      run(m.quit),
		},
		{
			Keys:   []string{"ctrl+c"},
			Label:  "ctrl+c",
			What:   "quit at once",
			Group:  keys.App,
			Always: true,
			Do:     run(m.interrupt),
		},
	}
}

// guideScreen tells the guide what is on the screen, and whether its job has ended.
func (m *Model) guideScreen() (on guide.Screen, ended bool) {
	g := m.options.Guide
	if g == nil || m.unguided || m.helping() || m.at.assessed == nil {
		return guide.Elsewhere, false
	}
	jobs := m.at.assessed.Snapshot.Jobs
	led := slices.IndexFunc(jobs, func(j *job.Job) bool { return j.Name == g.Job })
	if led < 0 {
		return guide.Elsewhere, false
	}
	ended = jobs[led].Terminal()
	switch top := m.top().(type) {
	case *dialogScreen:
		if top.Finalizes(g.Job) {
			return guide.Dialog, ended
		}
	case *jobScreen:
		if top.Job().Name == g.Job {
			return guide.Job, ended
		}
	case *dashboard:
		selected := top.selectedJob()
		switch {
		case top.tab != top.active && !ended:
		case selected != nil && selected.Name == g.Job:
			return guide.Row, ended
		default:
			return guide.List, ended
		}
	}
	return guide.Elsewhere, ended
}

func (m *Model) guideKeys() []keys.Binding {
	if m.options.Guide == nil {
		return nil
	}
	return []keys.Binding{{Keys: []string{"x"}, Label: "x", What: "hide the hints", Group: keys.App,
		On: func() bool {
			on, ended := m.guideScreen()
			_, text := m.options.Guide.Hint(on, ended)
			return text != "" && on != guide.Dialog
		},
		Do: func(string) tea.Cmd { m.unguided = true; return nil }}}
}

// screenKeys are the keys of the screen on top, help left out, and the program's.
func (m *Model) screenKeys() []keys.Binding {
	return m.options.Keys.Apply(slices.Concat(m.shown().Keys(), m.changes, m.keys, m.guideKeys()))
}

func (m *Model) keysNow() []keys.Binding {
	if m.helping() {
		return m.options.Keys.Apply(slices.Concat(m.top().Keys(), m.keys))
	}
	return m.screenKeys()
}

func (m *Model) pressed(msg tea.KeyPressMsg) tea.Cmd {
	key := msg.String()
	before, since := m.lastKey, m.options.Clock().Sub(m.lastKeyAt)
	m.presses, m.lastKey, m.lastKeyAt = m.presses+1, key, m.options.Clock()
	if b := keys.Find(m.keysNow(), key); b != nil && b.Name == "suspend" { // also while text is typed
		return b.Do(key)
	}
	if cmd, typed := m.prompted(msg); typed {
		return cmd
	}
	m.notice = ""
	if key == "esc" && !m.helping() && find[*dialogScreen](m) == nil { // there it has a meaning of its own
		if cmd, handled := m.stopSwitching(); handled {
			return cmd
		}
	}
	b := keys.Find(m.keysNow(), key)
	w, writes := m.top().(writer)
	switch {
	case writes && (b == nil || !b.Always) && w.Takes(msg, b != nil):
		return w.Type(msg)
	case b == nil && msg.Mod == tea.ModAlt:
		// On a slow line esc and the next key arrive as one: two were meant.
		second := tea.KeyPressMsg{Code: msg.Code, Text: string(msg.Code)}
		return tea.Sequence(m.pressed(tea.KeyPressMsg{Code: tea.KeyEscape}), m.pressed(second))
	case b == nil:
		return m.unbound(key, before, since)
	}
	if why := b.Why(); why != "" {
		m.notice = key + ": " + why
		m.focus().rights.Outdate() // a right may have been given meanwhile
		return m.checkAccess(m.focus())
	}
	cmd := b.Do(key)
	if d, ok := m.top().(*dialogScreen); ok && d.Closed() {
		m.pop()
	}
	return tea.Batch(cmd, m.ask(), m.look())
}

// unboundKey is the answer to a letter that nothing is bound to, unless a key has come since.
type unboundKey struct {
	n   int
	key string
}

// burst is how fast keys follow each other in an escape sequence that arrives in pieces, and in a paste
// that the terminal does not mark. Nobody has pressed those.
const burst = 100 * time.Millisecond

// unbound answers a letter, unless it is part of a burst or may end an escape sequence.
func (m *Model) unbound(key, before string, since time.Duration) tea.Cmd {
	r, size := utf8.DecodeRuneInString(key)
	ends := unicode.IsUpper(r) && (before == "esc" || strings.ContainsAny(before, "[O;0123456789"))
	if size < len(key) || !unicode.IsLetter(r) || ends || since < burst {
		return nil
	}
	n := m.presses
	return tea.Tick(burst, func(time.Time) tea.Msg { return unboundKey{n, key} })
}

// prompted gives what is typed to the last line; typed is false if that takes nothing.
func (m *Model) prompted(msg tea.Msg) (cmd tea.Cmd, typed bool) {
	switch {
	case m.saveAs.Typing():
		return m.saveAs.Update(msg), true
	case m.command.Typing():
		return m.typedCommand(msg), true
	}
	if p := m.prompting(); p != nil {
		cmd, _ = p.Update(msg)
		return cmd, true
	}
	return nil, false
}

func (m *Model) pasted(msg tea.PasteMsg) tea.Cmd {
	m.presses++
	if cmd, typed := m.prompted(msg); typed {
		return cmd
	}
	if w, ok := m.top().(writer); ok {
		return w.Paste(msg)
	}
	return nil
}

func (m *Model) retry() tea.Cmd {
	var cmds []tea.Cmd
	for _, c := range m.clusters {
		c.forgetContents(func(_ types.UID, q *question) bool { return q.answer.Err == nil })
		c.looks.lookout.Again()
		cmds = append(cmds, guarded(func() tea.Msg { c.Retry(); return nil }))
	}
	if s := m.job(); s != nil {
		s.AskAgain()
	}
	return tea.Batch(cmds...)
}

// quit ends the program, after what is under way.
func (m *Model) quit() tea.Cmd { return m.leave(false) }

func (m *Model) interrupt() tea.Cmd {
	m.err = ErrInterrupted
	return m.leave(true)
}

func (m *Model) leave(atOnce bool) tea.Cmd {
	if d := find[*dialogScreen](m); d != nil {
		return d.Leave(atOnce)
	}
	return tea.Quit
}

const (
	wheelLines  = 3 // that one notch of the wheel scrolls
	headerLines = 1
)

// clicked takes a click on a tab or a row. In a dialog it does nothing: a change is never confirmed with the mouse.
func (m *Model) clicked(at tea.MouseClickMsg) tea.Cmd {
	on, ok := m.top().(clicker)
	if !ok || at.Button != tea.MouseLeft || at.Mod != 0 || m.command.Typing() || m.saveAs.Typing() ||
		m.prompting() != nil {
		m.stale = false
		return nil
	}
	m.notice = ""
	again, cmd := on.Click(at.X, at.Y-headerLines)
	if open := keys.Named(m.keysNow(), "open"); again && open != nil && open.Why() == "" {
		cmd = open.Do(open.Keys[0])
	}
	return tea.Batch(cmd, m.ask(), m.look())
}

func (m *Model) wheeled(at tea.MouseWheelMsg) {
	switch at.Button {
	case tea.MouseWheelUp:
		m.top().Wheel(-wheelLines)
	case tea.MouseWheelDown:
		m.top().Wheel(wheelLines)
	default:
		m.stale = false
	}
}
