package assess

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/assess/coverage"
	"github.com/veltui/veltui/job"
)

// CoverageSchedules are the schedules with what coverage needs of them.
func (a *Assessment) CoverageSchedules() []*coverage.Schedule {
	var all []*coverage.Schedule
	for _, s := range a.Schedules() {
		c := &coverage.Schedule{Schedule: s.Schedule, Next: s.Next, After: s.table.After, Refused: a.whyRefused(s.Spec.Template.StorageLocation)}
		if last := s.Last(); last != nil {
			c.Last = last.Began()
		} else if len(s.Runs) == 0 && s.Status.LastBackup != nil { // its runs are deleted
			c.Last = s.Status.LastBackup.Time
		}
		switch {
		case s.State == ScheduleNotValid:
			c.Invalid = "Velero rejected the schedule" + strings.TrimSuffix(": "+strings.Join(s.Status.ValidationErrors, "; "), ": ")
		case s.NextErr != nil:
			c.Invalid = fmt.Sprintf("its next run is not known: %v", s.NextErr)
		}
		all = append(all, c)
	}
	return all
}

// Backups are the Backups, the one that began last first.
func (a *Assessment) Backups() []*velerov1.Backup {
	var all []*velerov1.Backup
	for _, j := range a.Snapshot.Jobs {
		if b, ok := j.Object.(*velerov1.Backup); ok && j.Kind == job.Backup {
			all = append(all, b)
		}
	}
	slices.SortStableFunc(all, func(x, y *velerov1.Backup) int {
		return cmp.Compare(coverage.Began(y).UnixNano(), coverage.Began(x).UnixNano())
	})
	return all
}
