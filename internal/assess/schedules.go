package assess

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

// Schedule is a Schedule with its runs, judged.
type Schedule struct {
	*veleroapi.Schedule
	// Runs are the backups with its label, newest first, including those that a person made.
	Runs        []*job.Job
	AgedOutRuns int
	// ComparedRuns compares the same runs, and Loss is what the newest of them lost, nil for nothing.
	ComparedRuns []ScheduleRun
	Loss         *Loss
	// NextRun is when Velero makes the next backup, zero if unknown or never; NextRunErr is why it cannot be read.
	NextRun    time.Time
	NextRunErr error
	// Interval is the time between the next run and the one after it, zero if unknown.
	Interval  time.Duration
	timetable velero.Timetable
	// TimeZone is the server's time zone, which the cron expression uses.
	TimeZone string
	// State is paused, invalid, late, due, or Velero's phase.
	State string
	// Notes are sorted by how much they matter.
	Notes []Note

	findings []Finding
}

const (
	SchedulePaused   = "paused"
	ScheduleNotValid = "invalid"
	ScheduleLate     = "late"
	ScheduleDue      = "due"
)

// lateAfter is how long a run may be due: Velero checks once a minute.
const lateAfter = 3 * velero.ScheduleCheckPeriod

func (a *Assessment) JudgeSchedules() []Schedule {
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
		// Backups that Velero read from the object store were created in any order.
		slices.SortStableFunc(runs[s.Name], func(a, b *job.Job) int { return b.BeganAt().Compare(a.BeganAt()) })
		found[i] = a.newSchedule(s, runs[s.Name])
	}
	slices.SortStableFunc(found, func(a, b Schedule) int { return human.CompareNames(a.Name, b.Name) })
	return found
}

// LastEnded returns the newest run that has ended, nil if there is none.
func (s Schedule) LastEnded() *job.Job { return s.findNewestRun((*job.Job).IsTerminal) }

// LastCompleted returns the newest run that is Completed, nil if there is none.
func (s Schedule) LastCompleted() *job.Job {
	return s.findNewestRun(func(j *job.Job) bool { return j.Phase == velero.PhaseCompleted })
}

func (s Schedule) findNewestRun(is func(*job.Job) bool) *job.Job {
	if i := slices.IndexFunc(s.Runs, is); i >= 0 {
		return s.Runs[i]
	}
	return nil
}

func (a *Assessment) newSchedule(s *veleroapi.Schedule, runs []*job.Job) Schedule {
	found := Schedule{
		Schedule:    s,
		Runs:        runs,
		AgedOutRuns: a.Snapshot.AgedOutBySchedule[s.Name],
		State:       cmp.Or(string(s.Status.Phase), velero.PhaseNew),
		TimeZone:    cmp.Or(a.World.Server.TimeZone, "UTC"),
	}
	zone, err := time.LoadLocation(found.TimeZone)
	if err != nil { // a container that does not know its zone uses UTC
		zone, found.TimeZone = time.UTC, "UTC"
	}
	table, err := velero.ParseTimetable(s.Spec.Schedule, zone)
	found.timetable, found.NextRunErr, found.NextRun = table, err, table.NextRun(s)
	if after := table.NextAfter(found.NextRun); !found.NextRun.IsZero() && !after.IsZero() {
		found.Interval = after.Sub(found.NextRun)
	}
	found.ComparedRuns = a.compareAdjacentRuns(runs)
	a.judgeSchedule(&found)
	return found
}

