package ui

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/internal/view/resource"
	"github.com/veltui/veltui/ui/detail"
	"github.com/veltui/veltui/ui/dialog"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/jobview"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
	"github.com/veltui/veltui/ui/restoreform"
)

// mainScreenKeys returns the program's keys for a screen that is neither a form nor a dialog.
func mainScreenKeys(jobs bool) globalKeySet {
	return globalKeySet{actions: true, jobActions: jobs, command: true, help: true, quit: true, suspend: true}
}

type jobScreen struct {
	clusterScreen
	*jobview.Screen
}

func (m *Model) openJob(of *clusterState, uid types.UID, at jobview.PageName) tea.Cmd {
	m.pushScreen(
		&jobScreen{
			clusterScreen{model: m, clusterState: of},
			jobview.New(uid, at, of.assessment, of.jobDependencies, m.popScreen),
		},
	)
	return nil // the page's missing data is requested after every key
}

// findJobScreen returns the open job's screen, nil if there is none.
func (m *Model) findJobScreen() *jobScreen { return findScreen[*jobScreen](m) }

func (s *jobScreen) globalKeys() globalKeySet { return mainScreenKeys(true) }

func (s *jobScreen) View(c draw.Canvas) string {
	s.SetContents(s.clusterState.knownContents(s.UID()))
	return s.Screen.View(c)
}

func (s *jobScreen) Close() {
	s.Screen.Close()
	s.clusterState.closerLooks.lastLook.ResetForKey(nil)
	s.model.dropUnneededContents(s.clusterState)
}

type resourceScreen struct {
	clusterScreen
	*detail.Screen
}

func (m *Model) openResource(of *clusterState, t view.Tab, key string) tea.Cmd {
	open := func(uid types.UID) tea.Cmd { return m.openJob(of, uid, jobview.Overview) }
	m.pushScreen(
		&resourceScreen{clusterScreen{model: m, clusterState: of}, detail.New(t, key, of.assessment, m.popScreen, open)},
	)
	if t.DetailKey == nil {
		return nil
	}
	what := t.DetailKey(of.assessment, key)
	switch {
	case what == "":
		return nil
	case t.Name == resource.SchedulesTabName:
		return m.fetchNextRun(of, what)
	}
	cmd, _ := of.jobDependencies.Start(func(ctx context.Context) tea.Msg { of.ReadEtcdLog(ctx, what); return nil })
	return cmd
}

func (s *resourceScreen) globalKeys() globalKeySet { return mainScreenKeys(false) }

func (s *resourceScreen) HandleClick(_, y int) (again bool, cmd tea.Cmd) {
	return s.Screen.HandleClick(y), nil
}

type restoreFormScreen struct {
	clusterScreen
	*restoreform.Form
}

// openRestoreForm opens the form for a restore: from a backup, or like another restore.
func (m *Model) openRestoreForm(of *clusterState, j *job.Job) tea.Cmd {
	now := m.options.Clock()
	draft := restoreform.NewDraft(j.Name, now)
	if r, ok := j.Object.(*veleroapi.Restore); ok {
		draft = restoreform.NewDraftLike(r, now)
	}
	if s := m.findJobScreen(); s != nil && s.UID() == j.UID && len(s.MarkedItems()) > 0 {
		if err := draft.SelectItems(s.MarkedItems()); err != nil {
			return func() tea.Msg { return jobview.NoticeMsg{Text: err.Error()} }
		}
	}
	form, cmd := restoreform.New(restoreform.Options{
		Draft:                draft,
		Context:              of.Context,
		ClusterAccess:        of.Request.ClusterAccess(),
		Backend:              of.Backend,
		Start:                m.startWork,
		Clock:                m.options.Clock,
		Keys:                 m.options.Keys,
		ClipboardUnavailable: m.options.Terminal.ClipboardUnavailable,
		OnBack:               m.popScreen,
		CreateUnavailable:    m.writesUnavailable(of),
		OnCreate: func(d restorespec.Draft, consequences []string) tea.Cmd {
			r := of.Request
			namespace := of.assessment.Snapshot.Namespace
			r.PolicyConfigMap, r.Consequences, r.NameGenerated = d.ConfigMap(
				namespace,
			), consequences, d.Restore.Name == draft.Restore.Name
			if words, unsaid := d.CommandWords(); len(unsaid) == 0 {
				r.VeleroCommand = words
			}
			return m.openChangeDialog(of, "Start", action.Create, d.RestoreObject(namespace), r)
		},
	}, of.assessment)
	m.pushScreen(&restoreFormScreen{clusterScreen{model: m, clusterState: of}, form})
	return cmd
}

