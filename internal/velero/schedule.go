package velero

import (
	"fmt"
	"time"
	_ "time/tzdata" // CRON_TZ= and TZ= name zones that this machine need not know

	cron "github.com/netresearch/go-cron"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// ScheduleCheckPeriod is how late a run may begin (pkg/controller/schedule_controller.go scheduleSyncPeriod; 1.16 to
// 1.18.3).
const ScheduleCheckPeriod = time.Minute

// MaxLabelLength is the most characters that a label's value may have. Velero labels each backup of a schedule with the
// schedule's full name (pkg/builder/backup_builder.go FromSchedule; 1.14 to 1.18.3).
const MaxLabelLength = validation.LabelValueMaxLength

// Timetable is the cron expression of a schedule, in the server's time zone unless the expression names one.
type Timetable struct {
	schedule cron.Schedule
	zone     *time.Location
}

// ParseTimetable reads a cron expression as Velero 1.18.3 does (pkg/controller/schedule_controller.go
// parseCronSchedule): five fields, descriptors, @every, CRON_TZ= or TZ=. zone is the server's.
func ParseTimetable(expression string, zone *time.Location) (t Timetable, err error) {
	defer func() {
		if r := recover(); r != nil { // Velero also expects that from the parser
			err = fmt.Errorf("reading the cron expression %q: %v", expression, r)
		}
	}()
	if expression == "" {
		return Timetable{}, fmt.Errorf("reading the cron expression: it is empty")
	}
	schedule, err := cron.ParseStandard(expression)
	if err != nil {
		return Timetable{}, fmt.Errorf("reading the cron expression %q: %w", expression, err)
	}
	return Timetable{schedule, zone}, nil
}

// NextAfter returns the first time after at at which the timetable has a run, zero if it has none.
func (t Timetable) NextAfter(at time.Time) time.Time {
	if t.schedule == nil {
		return time.Time{}
	}
	return t.schedule.Next(at.In(t.zone))
}

// NextRun returns the time of a schedule's next run: after the last backup or the creation, or after the last skip. A
// missed run starts at Velero's next check (pkg/controller/schedule_controller.go getNextRunTime, submitBackup; 1.16
// to 1.18.3). Callers handle paused and invalid schedules.
func (t Timetable) NextRun(s *veleroapi.Schedule) time.Time {
	from := s.CreationTimestamp.Time
	if s.Status.LastBackup != nil {
		from = s.Status.LastBackup.Time
	}
	if skipped := s.Status.LastSkipped; skipped != nil && skipped.After(from) {
		from = skipped.Time
	}
	return t.NextAfter(from)
}

// BlocksSchedule reports whether a backup in that phase holds up the next run; Queued does not
// (pkg/controller/schedule_controller.go checkIfBackupInNewOrProgress; 1.16 to 1.18.3).
func BlocksSchedule(phase string) bool {
	return phase == "" || phase == PhaseNew || phase == PhaseInProgress
}
