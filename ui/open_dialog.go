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

// Finalizer looks into jobs that nobody works on any more, and moves them on.
type Finalizer interface {
	dialog.Actions
	// Allowed asks the API server whether we may change jobs of a kind; why
	// says why not, and is empty if we may.
	Allowed(ctx context.Context, namespace string, kind job.Kind) (why string, err error)
}

// canChange reports whether anything may be changed from here.
func (m *Model) canChange(c *cluster) bool { return !m.options.ReadOnly && c.Finalizer != nil }

// checkAccess asks the API server what we may change: once for each namespace.
func (m *Model) checkAccess(c *cluster) tea.Cmd {
	if !m.canChange(c) || c.assessed == nil || c.assessed.Snapshot.Namespace == "" {
		return nil
	}
	namespace, finalizer := c.assessed.Snapshot.Namespace, c.Finalizer
	c.rights.About(namespace)
	return c.rights.Ask(c.asker(nil), 0, func(ctx context.Context) (map[job.Kind]string, error) {
		denied := map[job.Kind]string{}
		for _, kind := range []job.Kind{job.Backup, job.Restore} {
			// Without an answer the dialog's own evidence tells.
			if why, err := finalizer.Allowed(ctx, namespace, kind); err == nil {
				denied[kind] = why
			}
		}
		return denied, nil
	})
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
	o := m.options
	opened, cmd := dialog.Open(of.ctx, dialog.Options{
		Actions: of.Finalizer, Request: of.Request, Jobs: jobs, Context: of.Context, Clock: o.Clock, Keys: o.Keys,
		Readable: m.readable, NoClipboard: o.Terminal.WhyNoClipboard != "", Guard: guarded,
	})
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
	case of.Finalizer == nil:
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
	return of.rights.Value[j.Kind]
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
