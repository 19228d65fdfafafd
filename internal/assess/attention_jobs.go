package assess

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/watch"
)

// endedRecently is how long a job that ended badly needs someone, unless a later one went well.
const endedRecently = 24 * time.Hour

func refOf(j *job.Job) string { return j.Kind.Word() + "/" + j.Name }

func (l *attention) addJob(j *job.Job, f Finding) *Finding {
	short := shortKinds[j.Kind.Resource()+".velero.io"]
	f.Kind, f.In, f.Namespace, f.Name, f.UID = short.kind, short.in, j.Namespace, j.Name, j.UID
	return l.add(f)
}

// addActive lists jobs that do not go on, and those that do but have a volume that does not.
func (l *attention) addActive() {
	for _, j := range l.Snapshot.Active {
		judged := l.Of(j)
		switch {
		case !judged.Troubled():
			l.addHeldUp(j)
		case l.isListed(j.UID): // its fields are malformed
			l.about[j.UID].stuck = true
		case !l.causeOf(judged).causes(refOf(j)):
			l.addJob(
				j,
				Finding{
					Severity: Critical,
					Reason:   judged.Verdict.Reason,
					Since:    j.QuietSince(),
					stuck:    true,
					Summary:  human.Capital(string(judged.State)) + ": " + judged.Verdict.Text,
				},
			)
		}
	}
}

// causeOf is the finding that the verdict on a stuck job rests on, nil for none.
func (l *attention) causeOf(j Judged) *Finding {
	switch j.Verdict.Reason {
	case diagnosis.ServerDown, diagnosis.ServerCrashLooping:
		return l.server
	case diagnosis.LocationUnavailable, diagnosis.LocationReadOnly:
		if j.Kind == job.Restore {
			return l.locations[l.Environment.BackupLocations[j.BackupName]]
		}
		return l.locations[j.StorageLocation]
	case diagnosis.MalformedSpec: // another object's: of its kind, or of its volumes'
		if i := slices.IndexFunc(
			l.found,
			func(f *Finding) bool { return f.Reason == diagnosis.MalformedSpec },
		); i >= 0 {
			return l.found[i]
		}
	}
	return nil
}

func (l *attention) addHeldUp(j *job.Job) {
	if j.ActiveVolumes() == 0 || l.Stale() {
		return
	}
	held := slices.DeleteFunc(l.Volumes(j), func(v Volume) bool { return !v.Verdict.Stuck || v.Ended() })
	if len(held) == 0 {
		return
	}
	first := slices.MinFunc(held, func(v, w Volume) int { return v.Created.Compare(w.Created) })
	if first.Verdict.Reason == diagnosis.MalformedSpec && len(l.Snapshot.Malformed) > 0 {
		return
	}
	more := ""
	if len(held) > 1 {
		more = ", and " + human.Count(len(held)-1, "volume") + " more"
	}
	l.addJob(j, Finding{Severity: Warning, Reason: first.Verdict.Reason, Since: first.Created, Count: len(held),
		Summary: "Held up by volume " + first.Target + human.Clause(": ", first.Verdict.Cause) + more})
}

// addEnded lists jobs that ended badly a short while ago, unless a schedule tells of them or a later one went well.
func (l *attention) addEnded() {
	bad := l.endedBadly()
	good := l.wentWellSince(bad)
	failed := map[string]*Finding{} // about the newest of those that failed again and again; jobs come newest first
	for _, j := range bad {
		again := repeated(j)
		switch newest := failed[again+j.Phase]; {
		case good[again].After(j.Began()):
		case j.Phase == velero.PhaseFailedValidation && l.locations[l.locationOf(j.StorageLocation)].causes(refOf(j)):
		case newest != nil && again != "":
			newest.repeat(endOf(j))
		default:
			failed[again+j.Phase] = l.addJob(
				j,
				Finding{
					Severity: Warning,
					Reason:   diagnosis.Reason(j.Phase),
					Since:    endOf(j),
					Summary:  j.Phase + because(j),
				},
			)
		}
	}
}

