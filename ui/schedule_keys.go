package ui

import (
	"slices"

	tea "charm.land/bubbletea/v2"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/action"
	"github.com/veltui/veltui/restore/restorespec"
	"github.com/veltui/veltui/ui/detail"
	"github.com/veltui/veltui/ui/keys"
)

// scheduleKey is a key that changes something about the selected schedule, and is there only for one.
func (m *Model) scheduleKey(name, key, what string, do func(*cluster, *velerov1.Schedule) tea.Cmd) keys.Binding {
	return keys.Binding{Name: name, Keys: []string{key}, Label: key, What: what, Group: keys.Change, Short: true, Writes: true,
		On: func() bool {
			_, s := m.dashboard.selectedSchedule()
			return m.onDashboard() && s != nil
		},
		WhyNot: func() string {
			of, _ := m.dashboard.selectedSchedule()
			return m.writesUnavailable(of)
		},
		Do: run(func() tea.Cmd { return do(m.dashboard.selectedSchedule()) })}
}

// selectedSchedule is nil if the selected row is no schedule.
func (d *dashboard) selectedSchedule() (*cluster, *velerov1.Schedule) {
	r, _ := d.tab.selected()
	item, ok := r.item.(*detail.Row)
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

func (m *Model) backUpNow(of *cluster, s *velerov1.Schedule) tea.Cmd {
	return m.openChange(of, "Make", action.Create, action.BackupOf(s.Name, restorespec.Name(s.Name, m.options.Clock().UTC())), of.Request)
}

func (m *Model) pauseSchedule(of *cluster, s *velerov1.Schedule) tea.Cmd {
	name, title := action.Pause, "Pause"
	if s.Spec.Paused {
		name, title = action.Unpause, "Unpause"
	}
	return m.openChange(of, title, name, action.Schedule(s.Name), of.Request)
}