func (a *Assessment) judgeSchedule(s *Schedule) {
	say := noteAdder(&s.Notes)
	due := !s.NextRun.IsZero() && a.World.Now.After(s.NextRun)
	switch long := nameTooLongText(s.Name); {
	case s.Spec.Paused:
		say(Unusual, "Paused: Velero makes no backups.%s", a.unpauseText(s, due))
		if due && a.World.Now.Sub(s.NextRun) >= forgottenPauseAge {
			s.addFinding(
				Finding{
					Reason:  ForgottenPause,
					Since:   s.NextRun,
					Summary: "Paused: it has missed its runs for " + a.formatAge(s.NextRun),
				},
			)
		}
		s.State, s.NextRun = SchedulePaused, time.Time{}
	case long != "":
		s.addFinding(
			Finding{
				Severity: Critical,
				Reason:   ScheduleNameTooLong,
				Since:    s.CreationTimestamp.Time,
				Summary:  say(Alarming, "%s. Make the schedule again with a shorter name", long),
			},
		)
		s.State, s.NextRun = ScheduleNotValid, time.Time{}
	case s.Status.Phase == veleroapi.SchedulePhaseFailedValidation:
		why := cmp.Or(strings.Join(s.Status.ValidationErrors, "; "), "it gives no reason")
		s.addFinding(
			Finding{
				Severity: Critical,
				Reason:   ScheduleInvalid,
				Summary:  say(Alarming, "Velero rejected this schedule: no backups are made: %s", why),
			},
		)
		s.State, s.NextRun = ScheduleNotValid, time.Time{}
	case s.NextRunErr != nil:
		say(Unusual, "Next run unknown: %s", s.NextRunErr)
	case s.NextRun.IsZero(): // getNextRunTime takes the zero time for a run that is due
		s.addFinding(
			Finding{
				Severity: Critical,
				Reason:   ImpossibleCron,
				Summary: say(
					Alarming,
					"No date fits the cron expression %s. Velero takes that for a run that is due, and makes a backup every minute",
					s.Spec.Schedule,
				),
			},
		)
		s.NextRun, s.Interval = a.World.Now, velero.ScheduleCheckPeriod
	case due:
		s.State = ScheduleDue
	}
	a.judgeRuns(s)
	if s.State == ScheduleDue && a.World.Now.Sub(s.NextRun) > lateAfter && !a.IsStale() {
		a.judgeLate(s)
	}
	a.judgeMissing(s)
	a.judgeLoss(s)
	a.judgeExpiry(s)
	if s.isEnabled() {
		if why := a.refusalReason(s.Spec.Template.StorageLocation); why != "" {
			say(Alarming, "The next backup will fail: %s.", why)
		}
		if skipsMissedRun(s) {
			say(
				Unusual,
				"skipImmediately is set: Velero counts from the moment when it sees that, and leaves out a run that is due.",
			)
		}
	}
	slices.SortStableFunc(s.Notes, func(a, b Note) int { return cmp.Compare(b.Tone, a.Tone) })
}

// judgeExpiry finds a time without a backup: Velero deletes an expired backup whether there is another or not
// (pkg/controller/gc_controller.go, Reconcile).
func (a *Assessment) judgeExpiry(s *Schedule) {
	lasts, gap := s.Spec.Template.TTL.Duration, s.Interval
	if good := s.LastCompleted(); good != nil && !s.NextRun.IsZero() {
		if b, ok := good.Object.(*veleroapi.Backup); ok && b.Status.Expiration != nil {
			lasts, gap = b.Status.Expiration.Sub(good.BeganAt()), max(gap, s.NextRun.Sub(good.BeganAt()))
		}
	}
	if lasts > 0 && lasts < gap && s.isEnabled() {
		s.addFinding(
			Finding{
				Reason: ExpiresFirst,
				Summary: noteAdder(
					&s.Notes,
				)(
					Unusual,
					"Its backups expire after %s, and the next run is %s later: there is no backup in between",
					human.Duration(lasts),
					human.Duration(gap),
				),
			},
		)
	}
}

// addFinding adds what needs attention. The runs of a schedule that makes no backups do not.
func (s *Schedule) addFinding(f Finding) {
	if f.Severity = max(f.Severity, Warning); s.isEnabled() {
		s.findings = append(s.findings, f)
	}
}

func (a *Assessment) judgeLate(s *Schedule) {
	s.State = ScheduleLate
	why, tone := a.lateReason(s)
	f := Finding{
		Reason: ScheduleMissed,
		Since:  s.NextRun,
		Summary: noteAdder(
			&s.Notes,
		)(
			tone,
			"A run was due %s ago, and Velero has made no backup: %s",
			a.formatAge(s.NextRun),
			why,
		),
	}
	if a.World.Now.Sub(s.NextRun) > max(s.Interval, forgottenPauseAge) {
		f.Severity = Critical
	}
	if tone == Alarming {
		s.addFinding(f)
	}
}

// isEnabled reports whether Velero makes backups of the schedule.
func (s *Schedule) isEnabled() bool { return s.State != SchedulePaused && s.State != ScheduleNotValid }

// unpauseText says what a schedule does at once when it is unpaused: a run that is due is made (getNextRunTime).
func (a *Assessment) unpauseText(s *Schedule, due bool) string {
	switch {
	case !due:
		return ""
	case skipsMissedRun(s):
		return " Once unpaused, it skips the missed run, because skipImmediately is set."
	}
	return " Once unpaused, it makes a backup at once for the missed run."
}

