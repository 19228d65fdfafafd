package ui

import (
	"context"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/action"
	"github.com/veltui/veltui/inspect"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/restore/restorespec"
	"github.com/veltui/veltui/ui/detail"
	"github.com/veltui/veltui/ui/dialog"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/jobview"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
	"github.com/veltui/veltui/ui/restoreform"
	"github.com/veltui/veltui/ui/tabs"
)

// onMain are the program's keys over a screen that is no form or dialog.
func onMain(jobs bool) allowed {
	return allowed{main: true, jobs: jobs, command: true, help: true, quit: true, suspend: true}
}

type jobScreen struct {
	base
	*jobview.Screen
}

func (m *Model) openJob(of *cluster, uid types.UID, at jobview.Page) tea.Cmd {
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

func (m *Model) openOther(of *cluster, t detail.Tab, key string) tea.Cmd {
	open := func(uid types.UID) tea.Cmd { return m.openJob(of, uid, jobview.Overview) }
	m.push(&otherScreen{base{m: m, of: of}, detail.New(t, key, of.assessed, m.pop, open)})
	if t.Reads == nil {
		return nil
	}
	what := t.Reads(of.assessed, key)
	switch {
	case what == "":
		return nil
	case t.Name == tabs.SchedulesName:
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
func (m *Model) openForm(of *cluster, j *job.Job) tea.Cmd {
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
		Draft: draft, Context: of.Context, Reach: of.Request.Reach(), Inspector: of.Inspector, Start: m.starts,
		Clock: m.options.Clock, WhyNoClipboard: m.options.Terminal.WhyNoClipboard, Back: m.pop, WhyNotCreate: m.writesUnavailable(of),
		Create: func(d restorespec.Draft, consequences []string) tea.Cmd {
			r := of.Request
			namespace := of.assessed.Snapshot.Namespace
			r.Policy, r.Consequences = d.ConfigMap(namespace), consequences
			if line, fields, flags := d.Command(r.Reach(), namespace); len(fields)+len(flags) == 0 {
				r.Commands = []string{line}
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
		{Keys: []string{"esc", "left", "h", "backspace"}, Label: "esc", What: "back", Group: keys.Look, Short: true, Do: s.Leave(m.pop)},
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

// checkAccess asks the API server what we may change: once for each namespace.
func (m *Model) checkAccess(c *cluster) tea.Cmd {
	if m.options.ReadOnly || c.Unavailable(inspect.Changes) != "" || c.assessed == nil || c.assessed.Snapshot.Namespace == "" {
		return nil
	}
	namespace := c.assessed.Snapshot.Namespace
	c.rights.About(namespace)
	return c.rights.Ask(c.asker(nil), 0, func(ctx context.Context) (map[job.Kind]string, error) {
		denied := map[job.Kind]string{}
		for _, kind := range []job.Kind{job.Backup, job.Restore} {
			// Without an answer the dialog's own evidence tells.
			if why, err := c.Allowed(ctx, namespace, kind); err == nil {
				denied[kind] = why
			}
		}
		return denied, nil
	})
}

// subjects are the jobs that the finalize key means: the open one, the marked, or the selected.
func (m *Model) subjects() (*cluster, []*job.Job) {
	if s := m.job(); s != nil {
		return s.of, []*job.Job{s.Job()}
	}
	if c, marked := m.dashboard.markedJobs(); len(marked) > 0 {
		return c, marked
	}
	return m.focus(), []*job.Job{m.dashboard.selectedJob()}
}

func (m *Model) openFinalize() tea.Cmd {
	of, jobs := m.subjects()
	return m.openDialog(of, dialog.Options{Jobs: jobs, Request: of.Request})
}

func (m *Model) openDialog(of *cluster, d dialog.Options) tea.Cmd {
	o := m.options
	d.Inspector, d.Context, d.Clock, d.Keys, d.Start = of.Inspector, of.Context, o.Clock, o.Keys, of.sources.Start
	d.Readable, d.NoClipboard = m.readable, o.Terminal.WhyNoClipboard != ""
	opened, cmd := dialog.Open(d)
	m.push(&dialogScreen{base{m: m, of: of}, opened})
	return cmd
}

// openChange opens the dialog for an action that is about no running job.
func (m *Model) openChange(of *cluster, title string, name action.Name, o *unstructured.Unstructured, r action.Request) tea.Cmd {
	namespace := of.assessed.Snapshot.Namespace
	named := &job.Job{Kind: job.Kind(o.GetKind()), Namespace: namespace, Name: o.GetName()}
	return m.openDialog(of, dialog.Options{Jobs: []*job.Job{named}, Title: title, Request: r,
		Propose: func(ctx context.Context) (action.Plan, error) { return of.Propose(ctx, namespace, name, o, r) }})
}

// finalizeUnavailable is why the finalize key can do nothing; the evidence decides the rest.
func (m *Model) finalizeUnavailable() string {
	if m.job() == nil && len(m.dashboard.marked) > 0 {
		return ""
	}
	of, jobs := m.subjects()
	return m.changeUnavailable(of, jobs[0])
}

// writesUnavailable is why nothing at all can be changed.
func (m *Model) writesUnavailable(of *cluster) string {
	switch {
	case m.options.ReadOnly:
		return "read-only: nothing may be changed (--read-only or VELTUI_READ_ONLY)"
	case of.Unavailable(inspect.Changes) != "":
		return "this dashboard cannot change anything"
	}
	return ""
}

func (m *Model) changeUnavailable(of *cluster, j *job.Job) string {
	switch why := m.writesUnavailable(of); {
	case why != "":
		return why
	case j == nil:
		return noJobSelected
	case m.job() != nil && m.job().Deleted():
		return j.Name + " has been deleted from the cluster"
	case j.Deleting:
		return j.Name + " is being deleted, so its phase no longer matters"
	case j.Terminal() && !slices.ContainsFunc(j.Volumes, func(v job.Volume) bool { return !v.Ended() }):
		return fmt.Sprintf("%s has ended: %s is a final phase, which Velero never leaves", j.Name, j.Phase)
	}
	return of.rights.Value[j.Kind]
}

// markUnavailable also keeps all marks in one cluster: a dialog is about one.
func (m *Model) markUnavailable() string {
	of, j := m.focus(), m.dashboard.selectedJob()
	why := m.changeUnavailable(of, j)
	other, marked := m.dashboard.markedJobs()
	switch {
	case why != "":
		return why
	case j.Terminal():
		return j.Name + " has ended; unmark the others and press " + m.options.Keys.Key("finalize") + " to see its volumes"
	case len(marked) > 0 && other != of:
		return "the marked jobs are in " + other.Context + ": finalize or unmark those first"
	}
	return ""
}
