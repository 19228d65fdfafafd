package sim

import (
	"context"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// schedulePeriod is how often a real server looks at the schedules.
const schedulePeriod = time.Minute

// runSchedules validates schedules and makes the backups that are due
// (pkg/controller/schedule_controller.go). A schedule of which a backup is new
// or InProgress is left for later; a Queued one does not hold it back.
func (s *Sim) runSchedules(ctx context.Context) {
	due := s.every("look at the schedules", schedulePeriod)
	for _, schedule := range s.schedules.sorted() {
		when, err := parseCron(schedule.Spec.Schedule)
		if schedule.Status.Phase == "" || schedule.Status.Phase == velerov1.SchedulePhaseNew {
			schedule, _ = patch(ctx, s, s.schedules, schedule, func(schedule *velerov1.Schedule) {
				schedule.Status.Phase = velerov1.SchedulePhaseEnabled
				if err != nil {
					schedule.Status.Phase = velerov1.SchedulePhaseFailedValidation
					schedule.Status.ValidationErrors = []string{err.Error()}
				}
			})
		}
		if !due || schedule.Status.Phase != velerov1.SchedulePhaseEnabled || schedule.Spec.Paused || s.away != nil {
			continue
		}
		last := schedule.CreationTimestamp.Time
		if schedule.Status.LastBackup != nil {
			last = schedule.Status.LastBackup.Time
		}
		if next := when.next(last); !next.IsZero() && !next.After(s.stamp) && !s.unfinished(schedule) {
			s.runSchedule(ctx, schedule)
		}
	}
}

func (s *Sim) unfinished(schedule *velerov1.Schedule) bool {
	for _, b := range s.inPhases("", velerov1.BackupPhaseNew, velerov1.BackupPhaseInProgress) {
		if b.Labels[velerov1.ScheduleNameLabel] == schedule.Name {
			return true
		}
	}
	return false
}

func (s *Sim) runSchedule(ctx context.Context, schedule *velerov1.Schedule) {
	b := &velerov1.Backup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: schedule.Name + "-" + s.stamp.UTC().Format("20060102150405"),
			Labels: map[string]string{velerov1.ScheduleNameLabel: schedule.Name},
		},
		Spec: *schedule.Spec.Template.DeepCopy(),
	}
	for key, value := range schedule.Labels {
		b.Labels[key] = value
	}
	if _, err := create(ctx, s, s.backups, b); err != nil {
		return
	}
	_, _ = patch(ctx, s, s.schedules, schedule, func(schedule *velerov1.Schedule) {
		schedule.Status.LastBackup = s.stampTime()
	})
}