func skipsMissedRun(s *Schedule) bool {
	return s.Spec.SkipImmediately != nil && *s.Spec.SkipImmediately
}

func (a *Assessment) lateReason(s *Schedule) (why string, tone Tone) {
	for _, j := range s.Runs {
		if velero.BlocksSchedule(j.Phase) {
			tone := Unusual
			if a.AssessJob(j).IsTroubled() {
				tone = Alarming
			}
			return fmt.Sprintf(
				"its backup %s is still %s, and Velero makes no second one beside it",
				j.Name,
				cmp.Or(j.Phase, velero.PhaseNew),
			), tone
		}
	}
	switch server := a.World.Server; {
	case server.Visible && !server.Running:
		return "no Velero server runs", Alarming
	case server.Visible && !server.Ready:
		return "the Velero server is not ready", Alarming
	case a.IsUnchecked(watch.Backups):
		return "veltui may not list backups, so it cannot see why", Alarming
	}
	return "veltui sees no reason; look for the schedule's name in the server's log", Alarming
}

// runsSinceCompleted returns the runs since the last Completed one, newest first.
func (s *Schedule) runsSinceCompleted() []*job.Job {
	ended := slices.DeleteFunc(slices.Clone(s.Runs), func(j *job.Job) bool { return !j.IsTerminal() })
	if i := slices.Index(ended, s.LastCompleted()); i >= 0 {
		return ended[:i]
	}
	return ended
}

// failureText says in one sentence how runs ended that did not complete, newest first. cause is why the newest did,
// zero if nothing tells.
func failureText(bad []*job.Job, cause diagnosis.Cause, now time.Time) string {
	var order []string
	phases := map[string]int{}
	for _, j := range bad {
		if phases[j.Phase]++; phases[j.Phase] == 1 {
			order = append(order, j.Phase)
		}
	}
	newest, oldest := failureClause(bad[0]), failureClause(bad[len(bad)-1])
	if !cause.IsZero() && newest == oldest {
		newest, oldest = ": "+cause.Text, ": "+cause.Text
	} else if !cause.IsZero() {
		newest = ": " + cause.Text
	}
	why := "; the newest" + cmp.Or(newest, " gives no reason")
	switch {
	case len(bad) == 1:
		return "The last run is " + bad[0].Phase + newest
	case len(order) == 1 && newest == oldest:
		return everyRunText(bad, now) + " is " + bad[0].Phase + newest
	case len(order) == 1:
		return everyRunText(bad, now) + " is " + bad[0].Phase + why
	}
	for i, phase := range order {
		order[i] = fmt.Sprintf("%d %s", phases[phase], phase)
	}
	return fmt.Sprintf("The last %d runs did not complete: %s%s", len(bad), human.JoinNames(order, len(order)), why)
}

// judgeRuns judges the runs since the last Completed one. The same failure night after night is one note and
// one finding.
func (a *Assessment) judgeRuns(s *Schedule) {
	good, bad := s.LastCompleted(), s.runsSinceCompleted()
	n, note := len(bad), noteAdder(&s.Notes)
	var texts []string
	say := func(tone Tone, format string, args ...any) { texts = append(texts, note(tone, format, args...)) }
	f := Finding{Reason: FailingRepeatedly, Count: n}
	if n > 0 {
		tone := Alarming
		if n == 1 && bad[0].Phase == velero.PhasePartiallyFailed && good != nil {
			tone = Unusual
		}
		v := a.AssessJob(bad[0]).Verdict
		say(tone, "%s", failureText(bad, v.Cause, a.World.Now))
		f.Since, f.Cause, f.Names = bad[n-1].BeganAt(), v.Cause.Reason, v.Names
		f.Names.Backup = bad[0].Name
	}
	if n == 1 {
		f.Reason = LastRunFailed
	} else if n > 1 {
		f.LastAt = endTime(bad[0])
	}
	switch old := a.isTooOld(s, good); {
	case old:
		f.Severity, f.Reason, f.Since = Critical, BackupTooOld, time.Time{}
		if good != nil {
			f.Since = endTime(good)
		}
		say(
			Alarming,
			"%s You allow %s (thresholds.backup-age)",
			a.noCompletedText(s, good),
			a.World.Style.Duration(a.BackupAge),
		)
	case n == 0:
	case good != nil:
		say(Unusual, "The last Completed backup is %s old: %s", a.formatAge(endTime(good)), good.Name)
	case s.AgedOutRuns > 0:
		say(Alarming, "None of its backups that are shown is Completed.")
	default:
		say(Alarming, "No backup of it is Completed.")
	}
	if f.Summary = strings.Join(texts, " "); f.Summary != "" {
		s.addFinding(f)
	}
	if took := s.LastEnded().TotalDuration(); s.Interval > 0 && took > s.Interval {
		note(
			Unusual,
			"The last run took %s, which is more than the %s between two runs: Velero leaves out runs that come due "+
				"while a backup is InProgress.",
			human.Duration(took),
			human.Duration(s.Interval),
		)
	}
}