// isWaiting reports whether a dialog is open about the form's restore: the form then stays as it was confirmed, and
// does not check a name that the dialog is about to use.
func (s *restoreFormScreen) isWaiting() bool { return findScreen[*dialogScreen](s.model) != nil }

func (s *restoreFormScreen) SetAssessment(a *assess.Assessment) {
	if !s.isWaiting() {
		s.Form.SetAssessment(a)
	}
}

func (s *restoreFormScreen) FetchMissing() tea.Cmd {
	if s.isWaiting() {
		return nil
	}
	return s.Form.FetchMissing()
}

// closeUsedForm closes the form whose restore a plan has created, if it has.
func (m *Model) closeUsedForm(p action.Plan) {
	i := slices.IndexFunc(m.screens, func(s screenOnStack) bool {
		form, ok := s.(*restoreFormScreen)
		return ok && p.Action == action.Create && p.Kind == job.Restore && form.RestoreName() == p.Name
	})
	if i < 0 {
		return
	}
	form := m.screens[i]
	m.screens = slices.Delete(m.screens, i, i+1)
	form.Close()
}

func (s *restoreFormScreen) globalKeys() globalKeySet {
	return globalKeySet{command: !s.model.isTypingInForm(), help: !s.model.isTypingInForm(), suspend: true}
}

func (s *restoreFormScreen) AcceptsKey(msg tea.KeyPressMsg, _ bool) bool {
	return s.Form.AcceptsKey(msg)
}

func (s *restoreFormScreen) HandlePaste(msg tea.PasteMsg) tea.Cmd {
	if !s.IsTyping() {
		return nil
	}
	return s.HandleTyping(msg)
}

func (s *restoreFormScreen) HandleClick(x, y int) (again bool, cmd tea.Cmd) {
	s.Form.HandleClick(x, y)
	return false, nil
}

// Close cancels the form's requests, and leaves the command on the user's terminal.
func (s *restoreFormScreen) Close() {
	s.Form.Close()
	if text := s.ExitMessage(); text != "" {
		s.model.exitLines = append(s.model.exitLines, text)
	}
}

func (m *Model) isTypingInForm() bool {
	s, ok := m.topScreen().(*restoreFormScreen)
	return ok && s.IsTyping()
}

// targetJob returns the job that a key about one job applies to, nil if there is none.
func (m *Model) targetJob() *job.Job {
	if s := m.findJobScreen(); s != nil {
		return s.Job()
	}
	return m.dashboard.selectedJob()
}

const noJobSelected = "no backup or restore is selected"

type helpScreen struct {
	noopScreen
	*pager.Pager
	model       *Model
	keyBindings []keys.Binding
}

func (m *Model) newHelpScreen() *helpScreen {
	s := &helpScreen{Pager: pager.New(nil), model: m}
	s.keyBindings = append([]keys.Binding{
		{
			Keys:        []string{"esc", "left", "h", "backspace"},
			Label:       "esc",
			Description: "back",
			Group:       keys.GroupLook,
			InFooter:    true,
			Do:          s.BackAction(m.popScreen),
		},
		{
			Keys:        []string{"q"},
			Label:       "q",
			Description: "back",
			Group:       keys.GroupLook,
			Do:          func(string) tea.Cmd { return m.popScreen() },
		},
	}, s.Pager.Bindings()...)
	return s
}

