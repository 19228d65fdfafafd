package ui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/job"
)

// leave ends the program, after what is under way.
func (m *Model) leave(k string) tea.Cmd {
	if k == "ctrl+c" {
		m.err = ErrInterrupted
	}
	if m.dialog != nil {
		return m.dialog.leave(k == "ctrl+c")
	}
	return tea.Quit
}

// pressedInDialog gives the dialog a key, unless it is one of the program's.
func (m *Model) pressedInDialog(a action, msg tea.KeyPressMsg) tea.Cmd {
	switch a {
	case actRedraw:
		return tea.ClearScreen
	case actSuspend:
		return tea.Suspend
	case actQuit, actHelp:
		if m.dialog.grace.swallow(m.options.Clock()) {
			return nil
		}
		if a == actQuit {
			return m.leave(msg.String())
		}
		m.help = 0
		return nil
	}
	closed, cmd := m.dialog.pressed(a, msg)
	if closed {
		m.closeDialog()
	}
	return cmd
}

// openFinalize opens the dialog for the marked jobs, or for the one that is
// open or under the cursor.
func (m *Model) openFinalize() tea.Cmd {
	jobs := m.dashboard.marked.jobs(m.digest)
	if m.job != nil || len(jobs) == 0 {
		jobs = []*job.Job{m.finalizable()}
	}
	dialog, cmd := openFinalizeDialog(m.finalizing, jobs)
	m.dialog = dialog
	return cmd
}

func (m *Model) closeDialog() {
	for _, uid := range m.dialog.settled {
		delete(m.dashboard.marked, uid)
	}
	m.said = append(m.said, m.dialog.said...)
	m.dialog = nil
}

// bindingsNow are the bindings with why those cannot be used that cannot.
func (m *Model) bindingsNow() []binding {
	now := slices.Clone(m.bindings)
	for i := range now {
		now[i].why = m.whyNot(now[i])
		if now[i].action == actConfirm && now[i].places == onOutcome && m.dialog != nil {
			now[i].key.SetHelp("enter", m.dialog.onward())
		}
	}
	return now
}

func (m *Model) whyNot(b binding) string {
	d := m.dialog
	switch {
	case b.action == actMark:
		j := m.dashboard.selectedJob()
		if why := m.whyNotFinalize(j); why != "" || !j.Terminal() {
			return why
		}
		return j.Name + " has ended; its volumes are looked at one job at a time, with f"
	case b.action == actFinalize && m.job == nil && len(m.dashboard.marked) > 0:
		return ""
	case b.action == actFinalize:
		return m.whyNotFinalize(m.finalizable())
	case d == nil:
		return ""
	case b.action == actNext && len(d.targets) < 2:
		return "no other job is marked"
	case b.action == actLook && d.stage == stageSummary:
		return "all that was to be looked at has been"
	case b.action == actNext && (d.stage == stageSummary || d.stage == stageEnded && !d.replanned()):
		return "enter goes on"
	case b.action == actBack && d.stage == stageRunning && d.stopping:
		return "it is being stopped"
	case d.stage == stagePlan && b.places == onPlan:
		return d.whyNot(b.action)
	case b.action == actConfirm && b.places == onField && (m.width < minWidth || m.height < minHeight):
		return "the terminal is too small to see what would be done"
	}
	return ""
}
