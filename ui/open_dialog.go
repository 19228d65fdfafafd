package ui

import (
	"context"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/dialog"
	"github.com/veltui/veltui/ui/restoreform"
)

// openForm opens the form of a restore: from a backup, or like another restore.
func (m *Model) openForm(of *cluster, j *job.Job) tea.Cmd {
	now := m.options.Clock()
	draft := restoreform.From(j.Name, now)
	if r, ok := j.Object.(*velerov1.Restore); ok {
		draft = restoreform.Again(r, now)
	}
	m.at = of
	var cmd tea.Cmd
	m.form, cmd = restoreform.New(restoreform.Options{
		Draft: draft, Context: of.Context, Reach: of.Request.Reach(), Previewer: of.Previewer, Start: m.starts,
		Clock: m.options.Clock, WhyNoClipboard: m.options.Terminal.WhyNoClipboard, Back: func() tea.Cmd { m.closeForm(); return nil },
	}, of.assessed)
	return cmd
}

func (m *Model) closeForm() {
	if m.form == nil {
		return
	}
	m.form.Close()
	if text := m.form.Parting(); text != "" {
		m.parting = append(m.parting, text)
	}
	m.form = nil
}

// writing reports whether letters go into a field of the form.
func (m *Model) writing() bool {
	return m.form != nil && m.form.Typing() && !m.helping && m.dialog == nil
}

// meant is the job that a key about one job means, nil if there is none.
func (m *Model) meant() *job.Job {
	if m.job != nil {
		return m.job.Job()
	}
	return m.dashboard.selectedJob()
}

func (m *Model) whyNotForm() string {
	if m.meant() == nil {
		return "no backup or restore is selected"
	}
	return ""
}

// actions is what may be changed from here, and the way to it.
type actions struct {
	// allowed asks the API server what we may change, and open opens the dialog;
	// both are nil where nothing may be changed.
	allowed func(namespace string) tea.Cmd
	open    func(about []dialog.Subject, readable func() bool) (*dialog.Dialog, tea.Cmd)

	// The API server's last answer: why not, for each kind.
	namespace string
	asking    bool
	why       map[job.Kind]string
}

// rightsAnswered brings what we may change: why not, for each kind.
type rightsAnswered struct {
	of        *cluster
	namespace string
	why       map[job.Kind]string
}

func newActions(ctx context.Context, o Options, of *cluster) actions {
	if o.ReadOnly || of.Finalizer == nil {
		return actions{}
	}
	engine := finalizeEngine{of.Finalizer, of.Request, o.Keys}
	return actions{
		allowed: func(namespace string) tea.Cmd {
			return guarded(func() tea.Msg {
				answered := rightsAnswered{of: of, namespace: namespace, why: map[job.Kind]string{}}
				for _, kind := range []job.Kind{job.Backup, job.Restore} {
					// Without an answer the dialog's own look tells.
					if why, err := of.Finalizer.Allowed(ctx, namespace, kind); err == nil {
						answered.why[kind] = why
					}
				}
				return answered
			})
		},
		open: func(about []dialog.Subject, readable func() bool) (*dialog.Dialog, tea.Cmd) {
			return dialog.Open(ctx, dialog.Options{
				Engine: engine, Title: "Force finalize", Looks: finalizeLooks,
				Clock: o.Clock, Context: of.Context, Subjects: about, Readable: readable, NoClipboard: o.Terminal.WhyNoClipboard != "", Keys: o.Keys, Guard: guarded,
			})
		},
	}
}

// askRights asks once for each namespace.
func (c *cluster) askRights() tea.Cmd {
	if c.assessed == nil || c.assessed.Snapshot.Namespace == "" || c.assessed.Snapshot.Namespace == c.actions.namespace {
		return nil
	}
	return c.askRightsAgain()
}

// askRightsAgain asks anew: a right may have been given meanwhile.
func (c *cluster) askRightsAgain() tea.Cmd {
	a := &c.actions
	if a.allowed == nil || c.assessed == nil || a.asking {
		return nil
	}
	if namespace := c.assessed.Snapshot.Namespace; namespace != a.namespace {
		a.namespace, a.why = namespace, nil
	}
	a.asking = true
	return a.allowed(a.namespace)
}

func (a *actions) takeRights(answered rightsAnswered) {
	if answered.namespace == a.namespace {
		a.asking, a.why = false, answered.why
	}
}

// subjects are the jobs that the finalize key means, and their cluster: the open
// one, the marked ones, or the one under the cursor.
func (m *Model) subjects() (*cluster, []*job.Job) {
	if m.job != nil {
		return m.at, []*job.Job{m.job.Job()}
	}
	if c, marked := m.dashboard.markedJobs(); len(marked) > 0 {
		return c, marked
	}
	return m.focus(), []*job.Job{m.dashboard.selectedJob()}
}

func (m *Model) openFinalize() tea.Cmd {
	of, jobs := m.subjects()
	var about []dialog.Subject
	for _, j := range jobs {
		about = append(about, dialog.Subject{Kind: j.Kind, Namespace: j.Namespace, Name: j.Name, UID: j.UID})
	}
	opened, cmd := of.actions.open(about, m.readable)
	m.dialog, m.dialogAt = opened, of
	return cmd
}

func (m *Model) closeDialog() {
	for _, uid := range m.dialog.Settled() {
		delete(m.dashboard.marked, m.dialogAt.key(string(uid)))
	}
	m.parting = append(m.parting, m.dialog.Parting()...)
	m.dialog, m.dialogAt = nil, nil
}

// whyNotFinalize says why the finalize key can do nothing, and is empty if a
// look may be taken. The evidence decides about the rest.
func (m *Model) whyNotFinalize() string {
	if m.job == nil && len(m.dashboard.marked) > 0 {
		return ""
	}
	of, jobs := m.subjects()
	return m.whyNotChange(of, jobs[0])
}

func (m *Model) whyNotChange(of *cluster, j *job.Job) string {
	switch {
	case m.options.ReadOnly:
		return "read-only: nothing may be changed (--read-only or VELTUI_READ_ONLY)"
	case of.actions.open == nil:
		return "this dashboard cannot change anything"
	case j == nil:
		return "no backup or restore is selected"
	case m.job != nil && m.job.Deleted():
		return j.Name + " has been deleted from the cluster"
	case j.Deleting:
		return j.Name + " is being deleted, so its phase no longer matters"
	case j.Terminal() && !slices.ContainsFunc(j.Volumes, func(v job.Volume) bool { return !v.Ended() }):
		return fmt.Sprintf("%s has ended: %s is a final phase, which Velero never leaves", j.Name, j.Phase)
	}
	return of.actions.why[j.Kind]
}

// whyNotMark also keeps all marks in one cluster: a dialog is about one.
func (m *Model) whyNotMark() string {
	of, j := m.focus(), m.dashboard.selectedJob()
	why := m.whyNotChange(of, j)
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
