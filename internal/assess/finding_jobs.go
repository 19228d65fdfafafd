package assess

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

// maxFailureAge is how long a job that ended badly needs attention, unless a later one succeeded.
const maxFailureAge = 24 * time.Hour

func jobRef(j *job.Job) string { return j.Kind.Noun() + "/" + j.Name }

func (l *findingBuilder) addJob(j *job.Job, f Finding) *Finding {
	short := kindLabels[j.Kind.Resource()+".velero.io"]
	f.Kind, f.Tab, f.Namespace, f.Name, f.UID = short.kind, short.in, j.Namespace, j.Name, j.UID
	return l.addFinding(f)
}

// addActive lists jobs that do not continue, and jobs that do but have a volume that does not.
func (l *findingBuilder) addActive() {
	for _, j := range l.Snapshot.Active {
		judged := l.AssessJob(j)
		switch {
		case l.addBehindLeftover(judged):
		case !judged.IsTroubled():
			l.addAwaitingStore(judged)
			l.addHeldUp(j)
		case l.hasFinding(j.UID): // its fields are malformed
			l.byObject[j.UID].isStuck = true
		case !l.findCause(judged).addAffected(jobRef(j)):
			l.addJob(
				j,
				Finding{
					Severity: Critical,
					Reason:   judged.Verdict.Reason,
					Since:    j.QuietSince(),
					Names:    judged.Verdict.Names,
					isStuck:  true,
					Summary:  human.Capitalize(string(judged.State)) + ": " + judged.Verdict.Text,
				},
			)
		}
	}
}

// addAwaitingStore adds a running job that needs its storage location, now or before it ends, to the finding about that
// location.
func (l *findingBuilder) addAwaitingStore(j JudgedJob) {
	name := l.resolveLocation(j.StorageLocation)
	if j.Kind == job.Restore {
		name = l.World.LocationByBackup[j.BackupName]
	}
	f := l.locations[name]
	if f != nil && f.Reason == diagnosis.LocationUnavailable && j.Stage != job.StageQueued &&
		j.Stage != job.StageDeleting && !l.IsStale() {
		f.addAffected(jobRef(j.Job))
	}
}

// findCause returns the finding that the verdict on a stuck job rests on, nil for none.
func (l *findingBuilder) findCause(j JudgedJob) *Finding {
	switch j.Verdict.Reason {
	case diagnosis.ServerDown, diagnosis.ServerCrashLooping:
		return l.server
	case diagnosis.LocationUnavailable, diagnosis.LocationReadOnly:
		if j.Kind == job.Restore {
			return l.locations[l.World.LocationByBackup[j.BackupName]]
		}
		return l.locations[j.StorageLocation]
	case diagnosis.MalformedSpec: // in another object: of its kind, or of its volumes' kind
		if i := slices.IndexFunc(
			l.findings,
			func(f *Finding) bool { return f.Reason == diagnosis.MalformedSpec },
		); i >= 0 {
			return l.findings[i]
		}
	}
	return nil
}

func (l *findingBuilder) addHeldUp(j *job.Job) {
	if j.ActiveVolumeCount() == 0 || l.IsStale() {
		return
	}
	held := slices.DeleteFunc(l.JudgeVolumes(j), func(v JudgedVolume) bool { return !v.Verdict.Stuck || v.HasEnded() })
	if len(held) == 0 {
		return
	}
	first := slices.MinFunc(held, func(v, w JudgedVolume) int { return v.Created.Compare(w.Created) })
	if first.Verdict.Reason == diagnosis.MalformedSpec && len(l.Snapshot.Malformed) > 0 {
		return
	}
	more := ""
	if len(held) > 1 {
		more = ", and " + human.Count(len(held)-1, "more volume")
	}
	l.addJob(j, Finding{Severity: Warning, Reason: first.Verdict.Reason, Since: first.Created, Count: len(held),
		Summary: "Held up by volume " + first.DisplayName() + human.Prefixed(": ", first.Verdict.Cause) + more})
}

// addEnded lists jobs that ended badly a short while ago, unless a schedule's finding covers them or a later one
// succeeded.
func (l *findingBuilder) addEnded() {
	bad := l.recentFailures()
	good := l.lastSuccesses(bad)
	// failed has the findings about the newest of the jobs that failed repeatedly; jobs come newest first.
	failed := map[string]*Finding{}
	for _, j := range bad {
		again := repeatKey(j)
		switch newest := failed[again+j.Phase]; {
		case good[again].After(j.BeganAt()):
		case j.Phase == velero.PhaseFailedValidation &&
			l.locations[l.resolveLocation(j.StorageLocation)].addAffected(jobRef(j)):
		case newest != nil && again != "":
			newest.countRepeat(endTime(j))
		default:
			v := l.AssessJob(j).Verdict
			failed[again+j.Phase] = l.addJob(
				j,
				Finding{
					Severity: Warning,
					Reason:   v.Reason,
					Cause:    v.Cause.Reason,
					Names:    v.Names,
					Since:    endTime(j),
					Summary:  j.Phase + cmp.Or(human.Prefixed(": ", v.Cause.Text), failureClause(j)),
				},
			)
		}
	}
	for _, f := range failed {
		f.nameRepeats("run")
	}
}

