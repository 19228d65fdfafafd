package assess

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
	"github.com/veltui/veltui/watch"
)

// Schedule is a Schedule with its runs, judged.
type Schedule struct {
	*velerov1.Schedule
	// Runs are the backups with its label, newest first, those that a person made too.
	Runs []*job.Job
	Left int
	// Next is when Velero makes the next backup, zero if unknown or never; NextErr is why it is unreadable.
	Next    time.Time
	NextErr error
	// Interval lies between the next run and the one after, zero if not known.
	Interval time.Duration
	// Zone is the server's time zone, by which the cron expression goes.
	Zone string
	// State is paused, not valid, late, due, or Velero's phase.
	State string
	// Notes have what matters most first.
	Notes []Note
}

const (
	SchedulePaused   = "paused"
	ScheduleNotValid = "not valid"
	ScheduleLate     = "late"
	ScheduleDue      = "due"
)

// lateAfter is how long a run may be due: Velero checks once a minute.
const lateAfter = 3 * velero.ScheduleCheck

func (a *Assessment) Schedules() []Schedule {
	found := make([]Schedule, len(a.Snapshot.Schedules))
	runs := make(map[string][]*job.Job, len(found))
	for _, s := range a.Snapshot.Schedules {
		runs[s.Name] = nil
	}
	if len(found) > 0 {
		for _, j := range a.Snapshot.Jobs {
			if known, ok := runs[j.ScheduleName]; ok && j.Kind == job.Backup {
				runs[j.ScheduleName] = append(known, j)
			}
		}
	}
	for i, s := range a.Snapshot.Schedules {
		found[i] = a.schedule(s, runs[s.Name])
	}
	slices.SortFunc(found, func(a, b Schedule) int { return human.CompareNames(a.Name, b.Name) })
	return found
}

// Last is the newest run that has ended, nil if there is none.
func (s Schedule) Last() *job.Job { return s.newest((*job.Job).Terminal) }

// LastGood is the newest run that is Completed, nil if there is none.
func (s Schedule) LastGood() *job.Job {
	return s.newest(func(j *job.Job) bool { return j.Phase == velero.PhaseCompleted })
}

func (s Schedule) newest(is func(*job.Job) bool) *job.Job {
	if i := slices.IndexFunc(s.Runs, is); i >= 0 {
		return s.Runs[i]
	}
	return nil
}

func (a *Assessment) schedule(s *velerov1.Schedule, runs []*job.Job) Schedule {
	found := Schedule{Schedule: s, Runs: runs, Left: a.Snapshot.LeftOf[s.Name], State: cmp.Or(string(s.Status.Phase), velero.PhaseNew), Zone: cmp.Or(a.Environment.Server.TimeZone, "UTC")}
	zone, err := time.LoadLocation(found.Zone)
	if err != nil { // a container that does not know its zone takes UTC
		zone, found.Zone = time.UTC, "UTC"
	}
	table, err := velero.ParseTimetable(s.Spec.Schedule, zone)
	if found.NextErr = err; err == nil {
		if found.Next = table.NextRun(s); !found.Next.IsZero() {
			if after := table.After(found.Next); !after.IsZero() {
				found.Interval = after.Sub(found.Next)
			}
		}
	}
	a.judgeSchedule(&found)
	return found
}

