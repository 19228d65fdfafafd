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

func (m *Model) globalKeyCondition(holds func(globalKeySet) bool) func() bool {
	return func() bool { return holds(m.screenBelowHelp().globalKeys()) }
}

func (m *Model) isOnDashboard() bool { return m.screenBelowHelp() == screenOnStack(m.dashboard) }

func (m *Model) newChangeBindings() []keys.Binding {
	onJobs := m.globalKeyCondition(func(a globalKeySet) bool { return a.jobActions })
	deletion := newChangeBinding(m, "delete", "X", "delete", m.deletionTargets, m.openDeletion)
	deletion.DropsFirst = true
	return []keys.Binding{
		{
			Name:        "preview",
			Keys:        []string{"R"},
			Label:       "R",
			Description: "preview a restore",
			FooterText:  "restore",
			Group:       keys.GroupLook,
			InFooter:    true,
			DropsFirst:  true,
			Active:      onJobs,
			Unavailable: keys.UnavailableUnless(func() bool { return m.targetJob() != nil }, noJobSelected),
			Do:          keylessAction(func() tea.Cmd { return m.openRestoreForm(m.focusedCluster(), m.targetJob()) }),
		},
		{
			Name:         "finalize",
			Keys:         []string{"f"},
			Label:        "f",
			Description:  "finalize",
			Group:        keys.GroupChange,
			InFooter:     true,
			Writes:       true,
			ShowInFooter: func() bool { return onJobs() && m.isFinalizeSuggested() },
			Active:       m.globalKeyCondition(func(a globalKeySet) bool { return a.actions }),
			Unavailable:  m.finalizeUnavailable,
			Do:           keylessAction(m.openFinalize),
		},
		{
			Name:         "cancel-volume",
			Keys:         []string{"X"},
			Label:        "X",
			Description:  "cancel this volume",
			FooterText:   "cancel",
			Group:        keys.GroupChange,
			InFooter:     true,
			Writes:       true,
			Active:       func() bool { s, ok := m.screenBelowHelp().(*jobScreen); return ok && s.SelectedVolume() != nil },
			ShowInFooter: func() bool { return !m.findJobScreen().SelectedVolume().HasEnded() },
			Unavailable:  func() string { return m.writesUnavailable(m.focusedCluster()) },
			Do:           keylessAction(m.openCancelVolume),
		},
		{
			Name:        "mark",
			Keys:        []string{"m"},
			Label:       "m",
			Description: "mark, to finalize or delete several",
			Group:       keys.GroupChange,
			Writes:      true,
			Active:      m.isOnDashboard,
			Unavailable: m.markUnavailable,
			Do:          keys.DoFunc(m.dashboard.toggleMark),
		},
		newChangeBinding(m, "backup-now", "b", "back up now", m.targetSchedule, m.backUpNow),
		newChangeBinding(m, "pause", "p", "pause, or let it go on", m.targetSchedule, m.pauseSchedule),
		deletion,
	}
}

// isFinalizeSuggested reports whether a job that the finalize key applies to is in trouble, or several are marked.
func (m *Model) isFinalizeSuggested() bool {
	of, jobs := m.finalizeTargets()
	return len(jobs) > 1 || jobs[0] != nil && of.assessment != nil && of.assessment.AssessJob(jobs[0]).IsTroubled()
}

func keylessAction(cmd func() tea.Cmd) func(string) tea.Cmd {
	return func(string) tea.Cmd { return cmd() }
}

