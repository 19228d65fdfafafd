package ui

import (
	"context"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/resource"
	"github.com/veltui/veltui/ui/dialog"
	"github.com/veltui/veltui/ui/keys"
)

// newChangeBinding returns a key that changes the selected thing, or the thing whose page is open. The key is active
// only while there is such a thing.
func newChangeBinding[S any](
	m *Model,
	name, key, what string,
	selected func() (*clusterState, *S),
	do func(*clusterState, *S) tea.Cmd,
) keys.Binding {
	return keys.Binding{
		Name:        name,
		Keys:        []string{key},
		Label:       key,
		Description: what,
		Group:       keys.GroupChange,
		InFooter:    true,
		Writes:      true,
		Active: func() bool {
			_, s := selected()
			return m.screenBelowHelp().globalKeys().actions && s != nil
		},
		Unavailable: func() string {
			of, _ := selected()
			return m.writesUnavailable(of)
		},
		Do: keylessAction(func() tea.Cmd { return do(selected()) }),
	}
}

// selectedSchedule returns the selected schedule and its cluster, or nil if the selected row is no schedule.
func (d *dashboard) selectedSchedule() (*clusterState, *veleroapi.Schedule) {
	r, _ := d.openTab.selectedRow()
	item, ok := r.item.(*view.Row)
	if !ok {
		return nil, nil
	}
	return findSchedule(r.cluster, item.Key)
}

// targetSchedule returns the schedule that a key applies to: that of the open page, or the selected one.
func (m *Model) targetSchedule() (*clusterState, *veleroapi.Schedule) {
	if m.isOnDashboard() {
		return m.dashboard.selectedSchedule()
	}
	s, ok := m.screenBelowHelp().(*resourceScreen)
	if !ok || s.TabName() != resource.SchedulesTabName {
		return nil, nil
	}
	return findSchedule(s.clusterState, s.RowKey())
}

// findSchedule returns the schedule with a UID and its cluster, or nil if there is none.
func findSchedule(of *clusterState, uid string) (*clusterState, *veleroapi.Schedule) {
	if of == nil || of.assessment == nil {
		return nil, nil
	}
	for _, s := range of.assessment.Snapshot.Schedules {
		if string(s.UID) == uid {
			return of, s
		}
	}
	return nil, nil
}

func (m *Model) backUpNow(of *clusterState, s *veleroapi.Schedule) tea.Cmd {
	r := of.Request
	r.NameGenerated = true
	return m.openChangeDialog(
		of,
		"Make",
		action.Create,
		action.NewScheduledBackup(s.Name, restorespec.DefaultName(s.Name, m.options.Clock().UTC())),
		r,
	)
}

func (m *Model) pauseSchedule(of *clusterState, s *veleroapi.Schedule) tea.Cmd {
	name, title := action.Pause, "Pause"
	if s.Spec.Paused {
		name, title = action.Unpause, "Unpause"
	}
	return m.openChangeDialog(of, title, name, action.NewNamedObject("Schedule", s.Name), of.Request)
}

// deletionTargets returns the jobs that the delete key applies to: the job whose page is open, the marked jobs, or else
// the selected one.
func (m *Model) deletionTargets() (*clusterState, *[]*job.Job) {
	if s, ok := m.screenBelowHelp().(*jobScreen); ok {
		if s.IsDeleted() || s.IsOnVolumes() { // the Volumes page cancels volumes with the same key
			return s.clusterState, nil
		}
		return s.clusterState, &[]*job.Job{s.Job()}
	}
	if !m.isOnDashboard() {
		return m.focusedCluster(), nil
	}
	if of, marked := m.dashboard.markedJobs(); len(marked) > 0 {
		return of, &marked
	}
	if j := m.dashboard.selectedJob(); j != nil {
		return m.focusedCluster(), &[]*job.Job{j}
	}
	return m.focusedCluster(), nil
}

func (m *Model) openDeletion(of *clusterState, jobs *[]*job.Job) tea.Cmd {
	return m.openDialog(of, dialog.Options{Jobs: *jobs, Title: "Delete", Request: of.Request,
		ProposePlan: func(ctx context.Context, j *job.Job, marked []string) (action.Plan, error) {
			r := of.Request
			r.MarkedBackups = marked
			return of.ProposePlan(
				ctx,
				j.Namespace,
				action.DeletionKind(j.Kind),
				action.NewNamedObject(string(j.Kind), j.Name),
				r,
			)
		}})
}