func (s *helpScreen) globalKeys() globalKeySet           { return s.model.screenBelowHelp().globalKeys() }
func (s *helpScreen) Bindings() []keys.Binding           { return s.keyBindings }
func (s *helpScreen) Update(msg tea.Msg) (tea.Cmd, bool) { return s.Pager.Update(msg) }

func (s *helpScreen) View(c draw.Canvas) string {
	s.SetSource(pager.PlainLines(keys.RenderHelp(c, slices.Concat(s.model.screenBindings(), s.model.commandBindings()))))
	return c.RenderPage(s.RenderPage(c))
}

func (m *Model) isHelpOpen() bool {
	_, ok := m.topScreen().(*helpScreen)
	return ok
}

func (m *Model) toggleHelp() {
	if m.isHelpOpen() {
		m.popScreen()
	} else {
		m.pushScreen(m.newHelpScreen())
	}
}

type dialogScreen struct {
	clusterScreen
	*dialog.Dialog
}

func (s *dialogScreen) globalKeys() globalKeySet {
	return globalKeySet{
		help:    s.HasHelp(),
		quit:    s.Stage() != dialog.StageTyping,
		suspend: s.Stage() != dialog.StageApplying,
	}
}

// AcceptsKey reports whether the dialog takes a key for itself: the stage ignores keys, or the key has no binding.
func (s *dialogScreen) AcceptsKey(msg tea.KeyPressMsg, bound bool) bool {
	return s.SwallowsKey() || !bound && msg.Mod != tea.ModAlt
}

func (s *dialogScreen) View(c draw.Canvas) string {
	below := s.model.screens[slices.Index(s.model.screens, screenOnStack(s))-1]
	return s.Dialog.View(c, below.View(c))
}

// Close unmarks the settled jobs, and keeps the results for the exit messages.
func (s *dialogScreen) Close() {
	if s.IsObserving() {
		s.model.backgroundDialogs = append(s.model.backgroundDialogs, s)
		return
	}
	for _, uid := range s.SettledUIDs() {
		delete(s.model.dashboard.marked, s.clusterState.rowKey(string(uid)))
	}
	s.model.exitLines = append(s.model.exitLines, s.ExitMessages()...)
}

// handleObservationDone shows the result of a change whose dialog was left.
func (m *Model) handleObservationDone(d *dialog.Dialog) {
	for i, s := range m.backgroundDialogs {
		if s.Dialog == d {
			m.backgroundDialogs = slices.Delete(m.backgroundDialogs, i, i+1)
			s.Close()
			m.notice = d.ResultText()
			return
		}
	}
}

// auditScreen lists the changes that veltui made from this machine, the newest first, with the details of expanded
// rows.
type auditScreen struct {
	noopScreen
	*pager.Pager
	model            *Model
	keyBindings      []keys.Binding
	audit            fetch.Answer[*document.Audit]
	expandedAttempts map[string]bool // the attempts whose details are shown
}

var auditColumns = []view.ScreenColumn{
	{Title: "TIME", Width: 13},
	{Title: "CONTEXT", Width: 12, Grow: 1, Limit: 30, Priority: 4},
	{Title: "BY", Width: 12, Grow: 1, Limit: 40, Priority: 3},
	{
		Title: "ACTION",
		Width: 14,
	},
	{Title: "WHAT", Width: 20, Grow: 3, Limit: 60},
	{Title: "SENT", Width: 9, Priority: 2},
	{Title: "STATE", Width: 13, Priority: 1},
	{Title: "REASON", Width: 20, Grow: 3, Limit: 100, Priority: 5},
}

