package ui

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/restorespec"
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

// onMain are the program's keys over a screen that is no form or dialog.
func onMain(jobs bool) allowed {
	return allowed{main: true, jobs: jobs, command: true, help: true, quit: true, suspend: true}
}

type jobScreen struct {
	base
	*jobview.Screen
}

func (m *Model) openJob(of *clusterState, uid types.UID, at jobview.Page) tea.Cmd {
	m.push(&jobScreen{base{m: m, of: of}, jobview.New(uid, at, of.assessed, of.sources, m.pop)})
	return nil // what its page lacks is asked for after every key
}

// job is the open job's screen, nil while there is none.
func (m *Model) job() *jobScreen { return find[*jobScreen](m) }

func (s *jobScreen) allows() allowed { return onMain(true) }

func (s *jobScreen) View(c draw.Canvas) string {
	s.Read(s.of.contents(s.UID()))
	return s.Screen.View(c)
}

func (s *jobScreen) Close() {
	s.Screen.Close()
	s.of.looks.last.About(nil)
	s.m.dropQuestions(s.of)
}

type otherScreen struct {
	base
	*detail.Screen
}

func (m *Model) openOther(of *clusterState, t view.Tab, key string) tea.Cmd {
	open := func(uid types.UID) tea.Cmd { return m.openJob(of, uid, jobview.Overview) }
	m.push(&otherScreen{base{m: m, of: of}, detail.New(t, key, of.assessed, m.pop, open)})
	if t.Reads == nil {
		return nil
	}
	what := t.Reads(of.assessed, key)
	switch {
	case what == "":
		return nil
	case t.Name == resource.SchedulesName:
		return m.askNextRun(of, what)
	}
	cmd, _ := of.sources.Start(func(ctx context.Context) tea.Msg { of.ReadEtcdLog(ctx, what); return nil })
	return cmd
}

func (s *otherScreen) allows() allowed { return onMain(false) }

func (s *otherScreen) Click(_, y int) (again bool, cmd tea.Cmd) { return s.Screen.Click(y), nil }

type formScreen struct {
	base
	*restoreform.Form
}

// openForm opens the form of a restore: from a backup, or like another restore.
func (m *Model) openForm(of *clusterState, j *job.Job) tea.Cmd {
	now := m.options.Clock()
	draft := restoreform.From(j.Name, now)
	if r, ok := j.Object.(*velerov1.Restore); ok {
		draft = restoreform.Again(r, now)
	}
	if s := m.job(); s != nil && s.UID() == j.UID && len(s.Marked()) > 0 {
		if err := draft.Select(s.Marked()); err != nil {
			return func() tea.Msg { return jobview.Noticed{Text: err.Error()} }
		}
	}
	form, cmd := restoreform.New(restoreform.Options{
		Draft:          draft,
		Context:        of.Context,
		Reach:          of.Request.Reach(),
		Inspector:      of.Inspector,
		Start:          m.starts,
		Clock:          m.options.Clock,
		Keys:           m.options.Keys,
		WhyNoClipboard: m.options.Terminal.WhyNoClipboard,
		Back:           m.pop,
		WhyNotCreate:   m.writesUnavailable(of),
		Create: func(d restorespec.Draft, consequences []string) tea.Cmd {
			r := of.Request
			namespace := of.assessed.Snapshot.Namespace
			r.Policy, r.Consequences, r.Unnamed = d.ConfigMap(
				namespace,
			), consequences, d.Restore.Name == draft.Restore.Name
			if words, unsaid := d.Words(); len(unsaid) == 0 {
				r.Words = words
			}
			return m.openChange(of, "Start", action.Create, d.Object(namespace), r)
		},
	}, of.assessed)
	m.push(&formScreen{base{m: m, of: of}, form})
	return cmd
}

func (s *formScreen) allows() allowed {
	return allowed{command: !s.m.writing(), help: !s.m.writing(), suspend: true}
}

func (s *formScreen) Takes(msg tea.KeyPressMsg, _ bool) bool { return s.Form.Takes(msg) }