// checkAccess asks the API server which changes the user may make, once for each namespace.
func (m *Model) checkAccess(c *clusterState) tea.Cmd {
	if m.options.ReadOnly || c.UnavailableReason(cluster.CapabilityChanges) != "" || c.assessment == nil ||
		c.assessment.Snapshot.Namespace == "" {
		return nil
	}
	namespace := c.assessment.Snapshot.Namespace
	c.accessAnswer.ResetForKey(namespace)
	return c.accessAnswer.FetchIfDue(c.newRequester(nil), 0, func(ctx context.Context) (map[job.Kind]string, error) {
		denied := map[job.Kind]string{}
		for _, kind := range []job.Kind{job.Backup, job.Restore} {
			// If the API server does not answer, the dialog finds out by itself.
			if why, err := c.CheckPatchAccess(ctx, namespace, kind); err == nil {
				denied[kind] = why
			}
		}
		return denied, nil
	})
}

// finalizeTargets returns the jobs that the finalize key applies to: the open job, the marked jobs that have not
// ended, or the selected job.
func (m *Model) finalizeTargets() (*clusterState, []*job.Job) {
	if s := m.findJobScreen(); s != nil {
		return s.clusterState, []*job.Job{s.Job()}
	}
	c, marked := m.dashboard.markedJobs()
	if marked = slices.DeleteFunc(marked, (*job.Job).IsTerminal); len(marked) > 0 {
		return c, marked
	}
	return m.focusedCluster(), []*job.Job{m.dashboard.selectedJob()}
}

func (m *Model) openFinalize() tea.Cmd {
	of, jobs := m.finalizeTargets()
	return m.openDialog(of, dialog.Options{Jobs: jobs, Request: of.Request})
}

func (m *Model) openCancelVolume() tea.Cmd {
	s := m.findJobScreen()
	r := s.clusterState.Request
	r.Volume = s.SelectedVolume().Ref().String()
	return m.openDialog(s.clusterState, dialog.Options{Jobs: []*job.Job{s.Job()}, Title: "Cancel a volume of", Request: r})
}

func (m *Model) openDialog(of *clusterState, d dialog.Options) tea.Cmd {
	o := m.options
	d.Engine, d.Context, d.Clock, d.Keys, d.Start = of.Backend, of.Context, o.Clock, o.Keys, of.jobDependencies.Start
	d.IsLargeEnough, d.NoClipboard = m.isLargeEnough, o.Terminal.ClipboardUnavailable != ""
	opened, cmd := dialog.Open(d)
	m.pushScreen(&dialogScreen{clusterScreen{model: m, clusterState: of}, opened})
	return cmd
}

// openChangeDialog opens the dialog for an action that is not about a running job.
func (m *Model) openChangeDialog(
	of *clusterState,
	title string,
	name action.Kind,
	o *unstructured.Unstructured,
	r action.Request,
) tea.Cmd {
	namespace := of.assessment.Snapshot.Namespace
	named := &job.Job{Kind: job.Kind(o.GetKind()), Namespace: namespace, Name: o.GetName()}
	return m.openDialog(of, dialog.Options{Jobs: []*job.Job{named}, Title: title, Request: r,
		OnChanged:   m.closeUsedForm,
		OpenChanged: func(p action.Plan) tea.Cmd { return m.openChangedResource(of, p) },
		ProposePlan: func(ctx context.Context, _ *job.Job, _ []string) (action.Plan, error) {
			return of.ProposePlan(ctx, namespace, name, o, r)
		}})
}

// finalizeUnavailable returns why the finalize key can do nothing, empty if it can; the evidence decides the rest.
func (m *Model) finalizeUnavailable() string {
	of, jobs := m.finalizeTargets()
	if m.findJobScreen() == nil && jobs[0] != nil && !jobs[0].IsTerminal() && m.dashboard.countMarked() > 0 {
		return of.accessAnswer.Value[jobs[0].Kind]
	}
	return m.changeUnavailable(of, jobs[0])
}

// writesUnavailable returns why nothing at all can be changed, empty if changes are possible.
func (m *Model) writesUnavailable(of *clusterState) string {
	switch {
	case m.options.ReadOnly:
		return "read-only: nothing may be changed (--read-only or VELTUI_READ_ONLY)"
	case of.UnavailableReason(cluster.CapabilityChanges) != "":
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
	case m.findJobScreen() != nil && m.findJobScreen().IsDeleted():
		return j.Name + " has been deleted from the cluster"
	case j.Deleting:
		return j.Name + " is being deleted, so its phase no longer matters"
	case j.IsTerminal() && !slices.ContainsFunc(j.Volumes, func(v job.Volume) bool { return !v.HasEnded() }):
		return fmt.Sprintf("%s has ended: %s is a final phase, which Velero never leaves", j.Name, j.Phase)
	}
	return of.accessAnswer.Value[j.Kind]
}

// markUnavailable returns why the selected job cannot be marked, empty if it can. All marked jobs must be in one
// cluster, because a dialog is about one cluster.
func (m *Model) markUnavailable() string {
	of, j := m.focusedCluster(), m.dashboard.selectedJob()
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
