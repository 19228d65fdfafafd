package ui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/resource"
	"github.com/veltui/veltui/ui/jobview"
)

// changedResource is a resource that a change has made or changed, and whose page is to be opened.
type changedResource struct {
	clusterState *clusterState
	kind         job.Kind
	name         string
}

// openChangedResource opens the page of what a plan has made or changed, at once or when the watch brings it.
func (m *Model) openChangedResource(of *clusterState, p action.Plan) tea.Cmd {
	m.showDashboard()
	m.awaitedResource = &changedResource{of, p.Kind, p.Name}
	return m.openAwaitedResource()
}

// openAwaitedResource opens the page of the awaited resource if the watch has brought it.
func (m *Model) openAwaitedResource() tea.Cmd {
	r := m.awaitedResource
	if r == nil || r.clusterState.assessment == nil || !m.isOnDashboard() {
		return nil
	}
	snap := r.clusterState.assessment.Snapshot
	if r.kind == scheduleKind {
		for _, s := range snap.Schedules {
			if s.Name == r.name {
				m.awaitedResource = nil
				return m.openResource(r.clusterState, schedulesTab(), string(s.UID))
			}
		}
	} else if i := slices.IndexFunc(snap.Jobs, func(j *job.Job) bool {
		return j.Kind == r.kind && j.Name == r.name
	}); i >= 0 {
		m.awaitedResource, m.notice = nil, ""
		return m.openJob(r.clusterState, snap.Jobs[i].UID, jobview.Overview)
	}
	m.notice = "waiting until the watch brings " + r.name
	return nil
}

const scheduleKind job.Kind = "Schedule"

func schedulesTab() view.Tab {
	tabs := resource.Tabs()
	return tabs[slices.IndexFunc(tabs, func(t view.Tab) bool { return t.Name == resource.SchedulesTabName })]
}
