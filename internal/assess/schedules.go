package assess

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/watch"
)

// Schedule is a Schedule with its runs, judged.
type Schedule struct {
	*velerov1.Schedule
	// Runs are the backups with its label, newest first, those that a person made too.
	Runs []*job.Job
	Left int
	// Trend has the same runs side by side, and Loss is what the newest of them lost, nil for nothing.
	Trend []Run
	Loss  *Loss
	// Next is when Velero makes the next backup, zero if unknown or never; NextErr is why it is unreadable.
	Next    time.Time
	NextErr error
	// Interval lies between the next run and the one after, zero if not known.
	Interval time.Duration
	table    velero.Timetable
	// Zone is the server's time zone, by which the cron expression goes.
	Zone string
	// State is paused, invalid, late, due, or Velero's phase.
	State string
	// Notes have what matters most first.
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
		// Those that Velero read from the object store were created in any order.
		slices.SortStableFunc(runs[s.Name], func(a, b *job.Job) int { return b.Began().Compare(a.Began()) })
		found[i] = a.schedule(s, runs[s.Name])
	}
	slices.SortStableFunc(found, func(a, b Schedule) int { return human.CompareNames(a.Name, b.Name) })
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
	found := Schedule{
		Schedule: s,
		Runs:     runs,
		Left:     a.Snapshot.LeftOf[s.Name],
		State:    cmp.Or(string(s.Status.Phase), velero.PhaseNew),
		Zone:     cmp.Or(a.Environment.Server.TimeZone, "UTC"),
	}
	zone, err := time.LoadLocation(found.Zone)
	if err != nil { // a container that does not know its zone takes UTC
		zone, found.Zone = time.UTC, "UTC"
	}
	table, err := velero.ParseTimetable(s.Spec.Schedule, zone)
	found.table, found.NextErr, found.Next = table, err, table.NextRun(s)
	if after := table.After(found.Next); !found.Next.IsZero() && !after.IsZero() {
		found.Interval = after.Sub(found.Next)
	}
	found.Trend = a.trend(runs)
	a.judgeSchedule(&found)
	return found
}

