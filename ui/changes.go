package ui

import (
	"context"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/dialog"
	"github.com/veltui/veltui/ui/keys"
)

// changeKey is a key that changes something about what is selected, and is there only for that.
func changeKey[S any](
	m *Model,
	name, key, what string,
	selected func() (*clusterState, *S),
	do func(*clusterState, *S) tea.Cmd,
) keys.Binding {
	return keys.Binding{
		Name:   name,
		Keys:   []string{key},
		Label:  key,
		What:   what,
		Group:  keys.Change,
		Short:  true,
		Writes: true,
		On: func() bool {
			_, s := selected()
			return m.onDashboard() && s != nil
		},
		WhyNot: func() string {
			of, _ := selected()
			return m.writesUnavailable(of)
		},
		Do: run(func() tea.Cmd { return do(selected()) }),
	}
}

// selectedSchedule is nil if the selected row is no schedule.
func (d *dashboard) selectedSchedule() (*clusterState, *velerov1.Schedule) {
	r, _ := d.tab.selected()
	item, ok := r.item.(*view.Row)
	if !ok || r.cluster == nil || r.cluster.assessed == nil {
		return nil, nil
	}
	all := r.cluster.assessed.Snapshot.Schedules
	i := slices.IndexFunc(all, func(s *velerov1.Schedule) bool { return string(s.UID) == item.Key })
	if i < 0 {
		return nil, nil
	}
	return r.cluster, all[i]
}

func (m *Model) backUpNow(of *clusterState, s *velerov1.Schedule) tea.Cmd {
	r := of.Request
	r.Unnamed = true
	return m.openChange(
		of,
		"Make",
		action.Create,
		action.BackupOf(s.Name, restorespec.Name(s.Name, m.options.Clock().UTC())),
		r,
	)
}

func (m *Model) pauseSchedule(of *clusterState, s *velerov1.Schedule) tea.Cmd {
	name, title := action.Pause, "Pause"
	if s.Spec.Paused {
		name, title = action.Unpause, "Unpause"
	}
	return m.openChange(of, title, name, action.Named("Schedule", s.Name), of.Request)
}

// deletable are the jobs that the delete key means: the marked, or the selected.
func (m *Model) deletable() (*clusterState, *[]*job.Job) {
	if of, marked := m.dashboard.markedJobs(); len(marked) > 0 {
		return of, &marked
	}
	if j := m.dashboard.selectedJob(); j != nil {
		return m.focus(), &[]*job.Job{j}
	}
	return m.focus(), nil
}

func (m *Model) deleteJobs(of *clusterState, jobs *[]*job.Job) tea.Cmd {
	return m.openDialog(of, dialog.Options{Jobs: *jobs, Title: "Delete", Request: of.Request,
		Propose: func(ctx context.Context, j *job.Job, marked []string) (action.Plan, error) {
			r := of.Request
			r.Marked = marked
			return of.Propose(ctx, j.Namespace, action.DeletionOf(j.Kind), action.Named(string(j.Kind), j.Name), r)
		}})
}

// checkAccess asks the API server what we may change: once for each namespace.
func (m *Model) checkAccess(c *clusterState) tea.Cmd {
	if m.options.ReadOnly || c.Unavailable(cluster.Changes) != "" || c.assessed == nil ||
		c.assessed.Snapshot.Namespace == "" {
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

// subjects are the jobs that the finalize key means: the open one, the marked that have not ended, or the selected.
func (m *Model) subjects() (*clusterState, []*job.Job) {
	if s := m.job(); s != nil {
		return s.of, []*job.Job{s.Job()}
	}
	c, marked := m.dashboard.markedJobs()
	if marked = slices.DeleteFunc(marked, (*job.Job).Terminal); len(marked) > 0 {
		return c, marked
	}
	return m.focus(), []*job.Job{m.dashboard.selectedJob()}
}

func (m *Model) openFinalize() tea.Cmd {
	of, jobs := m.subjects()
	return m.openDialog(of, dialog.Options{Jobs: jobs, Request: of.Request})
}

func (m *Model) openCancelVolume() tea.Cmd {
	s := m.job()
	r := s.of.Request
	r.Volume = s.SelectedVolume().Ref().String()
	return m.openDialog(s.of, dialog.Options{Jobs: []*job.Job{s.Job()}, Title: "Cancel a volume of", Request: r})
}

func (m *Model) openDialog(of *clusterState, d dialog.Options) tea.Cmd {
	o := m.options
	d.Inspector, d.Context, d.Clock, d.Keys, d.Start = of.Inspector, of.Context, o.Clock, o.Keys, of.sources.Start
	d.Readable, d.NoClipboard = m.readable, o.Terminal.WhyNoClipboard != ""
	opened, cmd := dialog.Open(d)
	m.push(&dialogScreen{base{m: m, of: of}, opened})
	return cmd
}

// openChange opens the dialog for an action that is about no running job.
func (m *Model) openChange(
	of *clusterState,
	title string,
	name action.Name,
	o *unstructured.Unstructured,
	r action.Request,
) tea.Cmd {
	namespace := of.assessed.Snapshot.Namespace
	named := &job.Job{Kind: job.Kind(o.GetKind()), Namespace: namespace, Name: o.GetName()}
	return m.openDialog(of, dialog.Options{Jobs: []*job.Job{named}, Title: title, Request: r,
		Propose: func(ctx context.Context, _ *job.Job, _ []string) (action.Plan, error) {
			return of.Propose(ctx, namespace, name, o, r)
		}})
}

// finalizeUnavailable is why the finalize key can do nothing; the evidence decides the rest.
func (m *Model) finalizeUnavailable() string {
	of, jobs := m.subjects()
	if m.job() == nil && jobs[0] != nil && !jobs[0].Terminal() && len(m.dashboard.marked) > 0 {
		return of.rights.Value[jobs[0].Kind]
	}
	return m.changeUnavailable(of, jobs[0])
}

// writesUnavailable is why nothing at all can be changed.
func (m *Model) writesUnavailable(of *clusterState) string {
	switch {
	case m.options.ReadOnly:
		return "read-only: nothing may be changed (--read-only or VELTUI_READ_ONLY)"
	case of.Unavailable(cluster.Changes) != "":
		return "this dashboard cannot change anything"
	}
	return ""
}

func (m *Model) changeUnavailable(of *clusterState, j *job.Job) string {
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
	other, marked := m.dashboard.markedJobs()
	switch why := m.writesUnavailable(of); {
	case why != "":
		return why
	case j == nil:
		return noJobSelected
	case len(marked) > 0 && other != of:
		return "the marked jobs are in " + other.Context + ": unmark those first"
	}
	return ""
}