func (a *Assessment) judgeSchedule(s *Schedule) {
	now := a.Environment.Now
	say := noteTo(&s.Notes)
	due := !s.Next.IsZero() && now.After(s.Next)
	switch {
	case s.Spec.Paused:
		s.State = SchedulePaused
		say(Unusual, "It is paused: Velero makes no backups.%s", a.whenUnpaused(s, due))
		s.Next = time.Time{}
	case s.Status.Phase == velerov1.SchedulePhaseFailedValidation:
		s.State = ScheduleNotValid
		say(Alarming, "Velero does not accept it, so it makes no backups: %s.", cmp.Or(strings.TrimSuffix(strings.Join(s.Status.ValidationErrors, "; "), "."), "it gives no reason"))
		s.Next = time.Time{}
	case s.NextErr != nil:
		say(Unusual, "veltui cannot tell the next run: %s.", s.NextErr)
	case due && now.Sub(s.Next) > lateAfter && !a.Stale():
		s.State = ScheduleLate
		why, mood := a.whyLate(s)
		say(mood, "It was due %s ago, and Velero has not made a backup: %s.", human.Duration(now.Sub(s.Next)), why)
	case due:
		s.State = ScheduleDue
	}
	a.judgeRuns(s)
	if s.State != SchedulePaused && s.State != ScheduleNotValid {
		if why := a.whyRefused(s.Spec.Template.StorageLocation); why != "" {
			say(Alarming, "The next backup will fail: %s.", why)
		}
		if skips(s) {
			say(Unusual, "skipImmediately is set: Velero counts from the moment when it sees that, and leaves out a run that is due.")
		}
	}
	slices.SortStableFunc(s.Notes, func(a, b Note) int { return cmp.Compare(b.Mood, a.Mood) })
}

// whenUnpaused says what an unpaused schedule does at once: a run that is due is made (getNextRunTime).
func (a *Assessment) whenUnpaused(s *Schedule, due bool) string {
	switch {
	case !due:
		return ""
	case skips(s):
		return " Unpaused, it skips the run that it missed, because skipImmediately is set."
	}
	return " Unpaused, it makes a backup at once, because it missed a run."
}

func skips(s *Schedule) bool { return s.Spec.SkipImmediately != nil && *s.Spec.SkipImmediately }

func (a *Assessment) whyLate(s *Schedule) (why string, mood Mood) {
	for _, j := range s.Runs {
		if velero.HoldsSchedule(j.Phase) {
			mood := Unusual
			if a.Of(j).Troubled() {
				mood = Alarming
			}
			return fmt.Sprintf("its backup %s is still %s, and Velero makes no second one beside it", j.Name, cmp.Or(j.Phase, velero.PhaseNew)), mood
		}
	}
	switch server := a.Environment.Server; {
	case server.Visible && !server.Running:
		return "no Velero server runs", Alarming
	case server.Visible && !server.Ready:
		return "the Velero server is not ready", Alarming
	case a.Unseen(watch.Backups):
		return "veltui may not list backups, so it cannot see why", Alarming
	}
	return "veltui sees no reason; look for the schedule's name in the server's log", Alarming
}

func (a *Assessment) judgeRuns(s *Schedule) {
	say := noteTo(&s.Notes)
	ended := slices.DeleteFunc(slices.Clone(s.Runs), func(j *job.Job) bool { return !j.Terminal() })
	good, n := s.LastGood(), len(ended)
	if i := slices.Index(ended, good); i >= 0 {
		n = i
	}
	var order []string
	bad := map[string]int{}
	for _, j := range ended[:n] {
		if bad[j.Phase]++; bad[j.Phase] == 1 {
			order = append(order, j.Phase)
		}
	}
	for i, phase := range order {
		order[i] = fmt.Sprintf("%d %s", bad[phase], phase)
	}
	switch last := s.Last(); {
	case n == 0:
	case n == 1 && len(ended) > 1 && last.Phase == velero.PhasePartiallyFailed:
		say(Unusual, "The last run is PartiallyFailed with %s.", human.Count(last.Errors, "error"))
	case n == 1:
		say(Alarming, "The last run is %s%s.", last.Phase, because(last))
	default:
		say(Alarming, "The last %d runs did not complete: %s; the newest%s.", n, human.List(order, len(order)), cmp.Or(because(last), " gives no reason"))
	}
	if a.tooOld(s, good) {
		say(Alarming, "%s You allow %s (thresholds.backup-age).", noneSince(a, s, good), human.Duration(a.BackupAge))
	} else if n > 0 && good == nil && s.Left > 0 {
		say(Alarming, "None of its backups that are shown is Completed.")
	} else if n > 0 && good == nil {
		say(Alarming, "No backup of it is Completed.")
	} else if n > 0 {
		say(Unusual, "The last Completed backup is %s old: %s.", human.Age(endOf(good), a.Environment.Now), good.Name)
	}
	if took := s.Last().Took(); s.Interval > 0 && took > s.Interval {
		say(Unusual, "The last run took %s, which is more than the %s between two runs: Velero leaves out runs that come due while a backup is InProgress.", human.Duration(took), human.Duration(s.Interval))
	}
}