func (s *formScreen) Paste(msg tea.PasteMsg) tea.Cmd {
	if !s.Typing() {
		return nil
	}
	return s.Type(msg)
}

func (s *formScreen) Click(x, y int) (again bool, cmd tea.Cmd) {
	s.Form.Click(x, y)
	return false, nil
}

// Close withdraws what was asked for, and leaves the command on the user's terminal.
func (s *formScreen) Close() {
	s.Form.Close()
	if text := s.Parting(); text != "" {
		s.m.parting = append(s.m.parting, text)
	}
}

func (m *Model) writing() bool {
	s, ok := m.top().(*formScreen)
	return ok && s.Typing()
}

// meant is the job that a key about one job means, nil if there is none.
func (m *Model) meant() *job.Job {
	if s := m.job(); s != nil {
		return s.Job()
	}
	return m.dashboard.selectedJob()
}

const noJobSelected = "no backup or restore is selected"

type helpScreen struct {
	still
	*pager.Pager
	m    *Model
	keys []keys.Binding
}

func (m *Model) newHelp() *helpScreen {
	s := &helpScreen{Pager: pager.New(nil), m: m}
	s.keys = append([]keys.Binding{
		{
			Keys:  []string{"esc", "left", "h", "backspace"},
			Label: "esc",
			What:  "back",
			Group: keys.Look,
			Short: true,
			Do:    s.Leave(m.pop),
		},
		{Keys: []string{"q"}, Label: "q", What: "back", Group: keys.Look, Do: func(string) tea.Cmd { return m.pop() }},
	}, s.Pager.Keys()...)
	return s
}

func (s *helpScreen) allows() allowed                    { return s.m.shown().allows() }
func (s *helpScreen) Keys() []keys.Binding               { return s.keys }
func (s *helpScreen) Update(msg tea.Msg) (tea.Cmd, bool) { return s.Pager.Update(msg) }

func (s *helpScreen) View(c draw.Canvas) string {
	s.Show(pager.Plain(keys.Help(c, slices.Concat(s.m.screenKeys(), s.m.commandHelp()))))
	return c.Page(s.Page(c))
}

func (m *Model) helping() bool {
	_, ok := m.top().(*helpScreen)
	return ok
}

func (m *Model) toggleHelp() {
	if m.helping() {
		m.pop()
	} else {
		m.push(m.newHelp())
	}
}

type dialogScreen struct {
	base
	*dialog.Dialog
}

func (s *dialogScreen) allows() allowed {
	return allowed{help: s.HasHelp(), quit: s.Stage() != dialog.Typing, suspend: s.Stage() != dialog.Applying}
}

// Takes reports whether a key is not acted on: the stage is deaf, or has no such key.
func (s *dialogScreen) Takes(msg tea.KeyPressMsg, bound bool) bool {
	return s.Swallows() || !bound && msg.Mod != tea.ModAlt
}

func (s *dialogScreen) View(c draw.Canvas) string {
	below := s.m.screens[slices.Index(s.m.screens, openScreen(s))-1]
	return s.Dialog.View(c, below.View(c))
}

// Close unmarks the settled jobs, and keeps what was done for the exit messages.
func (s *dialogScreen) Close() {
	if s.Watching() {
		s.m.watching = append(s.m.watching, s)
		return
	}
	for _, uid := range s.Settled() {
		delete(s.m.dashboard.marked, s.of.key(string(uid)))
	}
	s.m.parting = append(s.m.parting, s.Parting()...)
}

// handleWatched tells what became of a change whose dialog was left.
func (m *Model) handleWatched(d *dialog.Dialog) {
	for i, s := range m.watching {
		if s.Dialog == d {
			m.watching = slices.Delete(m.watching, i, i+1)
			s.Close()
			m.notice = d.Result()
			return
		}
	}
}

