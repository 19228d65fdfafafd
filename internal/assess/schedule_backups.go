package assess

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

const (
	// missingGrace is how long after a run its Backup may be unseen: Velero creates the Backup before it writes
	// status.lastBackup (pkg/controller/schedule_controller.go submitBackup; 1.14 to 1.18.3), and clocks differ.
	missingGrace = 5 * time.Minute
	// defaultTTL is how long a backup lives for which nothing says how long (pkg/cmd/server/config/config.go
	// defaultBackupTTL).
	defaultTTL = 30 * 24 * time.Hour
)

// judgeMissing finds a schedule that notes a run whose Backup is not there although it has not expired: somebody
// deleted it, or its files are gone and Velero's sync removed it (pkg/controller/backup_sync_controller.go
// deleteOrphanedBackups). A Schedule that is older in its status than as an object was copied from elsewhere.
func (a *Assessment) judgeMissing(s *Schedule) {
	if s.Status.LastBackup == nil || !s.isEnabled() || a.IsStale() || a.sourceState(watch.Backups) != watch.SourceLive {
		return
	}
	last := s.Status.LastBackup.Time
	ttl := s.Spec.Template.TTL.Duration
	if ttl <= 0 {
		ttl = defaultTTL
	}
	over := a.World.Now.Sub(last)
	if over < missingGrace || over >= ttl || last.Before(s.CreationTimestamp.Time) ||
		s.AgedOutRuns > 0 && over >= a.Snapshot.EndedWithin {
		return
	}
	var newest time.Time
	for _, j := range s.Runs {
		newest = job.LatestTime(newest, j.BeganAt(), j.Created)
	}
	// A backup that is less than an interval older is the run itself, by another clock, or one of a person's.
	if !newest.Before(last.Add(-max(missingGrace, s.Interval*9/10))) {
		return
	}
	f := Finding{Severity: Warning, Reason: BackupsMissing}
	text := fmt.Sprintf("Velero made a backup of it %s ago, but ", a.formatAge(last))
	if newest.IsZero() {
		f.Severity = Critical
		text += "no backup of it exists: it protects nothing"
	} else {
		f.Since = s.timetable.NextAfter(newest)
		text += "the newest that exists is " + a.formatAge(newest) + " old"
	}
	f.Summary = noteAdder(&s.Notes)(Alarming, "%s. Somebody deletes its backups, or their files in the object store", text)
	s.addFinding(f)
}

// nameTooLongText says that a schedule makes no backup because of its name, empty if it does: each backup has the name
// as a label (pkg/builder/backup_builder.go FromSchedule; 1.14 to 1.18.3).
func nameTooLongText(name string) string {
	if len(name) <= velero.MaxLabelLength {
		return ""
	}
	return fmt.Sprintf("Its name has %d characters, and as a label of its backups it may have %d: "+
		"the API server refuses each backup", len(name), velero.MaxLabelLength)
}

const (
	// minGoneRuns is how many backups of a schedule show its usual interval.
	minGoneRuns = 3
	// goneWithin is how long a schedule that is gone needs attention: later its backups are merely kept.
	goneWithin = 30 * 24 * time.Hour
)

// addGoneSchedules adds the schedules of which only backups remain, that this cluster made: those of another cluster
// come without its schedules.
func (l *findingBuilder) addGoneSchedules() {
	if l.IsStale() || l.sourceState(watch.Schedules) != watch.SourceLive || l.IsUnchecked(watch.Backups) {
		return
	}
	known := map[string]bool{"": true}
	for _, s := range l.Snapshot.Schedules {
		known[s.Name] = true
	}
	for _, m := range l.Snapshot.Malformed {
		known[m.Name] = known[m.Name] || m.Resource == watch.Schedules
	}
	runs := map[string][]*job.Job{}
	for _, j := range l.Snapshot.Jobs {
		if j.Kind != job.Backup || known[j.ScheduleName] {
			continue
		}
		if b, ok := j.Object.(*veleroapi.Backup); ok {
			if origin, _ := velero.OriginOf(b); origin == velero.OriginHere {
				runs[j.ScheduleName] = append(runs[j.ScheduleName], j)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		l.addGoneSchedule(name, runs[name])
	}
}

func (l *findingBuilder) addGoneSchedule(name string, runs []*job.Job) {
	if len(runs) < minGoneRuns {
		return
	}
	slices.SortFunc(runs, func(a, b *job.Job) int { return b.BeganAt().Compare(a.BeganAt()) })
	gaps := make([]int64, len(runs)-1)
	for i := range gaps {
		gaps[i] = int64(runs[i].BeganAt().Sub(runs[i+1].BeganAt()))
	}
	newest, usual := runs[0], time.Duration(medianOf(gaps))
	age := l.World.Now.Sub(newest.BeganAt())
	if age < 2*usual || age > goneWithin || usual <= 0 {
		return
	}
	l.addBeside(Finding{
		Severity: Warning, Reason: ScheduleGone, Kind: "schedule", Name: name, UID: newest.UID, Tab: TabBackups,
		Since: newest.BeganAt().Add(usual), Count: len(runs), Names: diagnosis.Names{Backup: newest.Name},
		Summary: fmt.Sprintf(
			"There is no schedule of this name. Of its %s, made every %s, the newest is %s old: %s",
			human.Count(len(runs), "backup"), human.Duration(usual.Round(time.Minute)), l.formatAge(newest.BeganAt()),
			newest.Name,
		),
	})
}
