package ui

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/detail"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/jobview"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
	"github.com/veltui/veltui/ui/restoreform"
)

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

func (s *jobScreen) allows() allowed {
	return allowed{main: true, jobs: true, command: true, help: true, quit: true, suspend: true}
}

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

func (s *otherScreen) allows() allowed {
	return allowed{main: true, command: true, help: true, quit: true, suspend: true}
}

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
	form, cmd := restoreform.New(restoreform.Options{
		Draft: draft, Context: of.Context, Reach: of.Request.Reach(), Previewer: of.Previewer, Start: m.starts,
		Clock: m.options.Clock, WhyNoClipboard: m.options.Terminal.WhyNoClipboard, Back: m.pop,
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

func (m *Model) formUnavailable() string {
	if m.meant() == nil {
		return "no backup or restore is selected"
	}
	return ""
}

type helpScreen struct {
	still
	*pager.Pager
	m    *Model
	keys []keys.Binding
}

func (m *Model) newHelp() *helpScreen {
	s := &helpScreen{Pager: pager.New(nil), m: m}
	leave := func(key string) tea.Cmd {
		if s.Searching() && key == "esc" {
			s.EndSearch()
			return nil
		}
		return m.pop()
	}
	s.keys = append([]keys.Binding{
		{Keys: []string{"esc", "left", "h", "backspace"}, Label: "esc", What: "back", Group: keys.Look, Short: true, Do: leave},
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