func (a *Assessment) judgeSchedule(s *Schedule) {
	say := noteTo(&s.Notes)
	due := !s.Next.IsZero() && a.Environment.Now.After(s.Next)
	switch {
	case s.Spec.Paused:
		say(Unusual, "Paused: Velero makes no backups.%s", a.whenUnpaused(s, due))
		if due && a.Environment.Now.Sub(s.Next) >= pauseForgotten {
			s.find(
				Finding{
					Reason:  ForgottenPause,
					Since:   s.Next,
					Summary: "Paused: it has missed its runs for " + a.ago(s.Next),
				},
			)
		}
		s.State, s.Next = SchedulePaused, time.Time{}
	case s.Status.Phase == velerov1.SchedulePhaseFailedValidation:
		why := cmp.Or(strings.Join(s.Status.ValidationErrors, "; "), "it gives no reason")
		s.find(
			Finding{
				Severity: Critical,
				Reason:   ScheduleInvalid,
				Summary:  say(Alarming, "Velero rejected this schedule: no backups are made: %s", why),
			},
		)
		s.State, s.Next = ScheduleNotValid, time.Time{}
	case s.NextErr != nil:
		say(Unusual, "Next run unknown: %s", s.NextErr)
	case s.Next.IsZero(): // getNextRunTime takes the zero time for a run that has come due
		s.find(
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
		s.Next, s.Interval = a.Environment.Now, velero.ScheduleCheck
	case due:
		s.State = ScheduleDue
	}
	a.judgeRuns(s)
	if s.State == ScheduleDue && a.Environment.Now.Sub(s.Next) > lateAfter && !a.Stale() {
		a.judgeLate(s)
	}
	a.judgeLoss(s)
	a.judgeExpiry(s)
	if s.enabled() {
		if why := a.whyRefused(s.Spec.Template.StorageLocation); why != "" {
			say(Alarming, "The next backup will fail: %s.", why)
		}
		if skips(s) {
			say(
				Unusual,
				"skipImmediately is set: Velero counts from the moment when it sees that, and leaves out a run that is due.",
			)
		}
	}
	slices.SortStableFunc(s.Notes, func(a, b Note) int { return cmp.Compare(b.Mood, a.Mood) })
}

// judgeExpiry finds a time without a backup: Velero deletes one that expires whether there is another or not
// (pkg/controller/gc_controller.go, Reconcile).
func (a *Assessment) judgeExpiry(s *Schedule) {
	lasts, gap := s.Spec.Template.TTL.Duration, s.Interval
	if good := s.LastGood(); good != nil && !s.Next.IsZero() {
		if b, ok := good.Object.(*velerov1.Backup); ok && b.Status.Expiration != nil {
			lasts, gap = b.Status.Expiration.Sub(good.Began()), max(gap, s.Next.Sub(good.Began()))
		}
	}
	if lasts > 0 && lasts < gap && s.enabled() {
		s.find(
			Finding{
				Reason: ExpiresFirst,
				Summary: noteTo(
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

// find notes what needs someone. The runs of a schedule that makes no backups do not.
func (s *Schedule) find(f Finding) {
	if f.Severity = max(f.Severity, Warning); s.enabled() {
		s.findings = append(s.findings, f)
	}
}

func (a *Assessment) judgeLate(s *Schedule) {
	s.State = ScheduleLate
	why, mood := a.whyLate(s)
	f := Finding{
		Reason:  ScheduleMissed,
		Since:   s.Next,
		Summary: noteTo(&s.Notes)(mood, "A run was due %s ago, and Velero has made no backup: %s", a.ago(s.Next), why),
	}
	if a.Environment.Now.Sub(s.Next) > max(s.Interval, pauseForgotten) {
		f.Severity = Critical
	}
	if mood == Alarming {
		s.find(f)
	}
}

// enabled reports whether Velero makes backups of it.
func (s *Schedule) enabled() bool { return s.State != SchedulePaused && s.State != ScheduleNotValid }

// whenUnpaused says what an unpaused schedule does at once: a run that is due is made (getNextRunTime).
func (a *Assessment) whenUnpaused(s *Schedule, due bool) string {
	switch {
	case !due:
		return ""
	case skips(s):
		return " Once unpaused, it skips the missed run, because skipImmediately is set."
	}
	return " Once unpaused, it makes a backup at once for the missed run."
}

func skips(s *Schedule) bool { return s.Spec.SkipImmediately != nil && *s.Spec.SkipImmediately }

func (a *Assessment) whyLate(s *Schedule) (why string, mood Mood) {
	for _, j := range s.Runs {
		if velero.HoldsSchedule(j.Phase) {
			mood := Unusual
			if a.Of(j).Troubled() {
				mood = Alarming
			}
			return fmt.Sprintf(
				"its backup %s is still %s, and Velero makes no second one beside it",
				j.Name,
				cmp.Or(j.Phase, velero.PhaseNew),
			), mood
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

// badRuns are those since the last Completed one, newest first.
func (s *Schedule) badRuns() []*job.Job {
	ended := slices.DeleteFunc(slices.Clone(s.Runs), func(j *job.Job) bool { return !j.Terminal() })
	if i := slices.Index(ended, s.LastGood()); i >= 0 {
		return ended[:i]
	}
	return ended
}

// failures says in one sentence what became of runs that did not complete, newest first.
func failures(bad []*job.Job, now time.Time) string {
	var order []string
	phases := map[string]int{}
	for _, j := range bad {
		if phases[j.Phase]++; phases[j.Phase] == 1 {
			order = append(order, j.Phase)
		}
	}
	newest, oldest := because(bad[0]), because(bad[len(bad)-1])
	why := "; the newest" + cmp.Or(newest, " gives no reason")
	switch {
	case len(bad) == 1:
		return "The last run is " + bad[0].Phase + newest
	case len(order) == 1 && newest == oldest:
		return everySince(bad, now) + " is " + bad[0].Phase + newest
	case len(order) == 1:
		return everySince(bad, now) + " is " + bad[0].Phase + why
	}
	for i, phase := range order {
		order[i] = fmt.Sprintf("%d %s", phases[phase], phase)
	}
	return fmt.Sprintf("The last %d runs did not complete: %s%s", len(bad), human.List(order, len(order)), why)
}

// judgeRuns judges the runs since the last Completed one. The same failure night after night is one note and
// one finding.
func (a *Assessment) judgeRuns(s *Schedule) {
	good, bad := s.LastGood(), s.badRuns()
	n, note := len(bad), noteTo(&s.Notes)
	var texts []string
	say := func(mood Mood, format string, args ...any) { texts = append(texts, note(mood, format, args...)) }
	f := Finding{Reason: FailingRepeatedly, Count: n}
	if n > 0 {
		mood := Alarming
		if n == 1 && bad[0].Phase == velero.PhasePartiallyFailed && good != nil {
			mood = Unusual
		}
		say(mood, "%s", failures(bad, a.Environment.Now))
		f.Since = bad[n-1].Began()
	}
	if n == 1 {
		f.Reason = LastRunFailed
	}
	switch old := a.tooOld(s, good); {
	case old:
		f.Severity, f.Reason, f.Since = Critical, BackupTooOld, time.Time{}
		if good != nil {
			f.Since = endOf(good)
		}
		say(
			Alarming,
			"%s You allow %s (thresholds.backup-age)",
			a.noneSince(s, good),
			a.Environment.Style.Duration(a.BackupAge),
		)
	case n == 0:
	case good != nil:
		say(Unusual, "The last Completed backup is %s old: %s", a.ago(endOf(good)), good.Name)
	case s.Left > 0:
		say(Alarming, "None of its backups that are shown is Completed.")
	default:
		say(Alarming, "No backup of it is Completed.")
	}
	if f.Summary = strings.Join(texts, " "); f.Summary != "" {
		s.find(f)
	}
	if took := s.Last().Took(); s.Interval > 0 && took > s.Interval {
		note(
			Unusual,
			"The last run took %s, which is more than the %s between two runs: Velero leaves out runs that come due "+
				"while a backup is InProgress.",
			human.Duration(took),
			human.Duration(s.Interval),
		)
	}
}

// tooOld: the last Completed backup, nil for none, is older than allowed. What is left out ended before all
// that is not.
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

func (a *Assessment) noneSince(s *Schedule, good *job.Job) string {
	switch {
	case good != nil:
		return fmt.Sprintf("The last Completed backup is %s old: %s.", a.ago(endOf(good)), good.Name)
	case s.Left > 0:
		return fmt.Sprintf(
			"No backup of it that ended in the last %s is Completed; veltui leaves out older ones (--ended-within).",
			a.Environment.Style.Duration(a.Snapshot.EndedWithin),
		)
	}
	return fmt.Sprintf("No backup of it is Completed, and the schedule is %s old.", a.ago(s.CreationTimestamp.Time))
}

func (a *Assessment) ago(t time.Time) string {
	return a.Environment.Style.Duration(a.Environment.Now.Sub(t))
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

// whyRefused is why a new backup to a location fails; "" is the default one (backup_controller.go
// prepareBackupRequest).
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
	return slices.Contains(
		[]watch.SourceState{watch.SourceForbidden, watch.SourceMissing, watch.SourceSyncing},
		a.sourceOf(resource),
	)
}

// Incomplete reports whether jobs of a kind may be missing.
func (a *Assessment) Incomplete(resource string) bool {
	return a.Unseen(resource) || resource == watch.Backups && a.Snapshot.LeftBackups > 0 ||
		resource == watch.Restores && a.Snapshot.LeftRestores > 0
}

func (a *Assessment) sourceOf(resource string) watch.SourceState {
	for _, s := range a.Snapshot.Sources {
		if s.Resource == resource {
			return s.State
		}
	}
	return ""
}
