package assess

import (
	"cmp"
	"slices"
	"time"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
	"github.com/veltui/veltui/watch"
)

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
	if !s.enabled() || l.sourceOf(watch.Locations) != watch.SourceLive || l.whyRefused(name) == "" || len(bad) > 0 && bad[0].Phase != velero.PhaseFailedValidation {
		return false // what failed for another reason is a finding of its own
	}
	f := l.locations[name]
	if _, there := l.Environment.Locations[name]; f == nil && !there {
		f = l.add(Finding{Severity: Critical, Reason: LocationMissing, Kind: "storage", Name: name, In: InSchedules, UID: s.UID, Summary: "Missing", why: "there is no storage location of this name"})
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