func (m *Model) newProgramBindings() []keys.Binding {
	applying := func() bool {
		d := findScreen[*dialogScreen](m)
		return d != nil && d.Stage() == dialog.StageApplying
	}
	return []keys.Binding{
		{Name: "reconnect", Keys: []string{"r"}, Label: "r", Description: "reconnect now", Group: keys.GroupApp,
			Active: m.globalKeyCondition(func(a globalKeySet) bool { return a.actions }), Do: keylessAction(m.reconnect)},
		{
			Name:             "redraw",
			Keys:             []string{"ctrl+l"},
			Label:            "ctrl+l",
			Description:      "redraw the screen",
			Group:            keys.GroupApp,
			WorksDuringGrace: true,
			Do:               keylessAction(func() tea.Cmd { return tea.ClearScreen }),
		},
		{
			Name:             "suspend",
			Keys:             []string{"ctrl+z"},
			Label:            "ctrl+z",
			Description:      "suspend",
			Group:            keys.GroupApp,
			WorksDuringGrace: true,
			Active: m.globalKeyCondition(
				func(a globalKeySet) bool { return a.suspend },
			),
			Do: keylessAction(func() tea.Cmd { return tea.Suspend }),
		},
		{
			Name:         "command",
			Keys:         []string{":"},
			Label:        ":",
			Description:  "command",
			Group:        keys.GroupApp,
			InFooter:     true,
			ShowInFooter: m.isOnDashboard,
			Active: m.globalKeyCondition(
				func(a globalKeySet) bool { return a.command },
			),
			Do: keylessAction(func() tea.Cmd { return m.commandLine.OpenEmpty() }),
		},
		{
			Name:        "help",
			Keys:        []string{"?"},
			Label:       "?",
			Description: "help",
			Group:       keys.GroupApp,
			InFooter:    true,
			Active:      func() bool { return m.isHelpOpen() || m.screenBelowHelp().globalKeys().help },
			Do:          keys.DoFunc(m.toggleHelp),
		},
		{
			Name:        "form-help",
			Keys:        []string{"f1"},
			Label:       "f1",
			Description: "help",
			Group:       keys.GroupApp,
			InFooter:    true,
			Active:      m.isTypingInForm,
			Do:          keys.DoFunc(m.toggleHelp),
		},
		{
			Name:               "quit",
			Keys:               []string{"q"},
			Label:              "q",
			Description:        "quit",
			DynamicDescription: keys.ChooseText(applying, "stop and quit", "quit"),
			Group:              keys.GroupApp,
			InFooter:           true,
			Active:             m.globalKeyCondition(func(a globalKeySet) bool { return a.quit }),
			Do:                 keylessAction(m.quitProgram),
		},
		{
			Keys:             []string{"ctrl+c"},
			Label:            "ctrl+c",
			Description:      "quit at once",
			Group:            keys.GroupApp,
			WorksDuringGrace: true,
			Do:               keylessAction(m.interruptProgram),
		},
	}
}

// guideState returns what is on the screen for the guide, and whether its job has ended.
func (m *Model) guideState() (on guide.Screen, ended bool) {
	g := m.options.Guide
	if g == nil || m.guideHidden || m.isHelpOpen() || m.currentCluster.assessment == nil {
		return guide.OtherScreen, false
	}
	jobs := m.currentCluster.assessment.Snapshot.Jobs
	led := slices.IndexFunc(jobs, func(j *job.Job) bool { return j.Name == g.JobName })
	if led < 0 {
		return guide.OtherScreen, false
	}
	ended = jobs[led].IsTerminal()
	switch top := m.topScreen().(type) {
	case *dialogScreen:
		if top.IsFinalizing(g.JobName) {
			return guide.ConfirmDialog, ended
		}
	case *jobScreen:
		if top.Job().Name == g.JobName {
			return guide.JobScreen, ended
		}
	case *dashboard:
		selected := top.selectedJob()
		switch {
		case top.openTab != top.activeTab && !ended:
		case selected != nil && selected.Name == g.JobName:
			return guide.JobRow, ended
		default:
			return guide.JobList, ended
		}
	}
	return guide.OtherScreen, ended
}

func (m *Model) guideBindings() []keys.Binding {
	if m.options.Guide == nil {
		return nil
	}
	return []keys.Binding{{Keys: []string{"x"}, Label: "x", Description: "hide the hints", Group: keys.GroupApp,
		Active: func() bool {
			on, ended := m.guideState()
			_, text := m.options.Guide.HintFor(on, ended)
			return text != "" && on != guide.ConfirmDialog
		},
		Do: func(string) tea.Cmd { m.guideHidden = true; return nil }}}
}

// screenBindings returns the keys of the screen on top, or of the one below help, and the program's keys.
func (m *Model) screenBindings() []keys.Binding {
	return m.options.Keys.RebindAll(
		slices.Concat(m.screenBelowHelp().Bindings(), m.changeBindings, m.programBindings, m.guideBindings()),
	)
}

func (m *Model) activeBindings() []keys.Binding {
	if m.isHelpOpen() {
		return m.options.Keys.RebindAll(slices.Concat(m.topScreen().Bindings(), m.programBindings))
	}
	return m.screenBindings()
}

func (m *Model) handleKey(msg tea.KeyPressMsg) tea.Cmd {
	key := msg.String()
	before, since := m.lastKey, m.options.Clock().Sub(m.lastKeyAt)
	m.inputCount, m.lastKey, m.lastKeyAt = m.inputCount+1, key, m.options.Clock()
	if b := keys.FindByKey(m.activeBindings(), key); b != nil && b.Name == "suspend" { // also while text is typed
		return b.Do(key)
	}
	if cmd, typed := m.handlePromptInput(msg); typed {
		return cmd
	}
	m.notice, m.awaitedResource = "", nil
	if key == "esc" && !m.isHelpOpen() && findScreen[*dialogScreen](m) == nil { // a dialog has its own esc
		if cmd, handled := m.cancelSwitch(); handled {
			return cmd
		}
	}
	b := keys.FindByKey(m.activeBindings(), key)
	w, writes := m.topScreen().(textEditor)
	switch {
	case writes && (b == nil || !b.WorksDuringGrace) && w.AcceptsKey(msg, b != nil):
		return w.HandleTyping(msg)
	case b == nil && msg.Mod == tea.ModAlt:
		// Over a slow connection, esc and the next key arrive as one key: take them as two.
		second := tea.KeyPressMsg{Code: msg.Code, Text: string(msg.Code)}
		return tea.Sequence(m.handleKey(tea.KeyPressMsg{Code: tea.KeyEscape}), m.handleKey(second))
	case b == nil:
		return m.scheduleUnboundKey(key, before, since)
	}
	if why := b.UnavailableReason(); why != "" {
		m.notice = key + ": " + why
		m.focusedCluster().accessAnswer.Invalidate() // access may have been granted meanwhile
		return m.checkAccess(m.focusedCluster())
	}
	cmd := b.Do(key)
	if d, ok := m.topScreen().(*dialogScreen); ok && d.IsClosed() {
		m.popScreen()
	}
	return tea.Batch(cmd, m.fetchMissing(), m.lookCloser())
}