// logScreen lists what veltui has changed from this machine, newest first, and below a row all of it.
type logScreen struct {
	still
	*pager.Pager
	m     *Model
	keys  []keys.Binding
	audit fetch.Answer[*document.Audit]
	open  map[string]bool // the attempts whose details are shown
}

var logColumns = []view.ScreenColumn{
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

func (m *Model) openLog() tea.Cmd {
	s := &logScreen{Pager: pager.New(nil), m: m, open: map[string]bool{}}
	selected := func() bool { return s.Selected() != "" }
	s.keys = append([]keys.Binding{
		{
			Name:  "back",
			Keys:  []string{"esc", "left", "h", "backspace"},
			Label: "esc",
			What:  "back",
			Group: keys.Look,
			Short: true,
			Do:    s.Leave(m.pop),
		},
		{
			Name:  "open",
			Keys:  []string{"enter", "right"},
			Label: "enter",
			What:  "details",
			Group: keys.Look,
			Short: true,
			On:    selected,
			Do:    keys.Run(func() { s.open[s.Selected()] = !s.open[s.Selected()] }),
		},
		{
			Name:  "copy",
			Keys:  []string{"y"},
			Label: "y",
			What:  "copy command",
			Group: keys.Look,
			Short: true,
			On:    selected,
			Do:    run(s.copyCommand),
		},
	}, s.Pager.Keys()...)
	m.showDashboard()
	m.push(s)
	return s.audit.Ask(
		fetch.Asker{Start: m.starts, Clock: m.options.Clock},
		0,
		func(context.Context) (*document.Audit, error) { return m.options.Audit("") },
	)
}

func (s *logScreen) allows() allowed                    { return onMain(false) }
func (s *logScreen) Keys() []keys.Binding               { return s.keys }
func (s *logScreen) Update(msg tea.Msg) (tea.Cmd, bool) { return s.Pager.Update(msg) }

// copyCommand copies what does the same as the selected attempt.
func (s *logScreen) copyCommand() tea.Cmd {
	i := slices.IndexFunc(s.audit.Value.Items, func(one document.Audited) bool { return one.Attempt == s.Selected() })
	return s.m.at.sources.CopyText("the command", strings.Join(s.audit.Value.Items[i].Commands, "\n"), "")
}

func (s *logScreen) View(c draw.Canvas) string {
	lines, widths := []string{
		" " + c.Theme.Strong.Render("What veltui has changed from this machine"),
		c.Rule(),
	}, view.FitColumns(
		logColumns,
		c.Width-1,
	)
	switch {
	case s.audit.Err != nil:
		lines = append(lines, c.Note(c.Theme.Waiting, "The log cannot be read: "+s.audit.Err.Error(), 1, 3)...)
	case !s.audit.Known:
		lines = append(lines, " Reading the log"+c.Glyphs.Ellipsis)
	default:
		for _, note := range s.audit.Value.Notes {
			lines = append(lines, c.Note(c.Theme.Waiting, note, 1, 1)...)
		}
		lines = append(lines, " "+c.Titles(logColumns, widths, draw.Sorting{}))
		if s.Show(s.rows(c, widths)); s.Selected() == "" {
			s.GoTo(0)
		}
	}
	return c.Page(append(lines, s.Page(c.Sized(c.Width, max(c.Height-len(lines), 0)))...))
}

func (s *logScreen) rows(c draw.Canvas, widths []int) (rows pager.Lines) {
	for _, one := range slices.Backward(s.audit.Value.Items) {
		cells := one.Cells(c.Now)
		for i := range cells {
			cells[i] = c.Cell(c.Theme.Text, cells[i], widths[i], false)
		}
		rows = append(rows, pager.Line{Key: one.Attempt, Text: " " + draw.JoinCells(cells, widths)})
		if s.open[one.Attempt] {
			for line := range strings.Lines(one.YAML()) {
				rows = append(
					rows,
					pager.Plain(draw.Indented(c.Sized(c.Width-4, 0).Whole(strings.TrimRight(line, "\n")), 4))...)
			}
		}
	}
	return rows
}
