package ui

import (
	"context"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/dialog"
)

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
	namespace string
	why       map[job.Kind]string
}

func newActions(ctx context.Context, o Options) actions {
	if o.ReadOnly || o.Finalizer == nil {
		return actions{}
	}
	engine := finalizeEngine{o.Finalizer, o.Request}
	return actions{
		allowed: func(namespace string) tea.Cmd {
			return guarded(func() tea.Msg {
				answered := rightsAnswered{namespace: namespace, why: map[job.Kind]string{}}
				for _, kind := range []job.Kind{job.Backup, job.Restore} {
					// Without an answer the dialog's own look tells.
					if why, err := o.Finalizer.Allowed(ctx, namespace, kind); err == nil {
						answered.why[kind] = why
					}
				}
				return answered
			})
		},
		open: func(about []dialog.Subject, readable func() bool) (*dialog.Dialog, tea.Cmd) {
			return dialog.Open(ctx, dialog.Options{
				Engine: engine, Title: "Force finalize", Looks: finalizeLooks,
				Clock: o.Clock, Context: o.Context, Subjects: about, Readable: readable, Guard: guarded,
			})
		},
	}
}

// askRights asks once for each namespace.
func (m *Model) askRights() tea.Cmd {
	if m.assessed == nil || m.assessed.Snapshot.Namespace == "" || m.assessed.Snapshot.Namespace == m.actions.namespace {
		return nil
	}
	return m.askRightsAgain()
}

// askRightsAgain asks anew: a right may have been given meanwhile.
func (m *Model) askRightsAgain() tea.Cmd {
	a := &m.actions
	if a.allowed == nil || m.assessed == nil || a.asking {
		return nil
	}
	if namespace := m.assessed.Snapshot.Namespace; namespace != a.namespace {
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

// subjects are the jobs that the finalize key means: the open one, the marked
// ones, or the one under the cursor.
func (m *Model) subjects() []*job.Job {
	if m.job != nil {
		return []*job.Job{m.job.Job()}
	}
	if marked := m.dashboard.marked.jobs(m.assessed); len(marked) > 0 {
		return marked
	}
	return []*job.Job{m.dashboard.selectedJob()}
}

func (m *Model) openFinalize() tea.Cmd {
	var about []dialog.Subject
	for _, j := range m.subjects() {
		about = append(about, dialog.Subject{Kind: j.Kind, Namespace: j.Namespace, Name: j.Name, UID: j.UID})
	}
	opened, cmd := m.actions.open(about, m.readable)
	m.dialog = opened
	return cmd
}

func (m *Model) closeDialog() {
	for _, uid := range m.dialog.Settled() {
		delete(m.dashboard.marked, uid)
	}
	m.parting = append(m.parting, m.dialog.Parting()...)
	m.dialog = nil
}

// whyNotFinalize says why the finalize key can do nothing, and is empty if a
// look may be taken. The evidence decides about the rest.
func (m *Model) whyNotFinalize() string {
	if m.job == nil && len(m.dashboard.marked) > 0 {
		return ""
	}
	return m.whyNotChange(m.subjects()[0])
}

func (m *Model) whyNotChange(j *job.Job) string {
	switch {
	case m.options.ReadOnly:
		return "read-only: nothing may be changed (--read-only or VELTUI_READ_ONLY)"
	case m.actions.open == nil:
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
	return m.actions.why[j.Kind]
}

func (m *Model) whyNotMark() string {
	j := m.dashboard.selectedJob()
	if why := m.whyNotChange(j); why != "" || !j.Terminal() {
		return why
	}
	return j.Name + " has ended; unmark the others and press f to see its volumes"
}