// unboundKeyMsg answers a letter without a binding, unless another key has come since.
type unboundKeyMsg struct {
	inputCount int
	key        string
}

// scheduleUnboundKey schedules the answer to a letter without a binding, unless the letter is part of a burst or may
// end an escape sequence.
func (m *Model) scheduleUnboundKey(key, before string, since time.Duration) tea.Cmd {
	r, size := utf8.DecodeRuneInString(key)
	ends := unicode.IsUpper(r) && (before == "esc" || strings.ContainsAny(before, "[O;0123456789"))
	if size < len(key) || !unicode.IsLetter(r) || ends || since < keys.BurstInterval {
		return nil
	}
	n := m.inputCount
	return tea.Tick(keys.BurstInterval, func(time.Time) tea.Msg { return unboundKeyMsg{n, key} })
}

// handlePromptInput passes typed input to the prompt in the last line; typed is false if no prompt is open.
func (m *Model) handlePromptInput(msg tea.Msg) (cmd tea.Cmd, typed bool) {
	switch {
	case m.savePrompt.IsTyping():
		return m.savePrompt.Update(msg), true
	case m.commandLine.IsTyping():
		return m.handleCommandInput(msg), true
	}
	if p := m.activePrompt(); p != nil {
		cmd, _ = p.Update(msg)
		return cmd, true
	}
	return nil, false
}

func (m *Model) handlePaste(msg tea.PasteMsg) tea.Cmd {
	m.inputCount++
	if cmd, typed := m.handlePromptInput(msg); typed {
		return cmd
	}
	if w, ok := m.topScreen().(textEditor); ok {
		return w.HandlePaste(msg)
	}
	return nil
}

func (m *Model) reconnect() tea.Cmd {
	var cmds []tea.Cmd
	for _, c := range m.clusters {
		c.filterContentsQueries(func(_ types.UID, q *contentsQuery) bool { return q.answer.Err == nil })
		c.closerLooks.scheduler.ForgetLooks()
		cmds = append(cmds, recoverPanic(func() tea.Msg { c.Retry(); return nil }))
	}
	if s := m.findJobScreen(); s != nil {
		s.ClearErrors()
	}
	return tea.Batch(cmds...)
}

// quitProgram ends the program after the work in progress.
func (m *Model) quitProgram() tea.Cmd { return m.leaveProgram(false) }

func (m *Model) interruptProgram() tea.Cmd {
	m.exitErr = ErrInterrupted
	return m.leaveProgram(true)
}

func (m *Model) leaveProgram(atOnce bool) tea.Cmd {
	if d := findScreen[*dialogScreen](m); d != nil {
		return d.RequestQuit(atOnce)
	}
	return tea.Quit
}

const (
	wheelLines  = 3 // lines per notch of the wheel
	headerLines = 1
)

// handleClick handles a click on a tab or a row. In a dialog a click does nothing: the mouse never confirms a change.
func (m *Model) handleClick(at tea.MouseClickMsg) tea.Cmd {
	on, ok := m.topScreen().(clickHandler)
	if !ok || at.Button != tea.MouseLeft || at.Mod != 0 || m.commandLine.IsTyping() || m.savePrompt.IsTyping() ||
		m.activePrompt() != nil {
		m.isFrameStale = false
		return nil
	}
	m.notice, m.awaitedResource = "", nil
	again, cmd := on.HandleClick(at.X, at.Y-headerLines)
	if open := keys.FindByAction(m.activeBindings(), "open"); again && open != nil && open.UnavailableReason() == "" {
		cmd = open.Do(open.Keys[0])
	}
	return tea.Batch(cmd, m.fetchMissing(), m.lookCloser())
}

func (m *Model) handleWheel(at tea.MouseWheelMsg) {
	switch at.Button {
	case tea.MouseWheelUp:
		m.topScreen().HandleWheel(-wheelLines)
	case tea.MouseWheelDown:
		m.topScreen().HandleWheel(wheelLines)
	default:
		m.isFrameStale = false
	}
}