// endedBadly are the jobs that ended a short while ago and not Completed, newest first, without those that a schedule
// or another finding tells of. What it asks of each job is cheap: there may be tens of thousands.
func (l *attention) endedBadly() (bad []*job.Job) {
	scheduled := map[string]bool{}
	for _, s := range l.Snapshot.Schedules {
		scheduled[s.Name] = true
	}
	for _, j := range l.Snapshot.Jobs {
		if j.Phase != velero.PhaseCompleted && j.Terminal() && l.Environment.Now.Sub(endOf(j)) < endedRecently &&
			!synced(j) && !(j.Kind == job.Backup && scheduled[j.ScheduleName]) && !l.isListed(j.UID) {
			bad = append(bad, j)
		}
	}
	return bad
}

// wentWellSince says when the last job that is Completed began, by what it does (see [repeated]), as far as it began
// after one of the bad ones.
func (l *attention) wentWellSince(bad []*job.Job) map[string]time.Time {
	if len(bad) == 0 {
		return nil
	}
	first := slices.MinFunc(bad, func(a, b *job.Job) int { return a.Began().Compare(b.Began()) }).Began()
	good := map[string]time.Time{}
	for _, j := range l.Snapshot.Jobs {
		if j.Phase != velero.PhaseCompleted || !j.Began().After(first) {
			continue
		}
		if again := repeated(j); again != "" {
			good[again] = job.Latest(good[again], j.Began())
		}
	}
	return good
}

// repeated is the same for jobs that do the same again, empty if that is not known.
func repeated(j *job.Job) string {
	if r, ok := j.Object.(*velerov1.Restore); ok {
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

// locationOf is the location of a name, the default one for none.
func (l *attention) locationOf(name string) string {
	for _, found := range l.Snapshot.Locations {
		if name == "" && found.Spec.Default {
			return found.Name
		}
	}
	return name
}

// pauseForgotten is how long a paused schedule may have missed a run.
const pauseForgotten = 24 * time.Hour

// addSchedules has one finding for each schedule at most: the worst of what is wrong with it.
func (l *attention) addSchedules() {
	for _, s := range l.Schedules() {
		if l.isListed(s.UID) || l.refuses(&s) {
			continue
		}
		slices.SortStableFunc(s.findings, func(a, b Finding) int { return cmp.Compare(b.Severity, a.Severity) })
		for _, f := range s.findings {
			if f.Reason != ScheduleMissed || !l.causeOfMissed(&s).causes("schedule/"+s.Name) {
				l.addOf(watch.Schedules, s.Schedule, f)
				break
			}
		}
	}
}

// refuses adds a schedule to the finding about its storage location, which keeps it from making backups.
func (l *attention) refuses(s *Schedule) bool {
	name, bad := l.locationOf(s.Spec.Template.StorageLocation), s.badRuns()
	if !s.enabled() || l.sourceOf(watch.Locations) != watch.SourceLive || l.whyRefused(name) == "" ||
		len(bad) > 0 && bad[0].Phase != velero.PhaseFailedValidation {
		return false // what failed for another reason is a finding of its own
	}
	f := l.locations[name]
	if _, there := l.Environment.Locations[name]; f == nil && !there {
		f = l.add(
			Finding{
				Severity: Critical,
				Reason:   LocationMissing,
				Kind:     "storage",
				Name:     name,
				In:       InSchedules,
				UID:      s.UID,
				Summary:  "Missing",
				why:      "there is no storage location of this name",
			},
		)
		l.locations[name] = f
	}
	if n := len(bad); f != nil && n > 0 {
		if began := bad[n-1].Began(); f.Since.IsZero() || began.Before(f.Since) {
			f.Since, f.Count = began, n
		}
	}
	return f.causes("schedule/" + s.Name)
}

// causeOfMissed is the finding about what keeps a schedule from a run that is due, nil for none.
func (l *attention) causeOfMissed(s *Schedule) *Finding {
	i := slices.IndexFunc(s.Runs, func(j *job.Job) bool { return l.isListed(j.UID) && velero.HoldsSchedule(j.Phase) })
	if i >= 0 {
		return l.about[s.Runs[i].UID]
	}
	return l.server
}