// isTooOld reports whether the last Completed backup, nil for none, is older than allowed. Backups that aged out of
// the snapshot ended before all that are in it.
func (a *Assessment) isTooOld(s *Schedule, good *job.Job) bool {
	if a.BackupAge <= 0 || s.Spec.Paused || a.IsStale() || a.IsUnchecked(watch.Backups) {
		return false
	}
	since := s.CreationTimestamp.Time
	switch {
	case good != nil:
		since = endTime(good)
	case s.AgedOutRuns > 0:
		return a.BackupAge <= a.Snapshot.EndedWithin
	}
	return a.World.Now.Sub(since) > a.BackupAge
}

func (a *Assessment) noCompletedText(s *Schedule, good *job.Job) string {
	switch {
	case good != nil:
		return fmt.Sprintf("The last Completed backup is %s old: %s.", a.formatAge(endTime(good)), good.Name)
	case s.AgedOutRuns > 0:
		return fmt.Sprintf(
			"No backup of it that ended in the last %s is Completed; veltui leaves out older ones (--ended-within).",
			a.World.Style.Duration(a.Snapshot.EndedWithin),
		)
	}
	return fmt.Sprintf("No backup of it is Completed, and the schedule is %s old.", a.formatAge(s.CreationTimestamp.Time))
}

func (a *Assessment) formatAge(t time.Time) string {
	return a.World.Style.Duration(a.World.Now.Sub(t))
}

// failureClause returns the reason that an ended job gives, with a colon in front.
func failureClause(j *job.Job) string {
	why := cmp.Or(strings.Join(j.ValidationErrors, "; "), j.FailureReason)
	if why == "" && j.Errors > 0 {
		why = human.Count(j.Errors, "error")
	}
	return human.Prefixed(": ", human.Shorten(strings.TrimSuffix(why, "."), 300))
}

func endTime(j *job.Job) time.Time { return cmp.Or(j.Completed, j.BeganAt()) }

// refusalReason returns why a new backup to a location fails; an empty name means the default location
// (backup_controller.go prepareBackupRequest).
func (a *Assessment) refusalReason(name string) string {
	if a.sourceState(watch.StorageLocations) != watch.SourceLive {
		return ""
	}
	for _, l := range a.Snapshot.StorageLocations {
		if name == "" && !l.Spec.Default || name != "" && l.Name != name {
			continue
		}
		switch {
		case l.Status.Phase == veleroapi.BackupStorageLocationPhaseUnavailable:
			return "its storage location " + l.Name + " is Unavailable"
		case l.Spec.AccessMode == veleroapi.BackupStorageLocationAccessModeReadOnly:
			return "its storage location " + l.Name + " is ReadOnly"
		}
		return ""
	}
	if name == "" {
		return "" // the server's --default-backup-storage-location may name a location
	}
	return "there is no storage location " + name
}

// IsUnchecked reports whether a kind of [watch] cannot be read: then nothing may be called missing.
func (a *Assessment) IsUnchecked(resource string) bool {
	return slices.Contains(
		[]watch.SourceState{watch.SourceForbidden, watch.SourceMissing, watch.SourceSyncing},
		a.sourceState(resource),
	)
}

// IsIncomplete reports whether jobs of a kind may be missing.
func (a *Assessment) IsIncomplete(resource string) bool {
	return a.IsUnchecked(resource) || resource == watch.Backups && a.Snapshot.AgedOutBackups > 0 ||
		resource == watch.Restores && a.Snapshot.AgedOutRestores > 0
}

func (a *Assessment) sourceState(resource string) watch.SourceState {
	for _, s := range a.Snapshot.Sources {
		if s.Resource == resource {
			return s.State
		}
	}
	return ""
}