func (m *Model) openAuditScreen() tea.Cmd {
	s := &auditScreen{Pager: pager.New(nil), model: m, expandedAttempts: map[string]bool{}}
	selected := func() bool { return s.SelectedKey() != "" }
	s.keyBindings = append([]keys.Binding{
		{
			Name:        "back",
			Keys:        []string{"esc", "left", "h", "backspace"},
			Label:       "esc",
			Description: "back",
			Group:       keys.GroupLook,
			InFooter:    true,
			Do:          s.BackAction(m.popScreen),
		},
		{
			Name:        "open",
			Keys:        []string{"enter", "right"},
			Label:       "enter",
			Description: "details",
			Group:       keys.GroupLook,
			InFooter:    true,
			Active:      selected,
			Do:          keys.DoFunc(func() { s.expandedAttempts[s.SelectedKey()] = !s.expandedAttempts[s.SelectedKey()] }),
		},
		{
			Name:        "copy",
			Keys:        []string{"y"},
			Label:       "y",
			Description: "copy command",
			Group:       keys.GroupLook,
			InFooter:    true,
			Active:      selected,
			Do:          keylessAction(s.copyCommand),
		},
	}, s.Pager.Bindings()...)
	m.showDashboard()
	m.pushScreen(s)
	return s.audit.FetchIfDue(
		fetch.Requester{Start: m.startWork, Clock: m.options.Clock},
		0,
		func(context.Context) (*document.Audit, error) { return m.options.LoadAudit("") },
	)
}

func (s *auditScreen) globalKeys() globalKeySet           { return mainScreenKeys(false) }
func (s *auditScreen) Bindings() []keys.Binding           { return s.keyBindings }
func (s *auditScreen) Update(msg tea.Msg) (tea.Cmd, bool) { return s.Pager.Update(msg) }

// copyCommand copies the commands that do the same as the selected attempt.
func (s *auditScreen) copyCommand() tea.Cmd {
	i := slices.IndexFunc(s.audit.Value.Items, func(one document.Audited) bool { return one.Attempt == s.SelectedKey() })
	return s.model.currentCluster.jobDependencies.CopyText(
		"the command",
		strings.Join(s.audit.Value.Items[i].Commands, "\n"),
		"",
	)
}

func (s *auditScreen) View(c draw.Canvas) string {
	lines, widths := []string{
		" " + c.Theme.Strong.Render("What veltui has changed from this machine"),
		c.RenderRule(),
	}, view.FitColumns(
		auditColumns,
		c.Width-1,
	)
	switch {
	case s.audit.Err != nil:
		lines = append(lines, c.RenderIndented(c.Theme.Waiting, "The log cannot be read: "+s.audit.Err.Error(), 1, 3)...)
	case !s.audit.HasValue:
		lines = append(lines, " Reading the log"+c.Glyphs.Ellipsis)
	default:
		for _, note := range s.audit.Value.Notes {
			lines = append(lines, c.RenderIndented(c.Theme.Waiting, note, 1, 1)...)
		}
		lines = append(lines, " "+c.RenderTableHeader(auditColumns, widths, draw.SortOrder{}))
		if s.SetSource(s.renderRows(c, widths)); s.SelectedKey() == "" {
			s.GoToLine(0)
		}
	}
	return c.RenderPage(append(lines, s.RenderPage(c.WithSize(c.Width, max(c.Height-len(lines), 0)))...))
}

func (s *auditScreen) renderRows(c draw.Canvas, widths []int) (rows pager.Lines) {
	for _, one := range slices.Backward(s.audit.Value.Items) {
		cells := one.Cells(c.Now)
		for i := range cells {
			cells[i] = c.RenderCell(c.Theme.Text, cells[i], widths[i], false)
		}
		rows = append(rows, pager.Line{Key: one.Attempt, Text: " " + draw.JoinCells(cells, widths)})
		if s.expandedAttempts[one.Attempt] {
			for line := range strings.Lines(one.YAML()) {
				rows = append(
					rows,
					pager.PlainLines(draw.IndentLines(c.WithSize(c.Width-4, 0).WrapForCopying(strings.TrimRight(line, "\n")), 4))...)
			}
		}
	}
	return rows
}