// addEmpty lists the jobs that ended Completed a short while ago and hold nothing, without the runs of schedules.
func (l *findingBuilder) addEmpty() {
	for _, j := range l.Snapshot.Jobs {
		if !j.IsEmpty() || l.World.Now.Sub(endTime(j)) >= maxFailureAge || isSynced(j) || l.hasFinding(j.UID) ||
			j.Kind == job.Backup && l.hasSchedule(j.ScheduleName) {
			continue
		}
		summary := "Completed, but nothing is in it: 0 items"
		if j.Kind == job.Restore {
			summary = "Completed, but nothing was restored: 0 items"
		}
		l.addJob(j, Finding{Severity: Warning, Reason: CompletedEmpty, Since: endTime(j), Summary: summary})
	}
}

func (l *findingBuilder) hasSchedule(name string) bool {
	return slices.ContainsFunc(l.Snapshot.Schedules, func(s *veleroapi.Schedule) bool { return s.Name == name })
}

// recentFailures returns the jobs that ended a short while ago and not Completed, newest first, without those that a
// schedule or another finding covers. The check of each job is cheap: there may be tens of thousands.
func (l *findingBuilder) recentFailures() (bad []*job.Job) {
	scheduled := map[string]bool{}
	for _, s := range l.Snapshot.Schedules {
		scheduled[s.Name] = true
	}
	for _, j := range l.Snapshot.Jobs {
		if j.Phase != velero.PhaseCompleted && j.IsTerminal() && l.World.Now.Sub(endTime(j)) < maxFailureAge &&
			!isSynced(j) && !(j.Kind == job.Backup && scheduled[j.ScheduleName]) && !l.hasFinding(j.UID) {
			bad = append(bad, j)
		}
	}
	return bad
}

// lastSuccesses returns when the last Completed job began, by what it does (see [repeatKey]), if it began after one
// of the bad jobs.
func (l *findingBuilder) lastSuccesses(bad []*job.Job) map[string]time.Time {
	if len(bad) == 0 {
		return nil
	}
	first := slices.MinFunc(bad, func(a, b *job.Job) int { return a.BeganAt().Compare(b.BeganAt()) }).BeganAt()
	good := map[string]time.Time{}
	for _, j := range l.Snapshot.Jobs {
		if j.Phase != velero.PhaseCompleted || !j.BeganAt().After(first) {
			continue
		}
		if again := repeatKey(j); again != "" {
			good[again] = job.LatestTime(good[again], j.BeganAt())
		}
	}
	return good
}

// repeatKey returns a key that is the same for jobs that do the same again, empty if that is unknown.
func repeatKey(j *job.Job) string {
	if r, ok := j.Object.(*veleroapi.Restore); ok {
		return fmt.Sprint(
			"restore ",
			r.Spec.BackupName,
			r.Spec.ScheduleName,
			r.Spec.IncludedNamespaces,
			r.Spec.NamespaceMapping,
		)
	}
	return j.ScheduleName
}

// resolveLocation returns the name of the location, the default location for an empty name.
func (l *findingBuilder) resolveLocation(name string) string {
	for _, found := range l.Snapshot.StorageLocations {
		if name == "" && found.Spec.Default {
			return found.Name
		}
	}
	return name
}

// forgottenPauseAge is how long a paused schedule may have missed a run.
const forgottenPauseAge = 24 * time.Hour

// addSchedules adds at most one finding for each schedule: the worst of its problems.
func (l *findingBuilder) addSchedules() {
	for _, s := range l.JudgeSchedules() {
		if l.hasFinding(s.UID) || l.addRefusedSchedule(&s) {
			continue
		}
		slices.SortStableFunc(s.findings, func(a, b Finding) int { return cmp.Compare(b.Severity, a.Severity) })
		for _, f := range s.findings {
			if f.Reason != ScheduleMissed || !l.findMissedCause(&s).addAffected("schedule/"+s.Name) {
				l.addObjectFinding(watch.Schedules, s.Schedule, f)
				break
			}
		}
	}
}

// addRefusedSchedule adds a schedule to the finding about its storage location, which keeps it from making backups.
func (l *findingBuilder) addRefusedSchedule(s *Schedule) bool {
	name, bad := l.resolveLocation(s.Spec.Template.StorageLocation), s.runsSinceCompleted()
	if !s.isEnabled() || l.sourceState(watch.StorageLocations) != watch.SourceLive || l.refusalReason(name) == "" ||
		len(bad) > 0 && bad[0].Phase != velero.PhaseFailedValidation {
		return false // runs that failed for another reason are a finding of their own
	}
	f := l.locations[name]
	if _, there := l.World.Locations[name]; f == nil && !there {
		f = l.addFinding(
			Finding{
				Severity:      Critical,
				Reason:        LocationMissing,
				Kind:          "storage",
				Name:          name,
				Tab:           TabSchedules,
				UID:           s.UID,
				Summary:       "Missing",
				locationCause: "there is no storage location of this name",
			},
		)
		l.locations[name] = f
	}
	if n := len(bad); f != nil && n > 0 {
		if began := bad[n-1].BeganAt(); f.Since.IsZero() || began.Before(f.Since) {
			f.Since, f.Count = began, n
		}
	}
	return f.addAffected("schedule/" + s.Name)
}

// findMissedCause returns the finding about what keeps a schedule from a run that is due, nil for none.
func (l *findingBuilder) findMissedCause(s *Schedule) *Finding {
	i := slices.IndexFunc(s.Runs, func(j *job.Job) bool { return l.hasFinding(j.UID) && velero.BlocksSchedule(j.Phase) })
	if i >= 0 {
		return l.byObject[s.Runs[i].UID]
	}
	return l.server
}