// tooOld: the last Completed backup, nil for none, is older than allowed. What is left out ended before all that is not.
func (a *Assessment) tooOld(s *Schedule, good *job.Job) bool {
	if a.BackupAge <= 0 || s.Spec.Paused || a.Stale() || a.Unseen(watch.Backups) {
		return false
	}
	since := s.CreationTimestamp.Time
	switch {
	case good != nil:
		since = endOf(good)
	case s.Left > 0:
		return a.BackupAge <= a.Snapshot.EndedWithin
	}
	return a.Environment.Now.Sub(since) > a.BackupAge
}

func noneSince(a *Assessment, s *Schedule, good *job.Job) string {
	now := a.Environment.Now
	if good == nil && s.Left > 0 {
		return fmt.Sprintf("No backup of it that ended in the last %s is Completed; veltui leaves out older ones (--ended-within).", human.Duration(a.Snapshot.EndedWithin))
	}
	if good == nil {
		return fmt.Sprintf("No backup of it is Completed, and the schedule is %s old.", human.Age(s.CreationTimestamp.Time, now))
	}
	return fmt.Sprintf("The last Completed backup is %s old: %s.", human.Age(endOf(good), now), good.Name)
}

// because is the reason that an ended job gives, with a colon in front.
func because(j *job.Job) string {
	why := cmp.Or(strings.Join(j.ValidationErrors, "; "), j.FailureReason)
	if why == "" && j.Errors > 0 {
		why = human.Count(j.Errors, "error")
	}
	return human.Clause(": ", human.Shorten(strings.TrimSuffix(why, "."), 300))
}

func endOf(j *job.Job) time.Time { return cmp.Or(j.Completed, j.Began()) }

// whyRefused is why a new backup to a location fails; "" is the default one (backup_controller.go prepareBackupRequest).
func (a *Assessment) whyRefused(name string) string {
	if a.sourceOf(watch.Locations) != watch.SourceLive {
		return ""
	}
	for _, l := range a.Snapshot.Locations {
		if name == "" && !l.Spec.Default || name != "" && l.Name != name {
			continue
		}
		switch {
		case l.Status.Phase == velerov1.BackupStorageLocationPhaseUnavailable:
			return "its storage location " + l.Name + " is Unavailable"
		case l.Spec.AccessMode == velerov1.BackupStorageLocationAccessModeReadOnly:
			return "its storage location " + l.Name + " is ReadOnly"
		}
		return ""
	}
	if name == "" {
		return "" // the server's --default-backup-storage-location may name one
	}
	return "there is no storage location " + name
}

// Unseen reports whether a kind of [watch] cannot be seen: nothing may be said of what is missing then.
func (a *Assessment) Unseen(resource string) bool {
	return slices.Contains([]watch.SourceState{watch.SourceForbidden, watch.SourceMissing, watch.SourceSyncing}, a.sourceOf(resource))
}

// Incomplete reports whether jobs of a kind may be missing.
func (a *Assessment) Incomplete(resource string) bool {
	return a.Unseen(resource) || resource == watch.Backups && a.Snapshot.LeftBackups > 0 || resource == watch.Restores && a.Snapshot.LeftRestores > 0
}

func (a *Assessment) sourceOf(resource string) watch.SourceState {
	for _, s := range a.Snapshot.Sources {
		if s.Resource == resource {
			return s.State
		}
	}
	return ""
}
